//! What of a message is compared with others.

use std::borrow::Cow;

use serde_json::Value;

use super::{HistoryMessage, Thresholds};
use crate::turn::Role;

/// Written after text that was cut.
const CUT: &str = "...";

/// What of a message is compared: its text up to a limit, and the names of tools, files and images in it.
pub(super) fn compared<'m>(message: &'m HistoryMessage, thresholds: &Thresholds) -> Cow<'m, str> {
    let content = message.content.as_str();
    if message.role == Role::Tool {
        return shortened(content, thresholds.max_tool_units);
    }
    let parts = content.starts_with('[').then(|| serde_json::from_str(content).ok().and_then(parts)).flatten();
    let text = match parts {
        Some(text) => Cow::Owned(shortened(&text, thresholds.max_parts_units).into_owned()),
        None => shortened(content, thresholds.max_message_units),
    };
    if message.tool_calls.is_empty() {
        return text;
    }
    let tools = message.tool_calls.iter().map(|call| format!("[tool: {}]", call.name));
    let said = Some(text.into_owned()).filter(|text| !text.is_empty());
    Cow::Owned(said.into_iter().chain(tools).collect::<Vec<_>>().join(" "))
}

/// The text that kern embeds for each message: the message and those around it, as lines of role and text.
#[must_use]
pub fn embedding_inputs(messages: &[HistoryMessage], thresholds: &Thresholds) -> Vec<String> {
    let lines: Vec<String> = (messages.iter())
        .map(|message| format!("{}: {}", message.role.as_str(), compared(message, thresholds)))
        .collect();
    let half = thresholds.window_messages / 2;
    // Windows do not go beyond a chunk, which is embedded by itself.
    let chunks = lines.chunks(thresholds.chunk_messages.max(1));
    let windows = chunks.flat_map(|chunk| {
        (0..chunk.len()).map(move |at| &chunk[at.saturating_sub(half)..(at + half + 1).min(chunk.len())])
    });
    windows.map(|window| prefix(&window.join("\n"), thresholds.max_embedding_units).to_owned()).collect()
}

/// The text of a JSON list of parts, as the AI SDK stores them; `None`: it is not one.
fn parts(json: Value) -> Option<String> {
    let Value::Array(parts) = json else { return None };
    let field =
        |part: &Value, name| part.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let shown = parts.iter().filter_map(|part| match part.get("type")?.as_str()? {
        "text" => field(part, "text"),
        "tool-call" => field(part, "toolName").map(|name| format!("[tool: {name}]")),
        "image" => Some("[image]".to_owned()),
        "file" => {
            let name = field(part, "filename").or_else(|| field(part, "mediaType"));
            Some(format!("[file: {}]", name.as_deref().unwrap_or("file")))
        }
        _ => None,
    });
    Some(shown.collect::<Vec<_>>().join(" "))
}

fn shortened(text: &str, units: usize) -> Cow<'_, str> {
    match prefix(text, units) {
        kept if kept.len() == text.len() => Cow::Borrowed(text),
        kept => Cow::Owned(format!("{kept}{CUT}")),
    }
}

/// The longest prefix of at most so many UTF-16 units; no character is divided.
fn prefix(text: &str, units: usize) -> &str {
    // A character has no more units than bytes.
    if text.len() <= units {
        return text;
    }
    let mut left = units;
    let end = text.char_indices().find(|(_, c)| match left.checked_sub(c.len_utf16()) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    });
    end.map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::ToolCall;

    fn message(role: Role, content: &str) -> HistoryMessage {
        HistoryMessage::new(role, content)
    }

    #[test]
    fn what_is_compared_is_short() {
        let of = |role, content: &str| compared(&message(role, content), &Thresholds::default()).into_owned();
        let long = "x".repeat(1_000);
        for (role, content, length) in [
            (Role::Tool, long.as_str(), 303),
            (Role::User, &long, 503),
            (Role::User, &"x".repeat(500), 500),
            (Role::Assistant, &format!(r#"[{{"type":"text","text":"{}"}}]"#, "x".repeat(3_000)), 2_003),
            (Role::User, &format!("[not json {long}"), 503),
            (Role::User, &"𝄞".repeat(400), 253),
        ] {
            assert_eq!(of(role, content).chars().count(), length, "{role:?}");
        }
        let parts = r#"[{"type":"text","text":"short answer"},{"type":"tool-call","toolName":"bash"},{"type":"image"},
            {"type":"file","filename":"a.pdf"},{"type":"file"},{"type":"reasoning","text":"hidden"}]"#;
        assert_eq!(of(Role::Assistant, parts), "short answer [tool: bash] [image] [file: a.pdf] [file: file]");
        assert_eq!(of(Role::Tool, "[1]"), "[1]");
        let call = HistoryMessage {
            tool_calls: vec![ToolCall { name: "bash".into(), arguments_json: "{}".into(), ..<_>::default() }],
            ..message(Role::Assistant, "Looking.")
        };
        assert_eq!(compared(&call, &Thresholds::default()), "Looking. [tool: bash]");
        assert_eq!(call.size(), 4, "8 units of text, 4 of the name, 2 of the arguments");
    }

    #[test]
    fn an_embedding_is_of_the_message_and_those_around_it() {
        let messages: Vec<_> = ["a", "b", "c", "d"].map(|text| message(Role::User, text)).into();
        let inputs = embedding_inputs(&messages, &Thresholds::default());
        assert_eq!(inputs[0], "user: a\nuser: b\nuser: c");
        assert_eq!(inputs[3], "user: b\nuser: c\nuser: d");
        let two = Thresholds { chunk_messages: 2, max_embedding_units: 10, ..Thresholds::default() };
        assert_eq!(embedding_inputs(&messages, &two), ["user: a\nus", "user: a\nus", "user: c\nus", "user: c\nus"]);
        let pairs = [message(Role::User, "𝄞𝄞")];
        let odd = Thresholds { max_embedding_units: 7, ..Thresholds::default() };
        assert_eq!(embedding_inputs(&pairs, &odd), ["user: "], "no character is divided");
    }
}
