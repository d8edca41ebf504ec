//! Gemini: `generateContent`.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::{arguments, tool_call_id, tool_calls};
use crate::{
    prompt::{Message, Prompt},
    turn::Role,
};

/// `systemInstruction`, one part a system message wherever it stood, and `contents`.
///
/// Messages of one role that follow each other are one content of several parts; empty texts have no part. A tool
/// result is named after the call that it answers. Speakers' names have no place there.
pub(super) fn generate_content(prompt: &Prompt<'_>) -> Value {
    let mut system: Vec<Value> = Vec::new();
    let mut contents: Vec<(&'static str, Vec<Value>)> = Vec::new();
    let mut called: HashMap<&str, &str> = HashMap::new();
    for message in &prompt.messages {
        called.extend(tool_calls(message).iter().map(|call| (call.id.as_str(), call.name.as_str())));
        let mut parts = parts(message, &called);
        let role = match message.role {
            Role::System => {
                system.append(&mut parts);
                continue;
            }
            Role::User | Role::Tool => "user",
            Role::Assistant => "model",
        };
        match contents.last_mut() {
            Some((last, content)) if *last == role => content.append(&mut parts),
            _ if parts.is_empty() => {}
            _ => contents.push((role, parts)),
        }
    }
    let mut out = Map::new();
    if !system.is_empty() {
        out.insert("systemInstruction".into(), json!({ "parts": system }));
    }
    let content = |(role, parts): (&str, Vec<Value>)| json!({ "role": role, "parts": parts });
    out.insert("contents".into(), contents.into_iter().map(content).collect());
    Value::Object(out)
}

fn parts(message: &Message<'_>, called: &HashMap<&str, &str>) -> Vec<Value> {
    if let Some(id) = tool_call_id(message) {
        let own_name = message.origin.map_or("", |origin| origin.message.name.as_str());
        let name = called.get(id).copied().unwrap_or(if own_name.is_empty() { id } else { own_name });
        let answer = json!({ "id": id, "name": name, "response": { "output": message.content } });
        return vec![json!({ "functionResponse": answer })];
    }
    let mut parts = Vec::new();
    if !message.content.is_empty() {
        parts.push(json!({ "text": message.content }));
    }
    for call in tool_calls(message) {
        parts.push(json!({ "functionCall": { "id": call.id, "name": call.name, "args": arguments(call) } }));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{super::sample, *};

    #[test]
    fn system_is_apart_and_tools_are_parts() {
        sample::with_prompt(|prompt| {
            assert_eq!(
                generate_content(prompt),
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
