//! Anthropic: Messages.

use serde_json::{Map, Value, json};

use super::{arguments, breakpoints::breakpoints, tool_call_id, tool_calls};
use crate::{
    prompt::{Message, Prompt},
    turn::Role,
};

/// `system`, one block a system message wherever it stood, and `messages`.
///
/// Messages of one role that follow each other are one message of several blocks, as the API would make of them, and as
/// it demands of tool results. Empty texts, which the API refuses, have no block. Speakers' names have no place there.
pub(super) fn messages(prompt: &Prompt<'_>) -> Value {
    let marked = breakpoints(&prompt.messages);
    let mut system: Vec<Value> = Vec::new();
    let mut turns: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for (index, message) in prompt.messages.iter().enumerate() {
        let mut blocks = blocks(message);
        if marked.contains(&index) {
            mark(&mut blocks);
        }
        let role = match message.role {
            Role::System => {
                system.append(&mut blocks);
                continue;
            }
            Role::User | Role::Tool => "user",
            Role::Assistant => "assistant",
        };
        match turns.last_mut() {
            Some((last, content)) if *last == role => content.append(&mut blocks),
            _ if blocks.is_empty() => {}
            _ => turns.push((role, blocks)),
        }
    }
    let mut out = Map::new();
    if !system.is_empty() {
        out.insert("system".into(), system.into());
    }
    let turn = |(role, content): (&str, Vec<Value>)| json!({ "role": role, "content": content });
    out.insert("messages".into(), turns.into_iter().map(turn).collect());
    Value::Object(out)
}

fn blocks(message: &Message<'_>) -> Vec<Value> {
    if let Some(id) = tool_call_id(message) {
        return vec![json!({ "type": "tool_result", "tool_use_id": id, "content": message.content })];
    }
    let mut blocks = Vec::new();
    if !message.content.trim().is_empty() {
        blocks.push(json!({ "type": "text", "text": message.content }));
    }
    for call in tool_calls(message) {
        blocks.push(json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": arguments(call) }));
    }
    blocks
}

fn mark(blocks: &mut [Value]) {
    if let Some(Value::Object(block)) = blocks.last_mut() {
        block.insert("cache_control".into(), json!({ "type": "ephemeral" }));
    }
}

#[cfg(test)]
mod tests {
    use super::{super::sample, *};
    use crate::turn::ConversationMessage;

    #[test]
    fn system_is_apart_and_turns_alternate() {
        sample::with_prompt(|prompt| {
            let kept = json!({"type": "ephemeral"});
            assert_eq!(
                messages(prompt),
                json!({
                    "system": [
                        {"type": "text", "text": "SKELETON", "cache_control": kept},
                        {"type": "text", "text": "FACTS"},
                        {"type": "text", "text": "CONTEXT"},
                        {"type": "text", "text": "EPHEMERAL", "cache_control": kept},
                    ],
                    "messages": [
                        {"role": "user", "content": [{"type": "text", "text": "When is high tide?"}]},
                        {"role": "assistant", "content": [
                            {"type": "tool_use", "id": "c1", "name": "tide", "input": {"port": "Kiel"}},
                        ]},
                        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "14:05"}]},
                        {"role": "assistant", "content": [{"type": "text", "text": "At 14:05."}]},
                        {"role": "user", "content": [
                            {"type": "text", "text": "Thanks, \"界\"\n", "cache_control": kept},
                        ]},
                    ],
                })
            );
        });
    }

    #[test]
    fn neighbours_of_one_role_are_one_message_and_blanks_none() {
        let conversation = [
            ConversationMessage::new(Role::User, "a"),
            ConversationMessage::new(Role::User, "b"),
            ConversationMessage::new(Role::Assistant, " "),
            ConversationMessage::new(Role::User, "c"),
        ];
        let rendered = messages(&sample::prompt(conversation.iter().map(sample::carried).collect()));
        let texts: Vec<_> =
            rendered["messages"][0]["content"].as_array().unwrap().iter().filter_map(|b| b["text"].as_str()).collect();
        assert_eq!((texts, rendered["messages"].as_array().unwrap().len()), (vec!["a", "b", "c"], 1));
        assert_eq!(rendered.get("system"), None);
    }
}
