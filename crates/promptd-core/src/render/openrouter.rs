//! `OpenRouter`: Chat Completions with the cache marks of Anthropic's models.

use serde_json::{Value, json};

use super::{
    Fragment, IdRule, ProviderTable, RenderFormat, Rendered, breakpoints::breakpoints, is_plain, openai, tool_calls,
};
use crate::{
    prompt::{Message, Prompt},
    turn::Role,
};

/// Ids go on to the model's own provider; these are accepted by each.
pub(super) const IDS: IdRule = IdRule { provider: "OpenRouter", max_bytes: 40, characters: Some(is_plain) };

/// `messages` as of `OpenAI`'s Chat Completions, with `cache_control` where a prefix ends that is worth keeping. Models that
/// need no marks ignore them.
///
/// A system message is a list of one part, marked or not, so that its form never changes; so is a user's message that is
/// marked. Messages of the assistant and results of tools keep their text, and have the mark beside it.
///
/// Where the marks mean something the request goes on to Anthropic, whose rules hold: blank texts are left out, the
/// conversation begins with the user, and white space at the end of a last message of the assistant is removed.
pub(super) fn chat(prompt: &Prompt<'_>) -> Rendered {
    let fragment = Fragment::new(prompt, IDS, ProviderTable::built_in().of(RenderFormat::OpenrouterChat))
        .beginning_with_the_user(IDS.provider);
    let marked = breakpoints(prompt, ProviderTable::built_in().of(RenderFormat::OpenrouterChat));
    let message = |(index, message)| {
        let mut out = openai::chat_message(&fragment, index, message);
        if message.role == Role::Assistant && message.content.trim().is_empty() {
            out["content"] = Value::Null;
        }
        let is_marked = marked.binary_search(&index).is_ok();
        match fragment.role(index, message) {
            Role::System => as_part(&mut out, is_marked),
            Role::User if is_marked => as_part(&mut out, true),
            _ if is_marked => mark(&mut out),
            _ => {}
        }
        out
    };
    let mut messages: Vec<Value> = fragment.messages().filter(has_content).map(message).collect();
    trim_end(&mut messages);
    fragment.rendered(&json!({ "messages": messages }))
}

/// Whether anything of a message is sent: a result may be empty, and calls need no text.
fn has_content((_, message): &(usize, &Message<'_>)) -> bool {
    message.role == Role::Tool || !message.content.trim().is_empty() || !tool_calls(message).is_empty()
}

/// Removes white space at the end of a last message of the assistant.
fn trim_end(messages: &mut [Value]) {
    let Some(last) = messages.last_mut().filter(|last| last["role"] == Role::Assistant.as_str()) else { return };
    if let Some(Value::String(text)) = last.get_mut("content") {
        text.truncate(text.trim_end().len());
    }
}

/// Makes the content a list of one part, which has the mark.
fn as_part(message: &mut Value, is_marked: bool) {
    let mut part = json!({ "type": "text", "text": message["content"].take() });
    if is_marked {
        mark(&mut part);
    }
    message["content"] = json!([part]);
}

fn mark(value: &mut Value) {
    value["cache_control"] = json!({ "type": "ephemeral" });
}

#[cfg(test)]
mod tests {
    use super::{
        super::sample::{self, carried, json, message},
        *,
    };
    use crate::turn::{ConversationMessage, ToolCall};

    #[test]
    fn marks_are_where_each_role_has_them() {
        let call = ToolCall { id: "c 1".into(), name: "tide".into(), arguments_json: "{}".into() };
        let mut said: Vec<_> = (0..20)
            .map(|n| ConversationMessage::new(if n % 2 == 0 { Role::User } else { Role::Assistant }, "x"))
            .collect();
        said.push(ConversationMessage {
            tool_calls: vec![call],
            ..ConversationMessage::new(Role::Assistant, "I look.")
        });
        said.push(ConversationMessage { tool_call_id: "c 1".into(), ..ConversationMessage::new(Role::Tool, "14:05") });
        said.extend(["a", "b", "c", "d"].map(|text| ConversationMessage::new(Role::User, text)));
        let messages = [message(Role::System, "RULES"), message(Role::System, "FACTS")].into_iter();
        let rendered = chat(&sample::prompt(messages.chain(said.iter().map(carried)).collect()));
        let fragment = json(&rendered);
        let kept = json!({"type": "ephemeral"});
        let at = |index: usize| fragment["messages"][index].clone();
        assert_eq!(at(0), json!({"role": "system", "content": [{"type": "text", "text": "RULES"}]}));
        let marked = json!({"role": "system", "content": [{"type": "text", "text": "FACTS", "cache_control": kept}]});
        assert_eq!(at(1), marked);
        assert_eq!(at(2), json!({"role": "user", "content": "x"}));
        let calls = json!([{"id": "c_1", "type": "function", "function": {"name": "tide", "arguments": "{}"}}]);
        let marked = json!({"role": "assistant", "content": "I look.", "tool_calls": calls, "cache_control": kept});
        assert_eq!(at(22), marked);
        assert_eq!(at(23), json!({"role": "tool", "tool_call_id": "c_1", "content": "14:05"}));
        let marked = json!({"role": "user", "content": [{"type": "text", "text": "d", "cache_control": kept}]});
        assert_eq!(at(27), marked);
        assert_eq!(rendered.text.matches("cache_control").count(), 3);
    }

    #[test]
    fn what_anthropic_refuses_is_not_sent() {
        let calling = |text: &str| ConversationMessage {
            tool_calls: vec![ToolCall { id: "c1".into(), name: "t".into(), arguments_json: "{}".into() }],
            ..ConversationMessage::new(Role::Assistant, text)
        };
        let said = [
            ConversationMessage::new(Role::Assistant, "Welcome."),
            ConversationMessage::new(Role::User, "hi \n"),
            ConversationMessage::new(Role::System, ""),
            ConversationMessage::new(Role::Assistant, " \n"),
            calling(" "),
            ConversationMessage { tool_call_id: "c1".into(), ..ConversationMessage::new(Role::Tool, "") },
            ConversationMessage::new(Role::User, "\u{85}"),
            ConversationMessage::new(Role::Assistant, "Go on: \n"),
        ];
        let rendered = chat(&sample::prompt(said.iter().map(carried).collect()));
        let calls = json!([{"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"}}]);
        assert_eq!(
            json(&rendered),
            json!({"messages": [
                {"role": "user", "content": "hi \n"},
                {"role": "assistant", "content": null, "tool_calls": calls},
                {"role": "tool", "tool_call_id": "c1", "content": ""},
                {"role": "assistant", "content": "Go on:"},
            ]})
        );
        let [finding] = &rendered.findings[..] else { panic!("{:?}", rendered.findings) };
        assert!(finding.message.starts_with("1 messages before the user's first"), "{}", finding.message);
    }

    #[test]
    fn results_are_marked_beside_their_text() {
        let mut out = json!({"role": "tool", "tool_call_id": "c1", "content": "14:05"});
        mark(&mut out);
        let kept = json!({"type": "ephemeral"});
        assert_eq!(out, json!({"role": "tool", "tool_call_id": "c1", "content": "14:05", "cache_control": kept}));
    }
}
