//! Anthropic: Messages.

use serde_json::{Map, Value, json};

use super::{
    Fragment, IdRule, ProviderTable, RenderFormat, Rendered, arguments,
    breakpoints::breakpoints,
    is_plain, tool_calls,
    turns::{Speaker, Turns},
};
use crate::prompt::{Message, Prompt};

/// Amazon Bedrock, which serves the same models, has the limit.
pub(super) const IDS: IdRule = IdRule { provider: "Anthropic", max_bytes: 64, characters: Some(is_plain) };

/// `system`, one block a system message wherever it was, and `messages`.
///
/// Messages of one role that follow each other are one message of several blocks, as the API would make of them, and as
/// it demands of tool results. Empty texts, which the API refuses, have no block; the conversation begins with the user;
/// white space at the end of a last message of the assistant is removed. Speakers' names have no place there.
pub(super) fn messages(prompt: &Prompt<'_>) -> Rendered {
    let fragment = Fragment::new(prompt, IDS, ProviderTable::built_in().of(RenderFormat::AnthropicMessages))
        .beginning_with_the_user(IDS.provider);
    let marked = breakpoints(prompt, ProviderTable::built_in().of(RenderFormat::AnthropicMessages));
    let mut all = Turns::new(&fragment, |index, message| {
        let mut blocks = blocks(&fragment, index, message);
        if marked.contains(&index) {
            mark(&mut blocks);
        }
        blocks
    });
    all.trim_end();
    let mut out = Map::new();
    if !all.system.is_empty() {
        out.insert("system".into(), all.system.into());
    }
    let turn = |(speaker, content): (Speaker, _)| json!({ "role": role(speaker), "content": content });
    out.insert("messages".into(), all.turns.into_iter().map(turn).collect());
    fragment.rendered(&Value::Object(out))
}

/// The name of a role, which Bedrock shares.
pub(super) fn role(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::User => "user",
        Speaker::Model => "assistant",
    }
}

fn blocks(fragment: &Fragment<'_>, index: usize, message: &Message<'_>) -> Vec<Value> {
    if let Some(result) = fragment.ids.result(index) {
        return vec![json!({ "type": "tool_result", "tool_use_id": result.id, "content": message.content })];
    }
    let mut blocks = Vec::new();
    if !message.content.trim().is_empty() {
        blocks.push(json!({ "type": "text", "text": message.content }));
    }
    for (call, id) in tool_calls(message).iter().zip(fragment.ids.calls(index)) {
        blocks.push(json!({ "type": "tool_use", "id": id, "name": call.name, "input": arguments(call) }));
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
    use super::{
        super::sample::{self, json},
        *,
    };
    use crate::turn::{ConversationMessage, Role, ToolCall};

    #[test]
    fn system_is_apart_and_turns_alternate() {
        sample::with_prompt(|prompt| {
            let kept = json!({"type": "ephemeral"});
            assert_eq!(
                json(&messages(prompt)),
                json!({
                    "system": [
                        {"type": "text", "text": "SKELETON", "cache_control": kept},
                        {"type": "text", "text": "FACTS"},
                        {"type": "text", "text": "CONTEXT"},
                        {"type": "text", "text": "EPHEMERAL"},
                    ],
                    "messages": [
                        {"role": "user", "content": [{"type": "text", "text": "When is high tide?"}]},
                        {"role": "assistant", "content": [
                            {"type": "tool_use", "id": "c1", "name": "tide", "input": {"port": "Kiel"}},
                        ]},
                        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "14:05"}]},
                        {"role": "assistant", "content": [{"type": "text", "text": "At 14:05."}]},
                        {"role": "user", "content": [
                            {"type": "text", "text": "Thanks, \"界\"\n"},
                        ]},
                    ],
                })
            );
        });
    }

    #[test]
    fn the_conversation_begins_with_the_user_and_ends_without_white_space() {
        let call = ToolCall { id: "c1".into(), name: "t".into(), arguments_json: "{}".into() };
        let conversation = [
            ConversationMessage::new(Role::Assistant, "Welcome."),
            ConversationMessage { tool_calls: vec![call], ..ConversationMessage::new(Role::Assistant, "") },
            ConversationMessage { tool_call_id: "c1".into(), ..ConversationMessage::new(Role::Tool, "x") },
            ConversationMessage::new(Role::User, " \n"),
            ConversationMessage::new(Role::User, "hi \n"),
            ConversationMessage::new(Role::Assistant, "Go on: \n"),
        ];
        let prompt = sample::prompt(conversation.iter().map(sample::carried).collect());
        let rendered = messages(&prompt);
        assert_eq!(
            json(&rendered),
            json!({"messages": [
                {"role": "user", "content": [{"type": "text", "text": "hi \n", "cache_control": {"type": "ephemeral"}}]},
                {"role": "assistant", "content": [{"type": "text", "text": "Go on:"}]},
            ]})
        );
        let [finding] = &rendered.findings[..] else { panic!("{:?}", rendered.findings) };
        assert!(finding.message.starts_with("3 messages before the user's first"), "{}", finding.message);
        assert_eq!(rendered.losses().count(), 1);
    }

    #[test]
    fn a_breakpoint_is_on_a_messages_last_block() {
        let call = |id: &str| ToolCall { id: id.into(), name: "t".into(), arguments_json: "{}".into() };
        let calling = ConversationMessage {
            tool_calls: vec![call("a"), call("b")],
            ..ConversationMessage::new(Role::Assistant, "I look.")
        };
        let mut blocks = blocks_of(&calling);
        mark(&mut blocks);
        let marked: Vec<bool> = blocks.iter().map(|block| block.get("cache_control").is_some()).collect();
        assert_eq!(marked, [false, false, true]);
    }

    fn blocks_of(message: &ConversationMessage) -> Vec<Value> {
        let prompt = sample::prompt(vec![sample::carried(message)]);
        blocks(
            &Fragment::new(&prompt, IDS, ProviderTable::built_in().of(RenderFormat::AnthropicMessages)),
            0,
            &prompt.messages[0],
        )
    }

    #[test]
    fn neighbours_of_one_role_are_one_message_and_blanks_none() {
        let conversation = [
            ConversationMessage::new(Role::User, "a"),
            ConversationMessage::new(Role::User, "b"),
            ConversationMessage::new(Role::Assistant, " "),
            ConversationMessage::new(Role::User, "c"),
        ];
        let rendered = json(&messages(&sample::prompt(conversation.iter().map(sample::carried).collect())));
        let texts: Vec<_> =
            rendered["messages"][0]["content"].as_array().unwrap().iter().filter_map(|b| b["text"].as_str()).collect();
        assert_eq!((texts, rendered["messages"].as_array().unwrap().len()), (vec!["a", "b", "c"], 1));
        assert_eq!(rendered.get("system"), None);
    }
}
