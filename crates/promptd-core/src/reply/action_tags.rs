//! Action tags: `[TAG:{json}]` in running text.

use super::{
    Action, Reply,
    json_object::{Found, read},
    malformed,
};
use crate::text::shorten;

/// The most characters of a tag that a finding shows.
const SHOWN_CHARS: usize = 64;

/// Takes every action tag out of the text; white space around them stays.
///
/// A tag is `[`, its name of `[A-Z][A-Z0-9_]*`, `:` and, without a space, a JSON object and `]`.
pub(super) fn take(text: &str) -> Reply {
    let mut reply = Reply::default();
    let (mut kept, mut at) = (0, 0);
    while let Some(found) = text[at..].find('[') {
        let start = at + found;
        at = start + 1;
        let Some(tag) = tag_name(&text[at..]) else { continue };
        let payload = at + tag.len() + 1;
        match read_tag(&text[payload..]) {
            Tag::None => {}
            Tag::Action(object, length) => {
                reply.text.push_str(&text[kept..start]);
                at = payload + length;
                kept = at;
                reply.actions.push(Action { tag: tag.to_owned(), payload: object, range: start..at });
            }
            Tag::Malformed(length, why) => {
                reply.findings.push(malformed(start, &format!("`[{}:`", shorten(tag, SHOWN_CHARS)), &why));
                at = payload + length;
            }
        }
    }
    reply.text.push_str(&text[kept..]);
    reply
}

/// What follows the colon of something that looks like a tag.
enum Tag {
    /// Plain text, such as `[NOTE: see below]`.
    None,
    /// A payload, and the bytes that it and the closing bracket take.
    Action(serde_json::Map<String, serde_json::Value>, usize),
    /// How many bytes surely belong to it, and why it is not an action.
    Malformed(usize, String),
}

fn read_tag(text: &str) -> Tag {
    let spaces = text.len() - text.trim_start_matches([' ', '\t']).len();
    match text.as_bytes().get(spaces) {
        Some(b'{') if spaces > 0 => Tag::Malformed(spaces, "a space stands before its payload".into()),
        Some(b'{') => match read(text) {
            Found::Object(object, end) if text[end..].starts_with(']') => Tag::Action(object, end + 1),
            Found::Object(_, end) => Tag::Malformed(end, "no `]` follows its payload".into()),
            Found::Invalid(end, why) => Tag::Malformed(end, why),
            Found::Open(why) => Tag::Malformed(1, why.into()),
        },
        Some(b'[' | b'"') if spaces == 0 => Tag::Malformed(0, "its payload is not an object".into()),
        _ => Tag::None,
    }
}

/// The name of a tag that the text, which follows a `[`, begins with, if a colon follows it.
fn tag_name(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let name = &text[..text.len() - rest.len()];
    (name.starts_with(|c: char| c.is_ascii_uppercase()) && rest.starts_with(':')).then_some(name)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    #[test]
    fn tags_come_out_in_reply_order_at_any_depth() {
        let text = "Done.\n[CALENDAR_ACTION:{\"a\":{\"b\":[{\"c\":\"}] [X:{}\"}]}}] and [NOTE:{}][B_2:{\n\"n\": 1}]!";
        let reply = take(text);
        assert_eq!(reply.text, "Done.\n and !");
        let seen: Vec<_> =
            reply.actions.iter().map(|a| (a.tag.as_str(), json!(a.payload), &text[a.range.clone()])).collect();
        assert_eq!(
            seen,
            [
                (
                    "CALENDAR_ACTION",
                    json!({"a": {"b": [{"c": "}] [X:{}"}]}}),
                    "[CALENDAR_ACTION:{\"a\":{\"b\":[{\"c\":\"}] [X:{}\"}]}}]"
                ),
                ("NOTE", json!({}), "[NOTE:{}]"),
                ("B_2", json!({"n": 1}), "[B_2:{\n\"n\": 1}]"),
            ]
        );
        assert!(reply.findings.is_empty());
    }

    #[test]
    fn malformed_tags_stay_with_a_finding_and_cost_no_other() {
        for (text, at, why) in [
            ("a [WEB_SEARCH:{invalid}] b", 2, "not valid JSON"),
            ("[WEB_SEARCH:{\"query\":\"x\"}", 0, "no `]`"),
            ("[A:{\"x\":\"unclosed", 0, "line break"),
            ("[A: {\"x\":1}]", 0, "a space"),
            ("[A:[1]]", 0, "not an object"),
            ("[A:\"x\"]", 0, "not an object"),
            ("[A:{\"x\":1} ]", 0, "no `]`"),
            ("[A:{\"x\": [B:{\"y\":1}]}]", 0, "not valid JSON"),
        ] {
            let good = "\n[GOOD:{\"ok\":true}]";
            let reply = take(&format!("{text}{good}"));
            assert_eq!(reply.text, format!("{text}\n"), "{text}");
            assert_eq!(reply.actions.len(), 1, "{text}");
            let [finding] = reply.findings.as_slice() else { panic!("{text}: {:?}", reply.findings) };
            assert!(finding.message.contains(why), "{}", finding.message);
            assert!(finding.message.contains(&format!(" at byte {at} ")), "{}", finding.message);
            assert_eq!(finding.place.to_string(), "text");
        }
    }

    #[test]
    fn plain_brackets_are_text() {
        for text in
            ["[NOTE: see below]", "[a](b)", "[TODO]", "[lower:{}]", "[1A:{}]", "[A B:{}]", "[:{}]", "a[0]", "[PR:42]"]
        {
            assert_eq!(take(text), Reply { text: text.into(), ..Reply::default() });
        }
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        let start = Instant::now();
        for unit in [
            "[A:{",
            "[A:{\"",
            "[A:{\"a\":",
            "[A:{\"a\":[",
            "[A:{ \\\"",
            "[A:{\"a\":\"",
            "[",
            "[A",
            "[A:",
            "[A:[",
            "[A: ",
            "[A:{x\"",
        ] {
            let reply = take(&unit.repeat((1 << 18) / unit.len()));
            assert!(reply.actions.is_empty());
        }
        for (unit, close) in [("[A:{\"a\":", "}]"), ("[A:{\"a\":{", "}}")] {
            let half = (1 << 17) / unit.len();
            take(&(unit.repeat(half) + &close.repeat(half)));
        }
        // Quadratic time would be many minutes.
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }
}
