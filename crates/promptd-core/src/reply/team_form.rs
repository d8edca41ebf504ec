//! Replies that are one team: a summoner and monsters by their numbers.

use std::borrow::Cow;

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::{
    Action, Reply,
    cuts::{Angle, Cuts},
    findings::Findings,
};
use crate::{
    finding::Code,
    profile::ReplyContract,
    team::{FIRST_MONSTER, Match, Team},
};

/// The name of the one action.
const NAME: &str = "team";

/// Reads the reply's team. With the inputs that the prompt had, its cards are looked up and the rules of teams are checked.
pub(super) fn parse(text: &str, contract: &ReplyContract, inputs: Option<&Map<String, Value>>) -> Reply {
    let mut findings = Findings::default();
    let (cuts, object) = find(text, contract, &mut findings);
    let at = object.as_ref().map_or(0, |range| range.start);
    let object = object.ok_or((Code::ActionMalformed, "the reply has no JSON object"));
    let action = object.and_then(|range| {
        let payload = payload(&cuts.left_of(text, range.clone()), at, inputs, &mut findings)?;
        Ok(Action { tag: NAME.into(), payload, payload_text: None, range })
    });
    match action {
        Ok(action) => {
            let text = cuts.left_around(text, &action.range);
            Reply { text, heartbeat_ok: false, actions: vec![action], findings: findings.into_vec() }
        }
        Err((code, why)) => {
            findings.stays(code, "the team", at, why);
            Reply { text: cuts.left_of(text, 0..text.len()), findings: findings.into_vec(), ..Reply::default() }
        }
    }
}

/// The team of the object at `at`; the error says why there is no team.
fn payload(
    object: &str,
    at: usize,
    inputs: Option<&Map<String, Value>>,
    findings: &mut Findings,
) -> Result<Map<String, Value>, (Code, &'static str)> {
    const NO_TEAM: (Code, &str) = (Code::ActionInvalid, "invalid summoner, or no monster");
    let fields = read(object).ok_or((Code::ActionMalformed, "it is not valid JSON"))?;
    let (Some(summoner), Some(Value::Array(monsters))) = (fields.get("summoner"), fields.get("monsters")) else {
        return Err((Code::ActionInvalid, "it needs `summoner`, and `monsters` as a list"));
    };
    let numbers: Vec<u64> = monsters.iter().filter_map(|id| number(id, 'M')).collect();
    let (Some(summoner), false) = (number(summoner, 'S'), numbers.is_empty()) else { return Err(NO_TEAM) };
    let mut left_out = monsters.len() - numbers.len();
    let mut payload =
        Map::from_iter([("summoner".to_owned(), json!(summoner)), ("monsters".to_owned(), json!(numbers))]);
    if let Some(inputs) = inputs {
        let mut of = Match::deserialize(inputs).unwrap_or_default();
        let roster = of.take_roster();
        let team = Team::of(&roster, summoner, &numbers).ok_or(NO_TEAM)?;
        left_out = monsters.len() - team.monsters.len();
        payload = found(&team);
        for issue in team.issues(&of) {
            findings.add(Code::TeamRule, || format!("the team at byte {at}: {issue}"));
        }
    } else {
        findings.add(Code::TeamUnchecked, || {
            format!("the team at byte {at} is not checked: the request has no `inputs` to look its cards up in")
        });
    }
    if left_out > 0 {
        findings.add(Code::ActionRepaired, || {
            format!("{left_out} monsters of the team at byte {at} are left out: there are no such cards")
        });
    }
    Ok(payload)
}

/// The team by the ids and uids of its cards, with the mana that it takes.
fn found(team: &Team<'_>) -> Map<String, Value> {
    let (numbers, uids): (Vec<u64>, Vec<&str>) =
        team.monsters.iter().map(|(number, card)| (*number, card.uid.as_str())).unzip();
    let (summoner, card) = team.summoner;
    Map::from_iter([
        ("summoner".to_owned(), json!(summoner)),
        ("monsters".to_owned(), json!(numbers)),
        ("summoner_uid".to_owned(), json!(card.uid)),
        ("monster_uids".to_owned(), json!(uids)),
        ("mana_total".to_owned(), json!(team.mana())),
    ])
}

/// Thoughts, and from the first `{` outside of them to the last `}`.
fn find(text: &str, contract: &ReplyContract, findings: &mut Findings) -> (Cuts, Option<std::ops::Range<usize>>) {
    let mut cuts = Cuts::default();
    let (mut open, mut close, mut at) = (None, None, 0);
    while let Some(found) = text[at..].find(['<', '{', '}']) {
        at += found;
        match text.as_bytes()[at] {
            b'<' => match cuts.thoughts(text, at, &contract.thoughts, findings) {
                Angle::Text => at += 1,
                Angle::Thoughts(end) => at = end,
                Angle::AllBefore(end) => (open, close, at) = (None, None, end),
            },
            b'{' => {
                open = open.or(Some(at));
                at += 1;
            }
            _ => {
                at += 1;
                close = Some(at);
            }
        }
    }
    let range = open.zip(close).filter(|(open, close)| open < close).map(|(open, close)| open..close);
    (cuts, range)
}

/// An object as models write it: also with doubled outer braces, and with ids that are not quoted.
fn read(text: &str) -> Option<Map<String, Value>> {
    let single = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).filter(|text| text.starts_with('{'));
    let texts = [Some(text), single].into_iter().flatten();
    let quoted = texts.clone().map(|text| Cow::Owned(quoted(text)));
    texts.map(Cow::Borrowed).chain(quoted).find_map(|text| serde_json::from_str(&text).ok())
}

/// The text with quotes around every bare `S3` and `M12`.
fn quoted(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_before = |byte: u8| matches!(byte, b':' | b'[' | b',') || byte.is_ascii_whitespace();
    let is_after = |byte: u8| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace();
    let (mut out, mut copied, mut at) = (String::with_capacity(text.len() + 16), 0, 0);
    while let Some(found) = text[at..].find(['S', 'M']) {
        let start = at + found;
        let digits = bytes[start + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        at = start + 1 + digits;
        let begins = start.checked_sub(1).is_some_and(|before| is_before(bytes[before]));
        if digits > 0 && begins && bytes.get(at).is_some_and(|byte| is_after(*byte)) {
            out.push_str(&text[copied..start]);
            out.push('"');
            out.push_str(&text[start..at]);
            out.push('"');
            copied = at;
        }
    }
    out.push_str(&text[copied..]);
    out
}

/// A number: as it is, or as text, perhaps behind its letter. The ids of monsters in the id map are not numbers here.
fn number(id: &Value, letter: char) -> Option<u64> {
    let number = match id {
        Value::Number(number) => number.as_u64()?,
        Value::String(text) => {
            let text = text.trim();
            text.strip_prefix([letter, letter.to_ascii_lowercase()]).unwrap_or(text).parse().ok()?
        }
        _ => return None,
    };
    (1..=FIRST_MONSTER).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_ids_are_quoted_and_nothing_else() {
        for (text, expected) in [
            ("{\"summoner\": S3, \"monsters\": [M1,M12 ]}", "{\"summoner\": \"S3\", \"monsters\": [\"M1\",\"M12\" ]}"),
            ("{\"a\":S}", "{\"a\":S}"),
            ("[\"S3\"]", "[\"S3\"]"),
            ("[SM1, s1, S1x]", "[SM1, s1, S1x]"),
            ("S1", "S1"),
            ("界 S2 界", "界 \"S2\" 界"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }

    #[test]
    fn a_number_is_written_in_many_ways() {
        for (id, found) in [
            (json!(13), Some(13)),
            (json!("13"), Some(13)),
            (json!(" m13 "), Some(13)),
            (json!("M13"), Some(13)),
            (json!("S13"), None),
            (json!(13.0), None),
            (json!(0), None),
            (json!(-1), None),
            (json!(1001), None),
            (json!(null), None),
            (json!("MM1"), None),
        ] {
            assert_eq!(number(&id, 'M'), found, "{id}");
        }
    }
}
