//! Action tags: `[TAG:{json}]` in running text.

use super::{
    Action, MAX_ACTIONS, Parts,
    code::{Code as Markup, CodeReader},
    cuts::{Angle, Cuts},
    findings::Findings,
    json_object::{Found, Object, read},
    kai_ui, payload,
};
use crate::{
    finding::Code,
    profile::{ActionSpec, Actions, Block, ReplyContract},
    text::shorten,
};

/// The most characters of a tag that a finding shows.
const SHOWN_CHARS: usize = 64;

/// Takes thoughts and action tags out of the text; white space around tags stays.
///
/// A tag is `[`, its name of `[A-Z][A-Z0-9_]*`, `:` and, without a space, a JSON object and `]`. In thoughts, code spans
/// and fences it is text, and so is one that the contract does not declare.
pub(super) fn take(text: &str, contract: &ReplyContract) -> Parts {
    let mut reader = Reader {
        text,
        contract,
        at: 0,
        cuts: Cuts::default(),
        found: Vec::new(),
        tried: Vec::new(),
        findings: Findings::default(),
    };
    let mut code = CodeReader::default();
    while let Some(found) = text[reader.at..].find(['<', '`', '~', '[']) {
        reader.at += found;
        match text.as_bytes()[reader.at] {
            b'<' => reader.angle(),
            b'[' => reader.bracket(),
            _ => {
                let mark = reader.at;
                match code.read(text, mark) {
                    Markup::Span(end) => reader.at = end,
                    Markup::Fence { info, contents, end, closed } => {
                        reader.at = end;
                        let info = &text[info.0..info.1];
                        if contract.blocks.contains(&Block::KaiUi)
                            && let Some(start) = kai_ui::begins(text, mark, info)
                        {
                            reader.screen(kai_ui::Block {
                                range: start..end,
                                contents: contents.0..contents.1,
                                closed,
                            });
                        }
                    }
                }
            }
        }
    }
    reader.finish()
}

struct Reader<'t> {
    text: &'t str,
    contract: &'t ReplyContract,
    at: usize,
    cuts: Cuts,
    /// The actions, and what is declared of each.
    found: Vec<(Action, Option<&'t ActionSpec>)>,
    /// The actions of which only the first counts and one came, good or bad.
    tried: Vec<&'t str>,
    findings: Findings,
}

impl<'t> Reader<'t> {
    fn angle(&mut self) {
        match self.cuts.thoughts(self.text, self.at, &self.contract.thoughts, &mut self.findings) {
            Angle::Text => self.at += 1,
            Angle::Thoughts(end) => self.at = end,
            Angle::AllBefore(end) => {
                self.found.clear();
                self.tried.clear();
                self.at = end;
            }
        }
    }

    fn screen(&mut self, block: kai_ui::Block) {
        if self.found.len() == MAX_ACTIONS {
            let why = format!("a reply has at most {MAX_ACTIONS} actions");
            return self.findings.stays(Code::ActionIgnored, "a block", block.range.start, &why);
        }
        if let Some(action) = kai_ui::read(self.text, block, &mut self.findings) {
            self.found.push((action, None));
        }
    }

    fn bracket(&mut self) {
        let start = self.at;
        self.at += 1;
        let Some(tag) = tag_name(&self.text[self.at..]) else { return };
        let spec = match &self.contract.actions {
            Actions::Any => None,
            Actions::Declared(actions) => match actions.iter().find(|action| action.name == tag) {
                Some(spec) => Some(spec),
                None => return,
            },
        };
        let begin = self.at + tag.len() + 1;
        let (end, read) = match read_tag(&self.text[begin..]) {
            Tag::None => return,
            Tag::Action(object) => (begin + object.length + 1, Ok(object)),
            Tag::Malformed(length, why) => (begin + length, Err(why)),
        };
        self.at = end;
        let what = format!("`[{}:`", shorten(tag, SHOWN_CHARS));
        if let Some(spec) = spec.filter(|spec| spec.first_only) {
            if self.tried.contains(&tag) {
                return self.findings.stays(Code::ActionIgnored, &what, start, "only the first of a reply counts");
            }
            self.tried.push(&spec.name);
        }
        match read {
            Ok(_) if self.found.len() == MAX_ACTIONS => {
                let why = format!("a reply has at most {MAX_ACTIONS} actions");
                self.findings.stays(Code::ActionIgnored, &what, start, &why);
            }
            Ok(object) => self.action(tag, spec, object, start..end, begin, &what),
            Err(why) => self.findings.stays(Code::ActionMalformed, &what, start, &why),
        }
    }

    fn action(
        &mut self,
        tag: &str,
        spec: Option<&'t ActionSpec>,
        object: Object,
        range: std::ops::Range<usize>,
        begin: usize,
        what: &str,
    ) {
        let Object { fields, length, inexact } = object;
        let checked = match spec {
            Some(spec) => payload::checked(spec, self.contract.other_fields, fields),
            None => Ok(fields),
        };
        match checked {
            Ok(payload) => {
                let exact = &self.text[begin..begin + length];
                let payload_text = self.findings.inexact(what, range.start, &inexact, exact);
                self.found.push((Action { tag: tag.to_owned(), payload, payload_text, range }, spec));
            }
            Err(why) => self.findings.stays(Code::ActionInvalid, what, range.start, &why),
        }
    }

    /// Where an exclusive action is, the others are none.
    fn finish(mut self) -> Parts {
        let exclusive = self.found.iter().position(|(_, spec)| spec.is_some_and(|spec| spec.exclusive));
        if let Some(index) = exclusive {
            let (only, spec) = self.found.swap_remove(index);
            for (other, _) in &self.found {
                let why = format!("`{}` is the only action of a reply that has it", only.tag);
                self.findings.stays(Code::ActionIgnored, &format!("`[{}:`", other.tag), other.range.start, &why);
            }
            self.found = vec![(only, spec)];
        }
        let stripped = self.found.iter().filter(|(_, spec)| spec.is_none_or(|spec| spec.strip));
        self.cuts.take(stripped.map(|(action, _)| action.range.clone()));
        Parts {
            text: self.cuts.left_of(self.text, 0..self.text.len()),
            actions: self.found.into_iter().map(|(action, _)| action).collect(),
            findings: self.findings,
        }
    }
}

/// What follows the colon of something that looks like a tag.
enum Tag {
    /// Plain text, such as `[NOTE: see below]`.
    None,
    /// A payload; a closing bracket follows it.
    Action(Object),
    /// How many bytes surely belong to it, and why it is not an action.
    Malformed(usize, String),
}

fn read_tag(text: &str) -> Tag {
    let spaces = text.len() - text.trim_start_matches([' ', '\t']).len();
    match text.as_bytes().get(spaces) {
        Some(b'{') if spaces > 0 => Tag::Malformed(spaces, "there is a space before its payload".into()),
        Some(b'{') => match read(text) {
            Found::Object(object) if text[object.length..].starts_with(']') => Tag::Action(object),
            Found::Object(object) => Tag::Malformed(object.length, "no `]` follows its payload".into()),
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
    use serde_json::json;

    use super::*;
    use crate::reply::{Reply, parse};

    fn any(text: &str) -> Reply {
        parse(text, false, &ReplyContract::of_word("five-layer").unwrap())
    }

    #[test]
    fn tags_come_out_in_reply_order_at_any_depth() {
        let text = "Done.\n[CALENDAR_ACTION:{\"a\":{\"b\":[{\"c\":\"}] [X:{}\"}]}}] and [NOTE:{}][B_2:{\n\"n\": 1}]!";
        let reply = any(text);
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
            let reply = any(&format!("{text}{good}"));
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
            assert_eq!(any(text), Reply { text: text.into(), ..Reply::default() });
        }
    }
}
