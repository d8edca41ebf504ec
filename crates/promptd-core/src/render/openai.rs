//! `OpenAI`: Chat Completions and Responses.

use serde_json::{Map, Value, json};

use super::{BLANK_LINE, Fragment, IdRule, ProviderTable, RenderFormat, Rendered, tool_calls};
use crate::{
    prompt::{Message, Prompt},
    turn::{Role, ToolCall},
};

/// The smallest limit that the API has named when it refused a longer id; servers with the same API may still have it.
pub(super) const CHAT_IDS: IdRule = IdRule { provider: "OpenAI", max_bytes: 40, characters: None };
/// The API names this limit when it refuses a longer one.
pub(super) const RESPONSES_IDS: IdRule = IdRule { provider: "OpenAI", max_bytes: 64, characters: None };

/// The most characters of a speaker's name that Chat Completions takes.
const MAX_NAME_CHARS: usize = 64;

/// `messages`. System messages have the role `system`, which every model and every compatible server takes; newer
/// models read it as `developer`.
pub(super) fn chat(prompt: &Prompt<'_>) -> Rendered {
    let fragment = Fragment::new(prompt, CHAT_IDS, ProviderTable::built_in().of(RenderFormat::OpenaiChat));
    let messages: Vec<Value> =
        fragment.messages().map(|(index, message)| chat_message(&fragment, index, message)).collect();
    fragment.rendered(&json!({ "messages": messages }))
}

pub(super) fn chat_message(fragment: &Fragment<'_>, index: usize, message: &Message<'_>) -> Value {
    let mut out = Map::new();
    out.insert("role".into(), fragment.role(index, message).as_str().into());
    if let Some(name) = speaker(message) {
        out.insert("name".into(), name.into());
    }
    if let Some(result) = fragment.ids.result(index) {
        out.insert("tool_call_id".into(), result.id.as_str().into());
    }
    let calls = tool_calls(message);
    let content = if message.content.is_empty() && !calls.is_empty() { Value::Null } else { json!(message.content) };
    out.insert("content".into(), content);
    if !calls.is_empty() {
        let call = |(call, id): (&ToolCall, &String)| {
            json!({
                "id": id,
                "type": "function",
                "function": { "name": call.name, "arguments": call.arguments_json },
            })
        };
        out.insert("tool_calls".into(), calls.iter().zip(fragment.ids.calls(index)).map(call).collect());
    }
    Value::Object(out)
}

/// Who spoke, where the API would take the name: it refuses a whole request for one space in it.
fn speaker<'a>(message: &Message<'a>) -> Option<&'a str> {
    let name = message.origin?.message.name.as_str();
    let fits = (1..=MAX_NAME_CHARS).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        && matches!(message.role, Role::User | Role::Assistant);
    fits.then_some(name)
}

/// `instructions`, the system messages that come first, and `input`, everything else. Speakers' names have no place
/// there.
pub(super) fn responses(prompt: &Prompt<'_>) -> Rendered {
    let fragment = Fragment::new(prompt, RESPONSES_IDS, ProviderTable::built_in().of(RenderFormat::OpenaiResponses));
    let front = prompt.messages.iter().take_while(|message| message.role == Role::System).count();
    let first = &prompt.messages[..front];
    let mut out = Map::new();
    if !first.is_empty() {
        let texts: Vec<&str> = first.iter().map(|message| message.content.as_ref()).collect();
        out.insert("instructions".into(), texts.join(BLANK_LINE).into());
    }
    let rest = fragment.messages().skip(front);
    let items: Value = rest.flat_map(|(index, message)| input_items(&fragment, index, message)).collect();
    out.insert("input".into(), items);
    fragment.rendered(&Value::Object(out))
}

fn input_items(fragment: &Fragment<'_>, index: usize, message: &Message<'_>) -> Vec<Value> {
    if let Some(result) = fragment.ids.result(index) {
        return vec![json!({ "type": "function_call_output", "call_id": result.id, "output": message.content })];
    }
    let calls = tool_calls(message);
    let mut items = Vec::with_capacity(1 + calls.len());
    if !message.content.is_empty() || calls.is_empty() {
        items.push(
            json!({ "type": "message", "role": fragment.role(index, message).as_str(), "content": message.content }),
        );
    }
    for (call, id) in calls.iter().zip(fragment.ids.calls(index)) {
        items.push(json!({
            "type": "function_call",
            "call_id": id,
            "name": call.name,
            "arguments": call.arguments_json,
        }));
    }
    items
}

#[cfg(test)]
mod tests {
    use super::{
        super::sample::{self, json},
        *,
    };

    #[test]
    fn chat_keeps_roles_names_and_tools() {
        sample::with_prompt(|prompt| {
            let call = json!({"id": "c1", "type": "function", "function": {"name": "tide", "arguments": "{\"port\":\"Kiel\"}"}});
            assert_eq!(
                json(&chat(prompt)),
                json!({"messages": [
                    {"role": "system", "content": "SKELETON"},
                    {"role": "system", "content": "FACTS"},
                    {"role": "system", "content": "CONTEXT"},
                    {"role": "user", "name": "Dana", "content": "When is high tide?"},
                    {"role": "assistant", "content": null, "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": "c1", "content": "14:05"},
                    {"role": "assistant", "content": "At 14:05."},
                    {"role": "user", "content": "Thanks, \"界\"\n"},
                    {"role": "system", "content": "EPHEMERAL"},
                ]})
            );
        });
    }

    #[test]
    fn responses_puts_the_front_into_instructions() {
        sample::with_prompt(|prompt| {
            assert_eq!(
                json(&responses(prompt)),
                json!({
                    "instructions": "SKELETON\n\nFACTS\n\nCONTEXT",
                    "input": [
                        {"type": "message", "role": "user", "content": "When is high tide?"},
                        {"type": "function_call", "call_id": "c1", "name": "tide", "arguments": "{\"port\":\"Kiel\"}"},
                        {"type": "function_call_output", "call_id": "c1", "output": "14:05"},
                        {"type": "message", "role": "assistant", "content": "At 14:05."},
                        {"type": "message", "role": "user", "content": "Thanks, \"界\"\n"},
                        {"type": "message", "role": "system", "content": "EPHEMERAL"},
                    ],
                })
            );
        });
        assert_eq!(json(&responses(&sample::prompt(Vec::new()))), json!({"input": []}));
    }
}
