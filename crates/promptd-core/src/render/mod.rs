//! Prompts as what providers take: a request fragment of one of them, or plain text.
//!
//! A fragment has the messages alone: model, tools and parameters are the caller's. Roles, order, tool calls and tool
//! results are kept; texts are copied byte for byte. What a provider has no place for is named in its module.
//! `OpenAI` and Gemini cache prefixes on their own; for `OpenAI`'s `prompt_cache_key`, callers have the cache plan's digest.

mod anthropic;
mod breakpoints;
mod gemini;
mod openai;
#[cfg(test)]
mod sample;
mod text;

use serde_json::{Map, Value};

use crate::{
    prompt::{Message, Prompt},
    turn::{Role, ToolCall},
};

/// Between texts that are joined to one.
const BLANK_LINE: &str = "\n\n";

/// What a prompt can be rendered as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RenderFormat {
    /// All system messages, joined by a blank line.
    Text,
    /// `messages` of `OpenAI`'s Chat Completions and all that take the same.
    OpenaiChat,
    /// `instructions` and `input` of `OpenAI`'s Responses.
    OpenaiResponses,
    /// `system` and `messages` of Anthropic's Messages, with cache breakpoints.
    AnthropicMessages,
    /// `systemInstruction` and `contents` of Gemini's `generateContent`.
    Gemini,
}

impl RenderFormat {
    /// Every format.
    pub const ALL: [Self; 5] =
        [Self::Text, Self::OpenaiChat, Self::OpenaiResponses, Self::AnthropicMessages, Self::Gemini];

    /// The format of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }

    /// Its name, as the command line writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
            Self::Gemini => "gemini",
        }
    }
}

/// Renders a prompt: JSON on one line, or the plain text.
#[must_use]
pub fn render(prompt: &Prompt<'_>, format: RenderFormat) -> String {
    match format {
        RenderFormat::Text => text::render(prompt),
        RenderFormat::OpenaiChat => openai::chat(prompt).to_string(),
        RenderFormat::OpenaiResponses => openai::responses(prompt).to_string(),
        RenderFormat::AnthropicMessages => anthropic::messages(prompt).to_string(),
        RenderFormat::Gemini => gemini::generate_content(prompt).to_string(),
    }
}

/// The tools that a message calls.
fn tool_calls<'a>(message: &Message<'a>) -> &'a [ToolCall] {
    message.origin.map_or(&[], |origin| &origin.message.tool_calls)
}

/// The call that a message is the result of; none on any other message.
fn tool_call_id<'a>(message: &Message<'a>) -> Option<&'a str> {
    let id = message.origin.map_or("", |origin| origin.message.tool_call_id.as_str());
    (message.role == Role::Tool).then_some(id)
}

/// A call's arguments, for providers that take an object. What is not an object is kept as text under `arguments_json`.
fn arguments(call: &ToolCall) -> Value {
    if call.arguments_json.trim().is_empty() {
        return Value::Object(Map::new());
    }
    match serde_json::from_str(&call.arguments_json) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ => serde_json::json!({ "arguments_json": call.arguments_json }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_parse_back() {
        for format in RenderFormat::ALL {
            assert_eq!(RenderFormat::parse(format.as_str()), Some(format));
        }
        assert_eq!(RenderFormat::parse("json"), None);
    }

    #[test]
    fn every_format_carries_every_system_text_once() {
        sample::with_prompt(|prompt| {
            for format in RenderFormat::ALL {
                let rendered = render(prompt, format);
                for text in ["SKELETON", "FACTS", "CONTEXT", "EPHEMERAL"] {
                    assert_eq!(rendered.matches(text).count(), 1, "{text} in {rendered}");
                }
            }
        });
    }

    #[test]
    fn arguments_are_an_object_whatever_they_were() {
        let call = |json: &str| arguments(&ToolCall { arguments_json: json.into(), ..ToolCall::default() }).to_string();
        assert_eq!(call(" "), "{}");
        assert_eq!(call(r#"{"b":1,"a":[2]}"#), r#"{"b":1,"a":[2]}"#);
        assert_eq!(call("[1]"), r#"{"arguments_json":"[1]"}"#);
        assert_eq!(call("{oops"), r#"{"arguments_json":"{oops"}"#);
    }
}
