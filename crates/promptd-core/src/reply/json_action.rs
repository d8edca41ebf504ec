//! Replies that are one JSON action, perhaps after thoughts and in a code fence.

use serde_json::{Map, Value};

use super::{
    Action, Reply, heartbeat,
    json_object::{Found, read},
    lenient, malformed,
};

/// Reads the reply's first JSON object as its action. What is around it, without thoughts and code fences, stays as
/// text.
pub(super) fn parse(text: &str, heartbeat: bool) -> Reply {
    let start = after_thoughts(text);
    match find_action(text, start) {
        Ok(action) => {
            let before = without_fence_open(&text[start..action.range.start]);
            let after = without_fence_close(&text[action.range.end..]);
            let around = [before.trim(), after.trim()];
            let rest: Vec<&str> = around.into_iter().filter(|part| !part.is_empty()).collect();
            Reply { text: rest.join("\n"), actions: vec![action], ..Reply::default() }
        }
        Err((at, why)) => {
            let rest = heartbeat::without_token(&text[start..]);
            if heartbeat && heartbeat::is_nothing(rest) {
                return Reply { heartbeat_ok: true, ..Reply::default() };
            }
            Reply { text: rest.to_owned(), findings: vec![malformed(at, "the action", &why)], ..Reply::default() }
        }
    }
}

/// Where the thoughts end that the reply begins with. Some models send only the end of them.
fn after_thoughts(text: &str) -> usize {
    const OPEN: &str = "<think>";
    const CLOSE: &str = "</think>";
    let mut at = 0;
    loop {
        let rest = text[at..].trim_start();
        let begun = rest.starts_with(OPEN);
        if !begun && (rest.starts_with(['{', '`']) || at > 0) {
            return at;
        }
        match text[at..].find(CLOSE) {
            Some(close) => at += close + CLOSE.len(),
            None if begun => return text.len(),
            None => return at,
        }
    }
}

/// The first object at or after `start` that is valid and names an action; else where the first one is and why it is not an action.
fn find_action(text: &str, start: usize) -> Result<Action, (usize, String)> {
    let mut fault = None;
    let mut at = start;
    while let Some(found) = text[at..].find('{') {
        let begin = at + found;
        let (length, why) = match read(&text[begin..]) {
            Found::Object(object, length) => match named(flatten(object)) {
                Some((tag, payload)) => return Ok(Action { tag, payload, range: begin..begin + length }),
                None => (length, "it has no `action` with a name".to_owned()),
            },
            Found::Invalid(length, why) => (length, why),
            Found::Open(why) => (1, why.to_owned()),
        };
        if fault.is_none() {
            if let Some((object, length)) = lenient::parse(&text[begin..])
                && let Some((tag, payload)) = named(flatten(object))
            {
                return Ok(Action { tag, payload, range: begin..begin + length });
            }
            fault = Some((begin, why));
        }
        at = begin + length;
    }
    Err(fault.unwrap_or((start, "the reply has no JSON object".into())))
}

/// Lays the object's `parameters` over the rest of it; a channel's id in them becomes text.
fn flatten(mut object: Map<String, Value>) -> Map<String, Value> {
    match object.shift_remove("parameters") {
        Some(Value::Object(parameters)) => {
            for (key, value) in parameters {
                let value = match value {
                    Value::Number(id) if key == "channelId" => Value::String(id.to_string()),
                    other => other,
                };
                object.insert(key, value);
            }
        }
        Some(other) => {
            object.insert("parameters".into(), other);
        }
        None => {}
    }
    object
}

fn named(object: Map<String, Value>) -> Option<(String, Map<String, Value>)> {
    let name = object.get("action")?.as_str().map(str::trim).filter(|name| !name.is_empty())?.to_owned();
    Some((name, object))
}

/// Without a fence that opens on the last line.
fn without_fence_open(text: &str) -> &str {
    let text = text.trim_end();
    match text.rfind("```") {
        Some(fence) if !text[fence..].contains('\n') => &text[..fence],
        _ => text,
    }
}

/// Without a fence that closes on the first line.
fn without_fence_close(text: &str) -> &str {
    let text = text.trim_start();
    text.strip_prefix("```").unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_one_action() {
        let action = r#"{"action":"send_message","content":"a {b} <think>","channelId":"7"}"#;
        let payload = json!({"action": "send_message", "content": "a {b} <think>", "channelId": "7"});
        for (text, rest) in [
            (action.to_owned(), ""),
            (format!("<think>I could {{\"action\":\"break\"}}.</think>\n{action}\n"), ""),
            (format!("<think>a</think><think>b</think>{action}"), ""),
            (format!("I think so.</think>\n\n{action}"), ""),
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
            ("{\"action\":\"x\"", "{\"action\":\"x\"", "does not end"),
        ] {
            let reply = parse(text, false);
            assert_eq!((reply.text.as_str(), reply.actions.len()), (rest, 0), "{text}");
            assert!(reply.findings[0].message.contains(why), "{}", reply.findings[0].message);
        }
    }

    #[test]
    fn line_breaks_and_spare_commas_are_accepted() {
        let text = "```json\n{\"action\": \"send_message\", \"parameters\": {\"content\": \"a\nb\",},\n}\n```";
        let reply = parse(text, false);
        assert_eq!(json!(reply.actions[0].payload), json!({"action": "send_message", "content": "a\nb"}));
        assert_eq!((reply.text.as_str(), reply.findings.len()), ("", 0));
    }

    #[test]
    fn a_heartbeat_can_be_acknowledged() {
        assert_eq!(parse("HEARTBEAT_OK", true), Reply { heartbeat_ok: true, ..Reply::default() });
        assert!(!parse("HEARTBEAT_OK", false).heartbeat_ok);
    }
}
