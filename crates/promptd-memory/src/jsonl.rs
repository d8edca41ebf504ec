//! Conversations as JSON lines: what is exported, and what others write.
//!
//! A line is a message as OpenAI's Chat Completions have it (`role`, `content`, `name`, `tool_calls`, `tool_call_id`), with `id`,
//! `time`, and in what is exported `position`. The lines of kern's session files are read too: there `content` can be a list of
//! parts, and calls and results of tools are such parts.

use promptd_core::turn::ToolCall;
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
