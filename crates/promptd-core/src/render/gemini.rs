//! Gemini: `generateContent`.

use serde_json::{Map, Value, json};

use super::{
    Fragment, IdRule, ProviderTable, RenderFormat, Rendered, arguments, tool_calls,
    turns::{Speaker, Turns},
};
use crate::prompt::{Message, Prompt};

/// Results are matched by name; ids are for the caller, and of any form.
pub(super) const IDS: IdRule = IdRule { provider: "Gemini", max_bytes: 64, characters: None };

/// `systemInstruction`, one part a system message wherever it was, and `contents`.
///
/// Messages of one role that follow each other are one content of several parts; blank texts have no part. A tool
/// result is named after the call that it answers; the conversation begins with the user. Speakers' names have no place there.
pub(super) fn generate_content(prompt: &Prompt<'_>) -> Rendered {
    let fragment = Fragment::new(prompt, IDS, ProviderTable::built_in().of(RenderFormat::Gemini))
        .beginning_with_the_user(IDS.provider);
    let all = Turns::new(&fragment, |index, message| parts(&fragment, index, message));
    let mut out = Map::new();
    if !all.system.is_empty() {
        out.insert("systemInstruction".into(), json!({ "parts": all.system }));
    }
    let content = |(speaker, parts)| {
        let role = match speaker {
            Speaker::User => "user",
            Speaker::Model => "model",
        };
        json!({ "role": role, "parts": parts })
    };
    out.insert("contents".into(), all.turns.into_iter().map(content).collect());
    fragment.rendered(&Value::Object(out))
}

fn parts(fragment: &Fragment<'_>, index: usize, message: &Message<'_>) -> Vec<Value> {
    if let Some(result) = fragment.ids.result(index) {
        let answer = json!({ "id": result.id, "name": result.name, "response": { "output": message.content } });
        return vec![json!({ "functionResponse": answer })];
    }
    let mut parts = Vec::new();
    if !message.content.trim().is_empty() {
        parts.push(json!({ "text": message.content }));
    }
    for (call, id) in tool_calls(message).iter().zip(fragment.ids.calls(index)) {
        parts.push(json!({ "functionCall": { "id": id, "name": call.name, "args": arguments(call) } }));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{
        super::sample::{self, json},
        *,
    };
    use crate::turn::{ConversationMessage, Role};

    #[test]
    fn blank_texts_have_no_part() {
        let said = [
            ConversationMessage::new(Role::System, "\u{85}"),
            ConversationMessage::new(Role::User, "hi"),
            ConversationMessage::new(Role::Assistant, " \n"),
        ];
        let rendered = generate_content(&sample::prompt(said.iter().map(sample::carried).collect()));
        assert_eq!(json(&rendered), json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}));
    }

    #[test]
    fn system_is_apart_and_tools_are_parts() {
        sample::with_prompt(|prompt| {
            assert_eq!(
                json(&generate_content(prompt)),
                json!({
                    "systemInstruction": {"parts": [
                        {"text": "SKELETON"}, {"text": "FACTS"}, {"text": "CONTEXT"}, {"text": "EPHEMERAL"},
                    ]},
                    "contents": [
                        {"role": "user", "parts": [{"text": "When is high tide?"}]},
                        {"role": "model", "parts": [
                            {"functionCall": {"id": "c1", "name": "tide", "args": {"port": "Kiel"}}},
                        ]},
                        {"role": "user", "parts": [
                            {"functionResponse": {"id": "c1", "name": "tide", "response": {"output": "14:05"}}},
                        ]},
                        {"role": "model", "parts": [{"text": "At 14:05."}]},
                        {"role": "user", "parts": [{"text": "Thanks, \"界\"\n"}]},
                    ],
                })
            );
        });
    }
}
