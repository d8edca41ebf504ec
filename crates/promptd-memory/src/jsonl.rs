//! Conversations as JSON lines: what is exported, and what others write.
//!
//! A line is a message as OpenAI's Chat Completions have it (`role`, `content`, `name`, `tool_calls`, `tool_call_id`), with `id` and
//! `time`, and in what is exported `position` and `stored`. The lines of kern's session files are read too: messages of the AI
//! SDK, whose `content` can be a list of parts, calls and results of tools among them, after a line that names the session.

use std::{
    io::{BufRead, Read as _},
    vec,
};

use promptd_core::{
    time::Moment,
    turn::{ConversationMessage, Role, ToolCall},
};
use serde_json::{Map, Value, json};

use crate::StoredMessage;

/// A message as a line, with its end.
#[must_use]
pub fn line(stored: &StoredMessage) -> String {
    let StoredMessage { position, stored: at, message, .. } = stored;
    let mut line = Map::new();
    let mut set = |key: &str, value: Value| line.insert(key.to_owned(), value);
    set("position", json!(position));
    set("id", json!(message.id));
    set("role", json!(message.role.as_str()));
    set("content", json!(message.content));
    if !message.name.is_empty() {
        set("name", json!(message.name));
    }
    if !message.tool_call_id.is_empty() {
        set("tool_call_id", json!(message.tool_call_id));
    }
    if !message.tool_calls.is_empty() {
        let call = |call: &ToolCall| {
            json!({
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments_json},
            })
        };
        set("tool_calls", message.tool_calls.iter().map(call).collect());
    }
    if let Some(time) = message.time {
        set("time", json!(time.utc_exact()));
    }
    set("stored", json!(at.utc_exact()));
    let mut text = Value::Object(line).to_string();
    text.push('\n');
    text
}

/// The most bytes of a line, or of a file that is not made of lines.
const MAX_BYTES: usize = 256 << 20;

/// The messages of a file: JSON lines, one JSON list, or one object with a list `messages`.
///
/// A message without an id gets one of its line, so that the same file gives the same ids.
pub struct Lines<R> {
    input: R,
    number: usize,
    /// Those of the line that was read last.
    ready: vec::IntoIter<ConversationMessage>,
    /// The rest of a file that is not made of lines.
    list: Option<vec::IntoIter<Value>>,
}

/// What cannot be read, and where. It shows nothing of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineError {
    /// The line, or the place in a list; from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl<R: BufRead> Lines<R> {
    /// The messages of a file.
    pub fn new(input: R) -> Self {
        Self { input, number: 0, ready: Vec::new().into_iter(), list: None }
    }

    /// The next JSON value; `None`: the end.
    fn value(&mut self) -> Result<Option<Value>, String> {
        if let Some(list) = &mut self.list {
            self.number += 1;
            return Ok(list.next());
        }
        loop {
            let mut line = Vec::new();
            self.number += 1;
            let read = self.input.by_ref().take(MAX_BYTES as u64).read_until(b'\n', &mut line);
            match read.map_err(|error| error.to_string())? {
                0 => return Ok(None),
                MAX_BYTES => return Err(format!("has {MAX_BYTES} bytes or more")),
                _ if line.trim_ascii().is_empty() => {}
                _ => match serde_json::from_slice::<Value>(&line) {
                    // kern's first line.
                    Ok(value) if self.number == 1 && is_heading(&value) => {}
                    Ok(value @ Value::Object(_)) if value.get("role").is_some() => return Ok(Some(value)),
                    _ if self.number == 1 => return self.whole(line),
                    Ok(_) => return Err("is not a message: it has no `role`".into()),
                    Err(error) => return Err(format!("is not JSON at column {}", error.column())),
                },
            }
        }
    }

    /// The first message of a file that is one JSON value.
    fn whole(&mut self, mut text: Vec<u8>) -> Result<Option<Value>, String> {
        let read = self.input.by_ref().take(MAX_BYTES as u64).read_to_end(&mut text);
        if read.map_err(|error| error.to_string())? >= MAX_BYTES {
            return Err(format!("the file has more than {MAX_BYTES} bytes: write a message a line"));
        }
        let value: Value = serde_json::from_slice(&text).map_err(|error| {
            self.number = error.line();
            format!("is not JSON at column {}", error.column())
        })?;
        let list = match value {
            Value::Object(mut object) => object.remove("messages").unwrap_or_default(),
            list => list,
        };
        let Value::Array(list) = list else { return Err("is neither a message nor a list of them".into()) };
        let list = self.list.insert(list.into_iter());
        Ok(list.next())
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<(usize, ConversationMessage), LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(message) = self.ready.next() {
                return Some(Ok((self.number, message)));
            }
            let read = self.value().and_then(|value| value.map(|value| messages(&value, self.number)).transpose());
            match read {
                Ok(Some(messages)) => self.ready = messages.into_iter(),
                Ok(None) => return None,
                Err(why) => return Some(Err(LineError { line: self.number, why })),
            }
        }
    }
}

fn is_heading(value: &Value) -> bool {
    value.get("createdAt").is_some() && value.get("role").is_none()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The messages of a line: more than one where it has the results of several calls.
fn messages(value: &Value, number: usize) -> Result<Vec<ConversationMessage>, String> {
    let role = match text(value, "role") {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        _ => return Err("`role` must be one of `system`, `user`, `assistant`, `tool`".into()),
    };
    let time = match text(value, "time") {
        "" => None,
        time => Some(time.parse::<Moment>().map_err(|_| "`time` is not a time in the form of RFC 3339")?),
    };
    let id = match text(value, "id") {
        "" => format!("line-{number}"),
        id => id.to_owned(),
    };
    let message = ConversationMessage {
        time,
        id,
        name: text(value, "name").to_owned(),
        tool_call_id: text(value, "tool_call_id").to_owned(),
        tool_calls: calls(value.get("tool_calls"))?,
        ..ConversationMessage::new(role, "")
    };
    match value.get("content") {
        None | Some(Value::Null) => Ok(vec![message]),
        Some(Value::String(content)) => Ok(vec![ConversationMessage { content: content.clone(), ..message }]),
        Some(Value::Array(parts)) => of_parts(message, parts),
        Some(_) => Err("`content` must be text or a list of parts".into()),
    }
    .and_then(|messages| {
        match messages.iter().find(|message| message.role == Role::Tool && message.tool_call_id.is_empty()) {
            None => Ok(messages),
            Some(_) => Err("a tool's message needs the id of the call that it answers".into()),
        }
    })
}

/// Calls as OpenAI has them.
fn calls(list: Option<&Value>) -> Result<Vec<ToolCall>, String> {
    let list = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .map(|call| {
            let function = call.get("function").unwrap_or(&Value::Null);
            let made = ToolCall {
                id: text(call, "id").to_owned(),
                name: text(function, "name").to_owned(),
                arguments_json: text(function, "arguments").to_owned(),
            };
            if made.id.is_empty() { Err("a call of a tool needs an `id`".to_owned()) } else { Ok(made) }
        })
        .collect()
}

/// A message whose content is parts, as OpenAI and the AI SDK have them.
fn of_parts(mut message: ConversationMessage, parts: &[Value]) -> Result<Vec<ConversationMessage>, String> {
    let (mut said, mut results) = (Vec::new(), Vec::new());
    for part in parts {
        match text(part, "type") {
            "text" => said.push(text(part, "text").to_owned()),
            "tool-call" => message.tool_calls.push(ToolCall {
                id: text(part, "toolCallId").to_owned(),
                name: text(part, "toolName").to_owned(),
                arguments_json: part.get("input").or(part.get("args")).map(Value::to_string).unwrap_or_default(),
            }),
            "tool-result" => results.push(part),
            // What a model does not say again.
            "reasoning" => {}
            other => said.push(format!("[{other}]")),
        }
    }
    if message.tool_calls.iter().any(|call| call.id.is_empty()) {
        return Err("a call of a tool needs an id".into());
    }
    if results.is_empty() {
        message.content = said.join("\n");
        return Ok(vec![message]);
    }
    let one = |(index, part): (usize, &&Value)| ConversationMessage {
        id: if index == 0 { message.id.clone() } else { format!("{}.{index}", message.id) },
        name: text(part, "toolName").to_owned(),
        tool_call_id: text(part, "toolCallId").to_owned(),
        content: output(part.get("output").or(part.get("result")).unwrap_or(&Value::Null)),
        ..message.clone()
    };
    Ok(results.iter().enumerate().map(one).collect())
}

/// What a tool gave, as text.
fn output(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(output) if output.contains_key("value") => self::output(&output["value"]),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<ConversationMessage>, LineError> {
        Lines::new(text.as_bytes()).map(|line| line.map(|(_, message)| message)).collect()
    }

    #[test]
    fn what_is_exported_is_read_again() {
        let call = ToolCall { id: "c".into(), name: "look".into(), arguments_json: "{\"a\":1}".into() };
        let messages = vec![
            ConversationMessage {
                id: "0".into(),
                name: "Ada".into(),
                time: Some(Moment::new(7, 5).unwrap()),
                ..ConversationMessage::new(Role::User, "Is it\nopen? \u{1f6a2}")
            },
            ConversationMessage {
                id: "1".into(),
                tool_calls: vec![call],
                ..ConversationMessage::new(Role::Assistant, "")
            },
            ConversationMessage {
                id: "2".into(),
                tool_call_id: "c".into(),
                ..ConversationMessage::new(Role::Tool, "open")
            },
        ];
        let stored = |(index, message): (u64, &ConversationMessage)| StoredMessage {
            position: index,
            index,
            stored: Moment::EPOCH,
            message: message.clone(),
        };
        let lines: String = (0..).zip(&messages).map(stored).map(|stored| line(&stored)).collect();
        assert_eq!(lines.lines().count(), 3);
        assert_eq!(read(&lines).unwrap(), messages);
        let list = format!("{{\n\"messages\": [{}]}}", lines.trim().replace('\n', ",\n"));
        assert_eq!(read(&list).unwrap(), messages);
    }

    #[test]
    fn kerns_session_files_are_read() {
        let text = r#"{"id":"a1","createdAt":"2026-04-03T06:39:26.634Z","updatedAt":"2026-04-03T06:39:26.634Z"}
{"role":"user","content":"look"}
{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool-call","toolCallId":"c0","toolName":"read","input":{"path":"a"}},{"type":"tool-call","toolCallId":"c1","toolName":"read","input":{}}]}
{"role":"tool","content":[{"type":"tool-result","toolCallId":"c0","toolName":"read","output":{"type":"text","value":"one"}},{"type":"tool-result","toolCallId":"c1","toolName":"read","output":{"type":"json","value":{"n":2}}}]}

{"role":"user","content":[{"type":"text","text":"and"},{"type":"image","image":"…"}]}
"#;
        let read = read(text).unwrap();
        let found: Vec<_> = read.iter().map(|m| (&*m.id, m.role, &*m.content, &*m.tool_call_id)).collect();
        assert_eq!(
            found,
            [
                ("line-2", Role::User, "look", ""),
                ("line-3", Role::Assistant, "I look.", ""),
                ("line-4", Role::Tool, "one", "c0"),
                ("line-4.1", Role::Tool, "{\"n\":2}", "c1"),
                ("line-6", Role::User, "and\n[image]", ""),
            ]
        );
        assert_eq!(read[1].tool_calls[0].arguments_json, "{\"path\":\"a\"}");
    }

    #[test]
    fn what_cannot_be_read_is_said_with_its_line_and_without_its_text() {
        for (text, line, why) in [
            ("{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"user\", SECRET", 2, "is not JSON at column"),
            ("{\"role\":\"robot\"}", 1, "`role` must be one of"),
            ("{\"role\":\"user\"}\n[1]", 2, "is not a message"),
            ("{\"role\":\"tool\",\"content\":\"SECRET\"}", 1, "a tool's message needs the id"),
            ("{\"role\":\"user\",\"time\":\"SECRET\"}", 1, "`time` is not"),
            ("{\"role\":\"user\",\"content\":7}", 1, "`content` must be"),
            ("[{\"role\":\"user\"},\n{\"role\":\"SECRET\"}]", 2, "`role` must be one of"),
            ("SECRET", 1, "is not JSON at column"),
            ("7", 1, "is neither a message nor a list"),
        ] {
            let error = read(text).unwrap_err();
            assert!(
                error.line == line && error.why.contains(why) && !error.why.contains("SECRET"),
                "{text}: {error:?}"
            );
        }
        assert_eq!(read("").unwrap(), []);
    }
}
