//! Replies that are one JSON action, perhaps after thoughts and in a code fence.

use std::ops::Range;

use serde_json::{Map, Value};

use super::{
    Action, Reply,
    cuts::{Angle, Cuts, without_fence_open},
    findings::Findings,
    heartbeat,
    json_object::{Found, read},
    lenient, payload,
};
use crate::{
    finding::Code,
    profile::{ActionSpec, Actions, JsonReading, ReplyContract},
    text::shorten,
    yaml::nearest,
};

/// The most characters of an action's name that a finding shows.
const SHOWN_CHARS: usize = 64;

/// Reads the reply's first JSON object with an `action`. What is around it, without thoughts and code fences, stays as
/// text.
pub(super) fn parse(text: &str, heartbeat: bool, contract: &ReplyContract) -> Reply {
    let mut search =
        Search { text, contract, cuts: Cuts::default(), findings: Findings::default(), state: State::Open };
    search.run();
    let Search { cuts, mut findings, state, .. } = search;
    let fault = match state {
        State::Found(action) => {
            let text = cuts.left_around(text, &action.range);
            return Reply { text, heartbeat_ok: false, actions: vec![*action], findings: findings.into_vec() };
        }
        State::Failed(fault) | State::Decided(fault) => Some(fault),
        State::Open => None,
    };
    let left = cuts.left_of(text, 0..text.len());
    let rest = heartbeat::without_token(&left);
    if heartbeat && heartbeat::is_nothing(&rest) {
        return Reply { heartbeat_ok: true, findings: findings.into_vec(), ..Reply::default() };
    }
    let Fault { at, code, why } = fault.unwrap_or_else(|| Fault::new(0, "the reply has no JSON object"));
    findings.stays(code, "the action", at, &why);
    Reply { text: rest, findings: findings.into_vec(), ..Reply::default() }
}

/// Why an object is not an action.
#[derive(Debug)]
struct Fault {
    at: usize,
    code: Code,
    why: String,
}

impl Fault {
    fn new(at: usize, why: impl Into<String>) -> Self {
        Self { at, code: Code::ActionMalformed, why: why.into() }
    }
}

/// What is known of the reply's action so far.
#[derive(Debug)]
enum State {
    /// Nothing yet.
    Open,
    /// The first object has none; a later one may.
    Failed(Fault),
    /// The object that names an action is not one of the contract's: no other is looked for.
    Decided(Fault),
    Found(Box<Action>),
}

struct Search<'t> {
    text: &'t str,
    contract: &'t ReplyContract,
    cuts: Cuts,
    findings: Findings,
    state: State,
}

impl Search<'_> {
    /// Goes through the whole reply: what comes behind the action may end thoughts that the action is in.
    fn run(&mut self) {
        let mut at = 0;
        while let Some(found) = self.text[at..].find(['<', '{']) {
            at += found;
            if self.text.as_bytes()[at] == b'<' {
                at = match self.cuts.thoughts(self.text, at, &self.contract.thoughts, &mut self.findings) {
                    Angle::Text => at + 1,
                    Angle::Thoughts(end) => end,
                    Angle::AllBefore(end) => {
                        self.state = State::Open;
                        end
                    }
                };
            } else if matches!(self.state, State::Open | State::Failed(_)) {
                at += self.object(at);
            } else {
                at += 1;
            }
        }
    }

    /// Tries the object that begins at `at`; how many bytes to go on by.
    fn object(&mut self, at: usize) -> usize {
        let (length, why) = match read(&self.text[at..]) {
            Found::Object(object) => {
                let range = at..at + object.length;
                if self.action(object.fields, range, &object.inexact) {
                    return object.length;
                }
                (object.length, "it has no `action` with a name".to_owned())
            }
            Found::Invalid(length, why) => (length, why),
            Found::Open(why) => (1, why.to_owned()),
        };
        if matches!(self.state, State::Open) {
            match self.lenient(at) {
                Ok(Some(length)) => return length,
                Ok(None) => self.state = State::Failed(Fault::new(at, why)),
                Err(reason) => self.state = State::Failed(Fault::new(at, format!("{why}; {reason}"))),
            }
        }
        length
    }

    /// The same by the lenient reading, which is tried on one object alone so that time stays linear.
    fn lenient(&mut self, at: usize) -> Result<Option<usize>, &'static str> {
        if self.contract.json == JsonReading::Strict {
            return Ok(None);
        }
        let object = lenient::parse(&self.text[at..fence_end(self.text, at)])?;
        let Value::Object(fields) = object.value else { return Ok(None) };
        if !self.action(fields, at..at + object.length, &object.inexact) {
            return Ok(None);
        }
        if matches!(self.state, State::Found(_)) {
            match object.cut {
                Some(key) => self.findings.add(Code::ActionCut, || {
                    let key = shorten(&key, SHOWN_CHARS);
                    format!("the action at byte {at} is cut off in the string of `{key}`: the rest of it is missing")
                }),
                None if object.stopped => self.findings.add(Code::ActionCut, || {
                    let end = at + object.length;
                    format!("the action at byte {at} is read up to byte {end}: what follows cannot be read")
                }),
                None => self.findings.add(Code::ActionRepaired, || {
                    format!("the action at byte {at} is not valid JSON, and was completed")
                }),
            }
        }
        Ok(Some(object.length))
    }

    /// Takes an object that names an action; false where it names none.
    fn action(&mut self, object: Map<String, Value>, range: Range<usize>, inexact: &[String]) -> bool {
        let Some((name, fields)) = named(object, &self.contract.actions) else { return false };
        self.state = match self.checked(&name, fields) {
            Ok(payload) => {
                let json = &self.text[range.clone()];
                let payload_text = self.findings.inexact("the action", range.start, inexact, json);
                State::Found(Box::new(Action { tag: name, payload, payload_text, range }))
            }
            Err(why) => State::Decided(Fault { at: range.start, code: Code::ActionInvalid, why }),
        };
        true
    }

    fn checked(&self, name: &str, mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let Actions::Declared(actions) = &self.contract.actions else { return Ok(fields) };
        let Some(spec) = actions.iter().find(|spec| spec.name == name) else { return Err(unknown(name, actions)) };
        fields.shift_remove("action");
        let mut payload = Map::from_iter([("action".to_owned(), name.into())]);
        payload.append(&mut payload::checked(spec, self.contract.other_fields, fields)?);
        Ok(payload)
    }
}

fn unknown(name: &str, actions: &[ActionSpec]) -> String {
    let known: Vec<&str> = actions.iter().map(|spec| &*spec.name).collect();
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known: {}", known.join(", ")),
    };
    format!("unknown action `{}`; {hint}", shorten(name, SHOWN_CHARS))
}

/// The object's action, and the object with its `parameters` laid over the rest of it.
fn named(mut object: Map<String, Value>, actions: &Actions) -> Option<(String, Map<String, Value>)> {
    let parameters = match object.shift_remove("parameters") {
        Some(Value::Object(parameters)) => parameters,
        Some(other) => {
            object.insert("parameters".into(), other);
            Map::new()
        }
        None => Map::new(),
    };
    let name = parameters.get("action").or_else(|| object.get("action"))?.as_str()?;
    let name = if matches!(actions, Actions::Any) { name.trim() } else { name }.to_owned();
    if name.is_empty() {
        return None;
    }
    for (key, value) in parameters {
        let value = match value {
            Value::Number(number) if is_text(actions, &name, &key) => Value::String(number.to_string()),
            other => other,
        };
        object.insert(key, value);
    }
    Some((name, object))
}

/// Whether a number among the parameters is meant as text.
fn is_text(actions: &Actions, name: &str, key: &str) -> bool {
    let Actions::Declared(actions) = actions else { return key == "channelId" };
    let spec = actions.iter().find(|spec| spec.name == name);
    spec.is_some_and(|spec| spec.fields.iter().any(|field| field.number_as_text && field.field.name == key))
}

/// Where the code fence closes that the object at `at` is in; the text's end where it is in none.
fn fence_end(text: &str, at: usize) -> usize {
    let before = text[..at].trim_end();
    if without_fence_open(before).len() == before.len() {
        return text.len();
    }
    let mut closing = text[at..].match_indices("```").map(|(found, _)| at + found);
    let ends_line = |end: &usize| {
        let rest = text[end + 3..].trim_start_matches([' ', '\t', '\r']);
        rest.is_empty() || rest.starts_with('\n')
    };
    closing.find(ends_line).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(text: &str, heartbeat: bool) -> Reply {
        super::parse(text, heartbeat, &ReplyContract::of_word("airi").unwrap())
    }

    #[test]
    fn reads_one_action() {
        let action = r#"{"action":"send_message","content":"a {b} <think>","channelId":"7"}"#;
        let payload = json!({"action": "send_message", "content": "a {b} <think>", "channelId": "7"});
        for (text, rest) in [
            (action.to_owned(), ""),
            (format!("<think>I could {{\"action\":\"break\"}}.</think>\n{action}\n"), ""),
            (format!("<thinking>{{\"action\":\"ban\"}}</thinking>{action}"), ""),
            (format!("<THINK>{{\"action\":\"ban\"}}</THINK>{action}"), ""),
            (format!("<think>a <think>b</think> {{\"action\":\"ban\"}}</think>{action}"), ""),
            (format!("<think>a</think><think>b</think>{action}"), ""),
            (format!("```json\n{action}\n```"), ""),
            (format!("<think>x</think>\n```\n{action}\n```\n"), ""),
            (format!("Here: {{x}}\n{action}\nDone."), "Here: {x}\nDone."),
        ] {
            let reply = parse(&text, false);
            assert_eq!((reply.text.as_str(), reply.findings.len(), reply.heartbeat_ok), (rest, 0, false), "{text}");
            let [found] = reply.actions.as_slice() else { panic!("{text}") };
            assert_eq!((found.tag.as_str(), json!(found.payload)), ("send_message", payload.clone()));
            assert_eq!(&text[found.range.clone()], action);
        }
    }

    #[test]
    fn a_reply_may_begin_in_its_thoughts() {
        for thoughts in ["I think so.", "Perhaps {\"action\":\"ban\"} or {x}."] {
            let reply = parse(&format!("{thoughts}</think>\n\n{{\"action\":\"continue\"}}"), false);
            assert_eq!((reply.text.as_str(), reply.actions[0].tag.as_str()), ("", "continue"));
            let message = format!("the thoughts that end at byte {} have no beginning", thoughts.len());
            assert!(
                reply.findings.len() == 1 && reply.findings[0].message.starts_with(&message),
                "{:?}",
                reply.findings
            );
        }
    }

    #[test]
    fn parameters_are_laid_over_the_rest() {
        let text = r#"{"action":"send_message","content":"old","parameters":{"content":"new","channelId":12}}"#;
        let reply = parse(text, false);
        assert_eq!(
            json!(reply.actions[0].payload),
            json!({"action": "send_message", "content": "new", "channelId": "12"})
        );
        let reply = parse(r#"{"action":"sleep","parameters":5,"channelId":12}"#, false);
        assert_eq!(json!(reply.actions[0].payload), json!({"action": "sleep", "parameters": 5, "channelId": 12}));
    }

    #[test]
    fn what_is_no_action_stays_with_a_finding() {
        for (text, rest, why) in [
            ("Hello!", "Hello!", "no JSON object"),
            ("", "", "no JSON object"),
            ("<think>never ends", "", "no JSON object"),
            ("{\"content\":\"x\"}", "{\"content\":\"x\"}", "no `action`"),
            ("{\"action\":5}", "{\"action\":5}", "no `action`"),
            ("{\"action\":x}", "{\"action\":x}", "not valid JSON"),
            ("{\"content\":\"x\"", "{\"content\":\"x\"", "does not end"),
        ] {
            let reply = parse(text, false);
            assert_eq!((reply.text.as_str(), reply.actions.len()), (rest, 0), "{text}");
            let last = &reply.findings.last().unwrap().message;
            assert!(last.contains(why), "{last}");
        }
    }

    #[test]
    fn line_breaks_and_spare_commas_are_accepted() {
        let text = "```json\n{\"action\": \"send_message\", \"parameters\": {\"content\": \"a\nb\",},\n}\n```";
        let reply = parse(text, false);
        assert_eq!(json!(reply.actions[0].payload), json!({"action": "send_message", "content": "a\nb"}));
        let codes: Vec<_> = reply.findings.iter().map(|finding| finding.code).collect();
        assert_eq!((reply.text.as_str(), codes), ("", vec![Code::ActionRepaired]));
    }

    #[test]
    fn a_heartbeat_can_be_acknowledged() {
        assert_eq!(parse("HEARTBEAT_OK", true), Reply { heartbeat_ok: true, ..Reply::default() });
        assert!(!parse("HEARTBEAT_OK", false).heartbeat_ok);
    }
}
