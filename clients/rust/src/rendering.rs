//! Renders a stale prompt for the providers, as far as that needs no service: no breakpoints of caches. The service renders all
//! others; docs/rules.md says how.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::{Format, PromptMessage, Role, ToolCall};

/// The fragment of a format; null where none was asked for.
pub(crate) fn render(format: Option<Format>, messages: &[PromptMessage]) -> Value {
    let system: Vec<&str> = messages.iter().filter(|one| one.role() == Role::System).map(|one| &*one.content).collect();
    let system: Vec<_> = system.into_iter().filter(|text| !text.is_empty()).collect();
    let talk: Vec<_> = messages.iter().filter(|one| one.role() != Role::System).collect();
    match format {
        None => Value::Null,
        Some(Format::Text) => system.join("\n\n").into(),
        Some(Format::OpenaiChat | Format::OpenrouterChat) => {
            json!({"messages": messages.iter().map(openai_chat).collect::<Vec<_>>()})
        }
        Some(Format::OpenaiResponses) => {
            let input: Vec<_> = talk.iter().flat_map(|one| openai_items(one)).collect();
            json!({"instructions": system.join("\n\n"), "input": input})
        }
        Some(Format::AnthropicMessages) => {
            let blocks: Vec<_> = system.iter().map(|text| json!({"type": "text", "text": text})).collect();
            json!({"system": blocks, "messages": turns(&talk, "assistant", "content", anthropic_blocks)})
        }
        Some(Format::BedrockConverse) => {
            let blocks: Vec<_> = system.iter().map(|text| json!({"text": text})).collect();
            json!({"system": blocks, "messages": turns(&talk, "assistant", "content", bedrock_blocks)})
        }
        Some(Format::Gemini) => {
            let names: HashMap<_, _> =
                talk.iter().flat_map(|one| &one.tool_calls).map(|call| (&*call.id, &*call.name)).collect();
            let parts: Vec<_> = system.iter().map(|text| json!({"text": text})).collect();
            let contents = turns(&talk, "model", "parts", |one| gemini_parts(one, &names));
            json!({"systemInstruction": {"parts": parts}, "contents": contents})
        }
    }
}

fn role(one: &PromptMessage) -> &'static str {
    match one.role() {
        Role::System => "system",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        Role::User | Role::Unspecified => "user",
    }
}

/// A message of Chat Completions.
fn openai_chat(one: &PromptMessage) -> Value {
    let mut message = json!({"role": role(one), "content": one.content});
    if one.role() == Role::Tool {
        message["tool_call_id"] = one.tool_call_id.clone().into();
    }
    if !one.tool_calls.is_empty() {
        if one.content.is_empty() {
            message["content"] = Value::Null;
        }
        let call = |call: &ToolCall| {
            let function = json!({"name": call.name, "arguments": call.arguments_json});
            json!({"id": call.id, "type": "function", "function": function})
        };
        message["tool_calls"] = one.tool_calls.iter().map(call).collect();
    }
    message
}

/// The items of Responses that a message is.
fn openai_items(one: &PromptMessage) -> Vec<Value> {
    if one.role() == Role::Tool {
        return vec![json!({"type": "function_call_output", "call_id": one.tool_call_id, "output": one.content})];
    }
    let text = (!one.content.is_empty()).then(|| json!({"type": "message", "role": role(one), "content": one.content}));
    let call = |call: &ToolCall| json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments_json});
    text.into_iter().chain(one.tool_calls.iter().map(call)).collect()
}

/// The conversation of a provider whose turns alternate; it begins with the user, who also gives the results of tools.
fn turns(talk: &[&PromptMessage], model: &str, key: &str, blocks: impl Fn(&PromptMessage) -> Vec<Value>) -> Vec<Value> {
    let mut made: Vec<Value> = Vec::new();
    for one in talk {
        let speaker = if one.role() == Role::Assistant { model } else { "user" };
        let said = blocks(one);
        match made.last_mut() {
            Some(last) if last["role"] == speaker => {
                if let Some(list) = last[key].as_array_mut() {
                    list.extend(said);
                }
            }
            None if speaker != "user" => {}
            _ if said.is_empty() => {}
            _ => made.push(json!({"role": speaker, key: said})),
        }
    }
    made
}

fn anthropic_blocks(one: &PromptMessage) -> Vec<Value> {
    if one.role() == Role::Tool {
        return vec![json!({"type": "tool_result", "tool_use_id": one.tool_call_id, "content": one.content})];
    }
    let text = (!one.content.is_empty()).then(|| json!({"type": "text", "text": one.content}));
    let call =
        |call: &ToolCall| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments(call)});
    text.into_iter().chain(one.tool_calls.iter().map(call)).collect()
}

fn bedrock_blocks(one: &PromptMessage) -> Vec<Value> {
    if one.role() == Role::Tool {
        return vec![json!({"toolResult": {"toolUseId": one.tool_call_id, "content": [{"text": one.content}]}})];
    }
    let text = (!one.content.is_empty()).then(|| json!({"text": one.content}));
    let call =
        |call: &ToolCall| json!({"toolUse": {"toolUseId": call.id, "name": call.name, "input": arguments(call)}});
    text.into_iter().chain(one.tool_calls.iter().map(call)).collect()
}

/// The parts of a message; a result names the function that gave it.
fn gemini_parts(one: &PromptMessage, names: &HashMap<&str, &str>) -> Vec<Value> {
    if one.role() == Role::Tool {
        let name = names.get(&*one.tool_call_id).copied().unwrap_or(&one.tool_call_id);
        let response = json!({"output": one.content});
        return vec![json!({"functionResponse": {"id": one.tool_call_id, "name": name, "response": response}})];
    }
    let text = (!one.content.is_empty()).then(|| json!({"text": one.content}));
    let call = |call: &ToolCall| json!({"functionCall": {"id": call.id, "name": call.name, "args": arguments(call)}});
    text.into_iter().chain(one.tool_calls.iter().map(call)).collect()
}

/// A call's arguments; what is not a JSON object is given as text, so that nothing is lost.
fn arguments(call: &ToolCall) -> Value {
    let text = if call.arguments_json.is_empty() { "{}" } else { &call.arguments_json };
    match serde_json::from_str(text) {
        Ok(parsed @ Value::Object(_)) => parsed,
        _ => json!({"arguments": call.arguments_json}),
    }
}
