//! Amazon Bedrock: Converse.

use serde_json::{Map, Value, json};

use super::{
    Fragment, IdRule, ProviderTable, RenderFormat, Rendered, anthropic, arguments, breakpoints::breakpoints, is_plain,
    tool_calls, turns::Turns,
};
use crate::prompt::{Message, Prompt};

/// The pattern and the length of `toolUseId`.
pub(super) const IDS: IdRule = IdRule { provider: "Bedrock", max_bytes: 64, characters: Some(is_plain) };

/// `system`, one block a system message wherever it was, and `messages`, with a `cachePoint` where a prefix ends that is
/// worth keeping.
///
/// Each block is one of a union, so that a cache point is a block behind the text, call or result that it keeps. Messages of
/// one role that follow each other are one message, blank texts have no block, the conversation begins with the user, and
/// white space at the end of a last message of the assistant is removed: the API refuses everything else. Speakers' names
/// have no place there.
pub(super) fn converse(prompt: &Prompt<'_>) -> Rendered {
    let fragment = Fragment::new(prompt, IDS, ProviderTable::built_in().of(RenderFormat::BedrockConverse))
        .beginning_with_the_user(IDS.provider);
    let marked = breakpoints(prompt, ProviderTable::built_in().of(RenderFormat::BedrockConverse));
    let mut all = Turns::new(&fragment, |index, message| {
        let mut blocks = blocks(&fragment, index, message);
        if marked.contains(&index) && !blocks.is_empty() {
            blocks.push(json!({ "cachePoint": { "type": "default" } }));
        }
        blocks
    });
    all.trim_end();
    let mut out = Map::new();
    if !all.system.is_empty() {
        out.insert("system".into(), all.system.into());
    }
    let turn = |(speaker, content)| json!({ "role": anthropic::role(speaker), "content": content });
    out.insert("messages".into(), all.turns.into_iter().map(turn).collect());
    fragment.rendered(&Value::Object(out))
}

fn blocks(fragment: &Fragment<'_>, index: usize, message: &Message<'_>) -> Vec<Value> {
    let mut blocks = Vec::new();
    if !message.content.trim().is_empty() {
        blocks.push(json!({ "text": message.content }));
    }
    if let Some(result) = fragment.ids.result(index) {
        return vec![json!({ "toolResult": { "toolUseId": result.id, "content": blocks } })];
    }
    for (call, id) in tool_calls(message).iter().zip(fragment.ids.calls(index)) {
        blocks.push(json!({ "toolUse": { "toolUseId": id, "name": call.name, "input": arguments(call) } }));
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::{
        super::sample::{self, json},
        *,
    };
    use crate::turn::{ConversationMessage, Role, ToolCall};

    fn of(conversation: &[ConversationMessage]) -> Value {
        json(&converse(&sample::prompt(conversation.iter().map(sample::carried).collect())))
    }

    #[test]
    fn a_cache_point_is_a_block_of_its_own() {
        sample::with_prompt(|prompt| {
            let kept = json!({"cachePoint": {"type": "default"}});
            assert_eq!(
                json(&converse(prompt)),
                json!({
                    "system": [
                        {"text": "SKELETON"}, kept, {"text": "FACTS"}, {"text": "CONTEXT"}, {"text": "EPHEMERAL"},
                    ],
                    "messages": [
                        {"role": "user", "content": [{"text": "When is high tide?"}]},
                        {"role": "assistant", "content": [
                            {"toolUse": {"toolUseId": "c1", "name": "tide", "input": {"port": "Kiel"}}},
                        ]},
                        {"role": "user", "content": [
                            {"toolResult": {"toolUseId": "c1", "content": [{"text": "14:05"}]}},
                        ]},
                        {"role": "assistant", "content": [{"text": "At 14:05."}]},
                        {"role": "user", "content": [{"text": "Thanks, \"界\"\n"}]},
                    ],
                })
            );
        });
    }

    #[test]
    fn results_are_one_message_and_blank_texts_no_block() {
        let call = |id: &str, json: &str| ToolCall { id: id.into(), name: "t".into(), arguments_json: json.into() };
        let result = |id: &str, text| ConversationMessage {
            tool_call_id: id.into(),
            ..ConversationMessage::new(Role::Tool, text)
        };
        let long = "x".repeat(65);
        let fragment = of(&[
            ConversationMessage::new(Role::User, "go"),
            ConversationMessage {
                tool_calls: vec![call("functions.read:0", "[1]"), call(&long, "")],
                ..ConversationMessage::new(Role::Assistant, "\n")
            },
            result("functions.read:0", "a"),
            result(&long, " "),
        ]);
        let uses = &fragment["messages"][1]["content"];
        assert_eq!(
            uses[0],
            json!({"toolUse": {"toolUseId": "functions_read_0", "name": "t", "input": {"arguments_json": "[1]"}}})
        );
        assert_eq!(uses[1]["toolUse"]["input"], json!({}));
        let shortened = uses[1]["toolUse"]["toolUseId"].as_str().unwrap();
        assert_eq!(shortened.len(), 64);
        assert_eq!(
            fragment["messages"][2],
            json!({"role": "user", "content": [
                {"toolResult": {"toolUseId": "functions_read_0", "content": [{"text": "a"}]}},
                {"toolResult": {"toolUseId": shortened, "content": []}},
            ]})
        );
    }

    #[test]
    fn a_last_message_of_the_assistant_ends_without_white_space() {
        let fragment = of(&[
            ConversationMessage::new(Role::Assistant, "Welcome."),
            ConversationMessage::new(Role::User, "hi \n"),
            ConversationMessage::new(Role::Assistant, "Go on: \n"),
        ]);
        assert_eq!(
            fragment,
            json!({"messages": [
                {"role": "user", "content": [{"text": "hi \n"}]},
                {"role": "assistant", "content": [{"text": "Go on:"}]},
            ]})
        );
        let mut marked: Vec<_> = (0..20).map(|_| ConversationMessage::new(Role::User, "x")).collect();
        marked.push(ConversationMessage::new(Role::Assistant, "Go on: \n"));
        marked.extend((0..5).map(|_| ConversationMessage::new(Role::User, " ")));
        let content = json!([{"text": "Go on:"}, {"cachePoint": {"type": "default"}}]);
        assert_eq!(of(&marked)["messages"][1], json!({"role": "assistant", "content": content}));
    }
}
