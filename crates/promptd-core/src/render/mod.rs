//! Prompts as what providers take: a request fragment of one of them, or plain text.
//!
//! A fragment has the messages alone: model, tools and parameters are the caller's. Roles, order, tool calls and tool
//! results are kept; texts are copied byte for byte. What a provider has no place for is named in its module.
//! `OpenAI` and Gemini cache prefixes on their own; for `OpenAI`'s `prompt_cache_key`, callers have the cache plan's digest.

mod anthropic;
mod bedrock;
mod breakpoints;
mod cache;
mod gemini;
mod openai;
mod openrouter;
mod providers;
#[cfg(test)]
mod sample;
mod text;
mod tool_ids;
mod turns;

pub use cache::{CachedPrefix, cached_prefixes};
pub use providers::{MinimumTokens, Provider, ProviderTable};
pub use text::messages as text_messages;

use serde_json::{Map, Value};

use self::tool_ids::{IdRule, ToolIds};
use crate::{
    finding::{Code, Finding, Place},
    profile::CachePlacement,
    prompt::{Behind, Message, Prompt},
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
    /// `system` and `messages` of Amazon Bedrock's Converse, with cache points.
    BedrockConverse,
    /// `messages` of `OpenRouter`'s Chat Completions, with cache breakpoints.
    OpenrouterChat,
    /// `systemInstruction` and `contents` of Gemini's `generateContent`.
    Gemini,
}

impl RenderFormat {
    /// Every format.
    pub const ALL: [Self; 7] = [
        Self::Text,
        Self::OpenaiChat,
        Self::OpenaiResponses,
        Self::AnthropicMessages,
        Self::BedrockConverse,
        Self::OpenrouterChat,
        Self::Gemini,
    ];

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
            Self::BedrockConverse => "bedrock-converse",
            Self::OpenrouterChat => "openrouter-chat",
            Self::Gemini => "gemini",
        }
    }
}

/// A prompt in a format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// JSON on one line, or the plain text.
    pub text: String,
    /// What the format changed or left out, so that the provider accepts the fragment.
    pub findings: Vec<Finding>,
    /// Where the system messages behind the conversation are; `None`: there are none that stay there.
    pub behind: Option<Behind>,
}

impl Rendered {
    /// The findings of what the format has no place for.
    pub fn losses(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.code == Code::ConversationTruncated)
    }
}

/// Renders a prompt in the format of a provider, or as plain text.
#[must_use]
pub fn render(prompt: &Prompt<'_>, format: RenderFormat) -> Rendered {
    match format {
        RenderFormat::Text => Rendered { text: text::render(prompt), ..Rendered::default() },
        RenderFormat::OpenaiChat => openai::chat(prompt),
        RenderFormat::OpenaiResponses => openai::responses(prompt),
        RenderFormat::AnthropicMessages => anthropic::messages(prompt),
        RenderFormat::BedrockConverse => bedrock::converse(prompt),
        RenderFormat::OpenrouterChat => openrouter::chat(prompt),
        RenderFormat::Gemini => gemini::generate_content(prompt),
    }
}

/// A prompt's messages as a provider accepts them.
struct Fragment<'p> {
    messages: &'p [Message<'p>],
    ids: ToolIds<'p>,
    /// Messages before this one are left out, system messages apart.
    first: usize,
    /// The system messages from this one on are behind the conversation, and how.
    trailing: Option<(usize, Behind)>,
    findings: Vec<Finding>,
}

impl<'p> Fragment<'p> {
    /// All messages, with ids of tool calls that the provider accepts.
    fn new(prompt: &'p Prompt<'p>, rule: IdRule, provider: &Provider) -> Self {
        let ids = ToolIds::new(&prompt.messages, rule);
        let findings = ids.finding(rule).into_iter().collect();
        Self { messages: &prompt.messages, ids, first: 0, trailing: trailing(prompt, provider), findings }
    }

    /// Less what comes before the first message of the user that has text, system messages apart.
    fn beginning_with_the_user(mut self, provider: &str) -> Self {
        let is_users = |message: &Message<'_>| message.role == Role::User && !message.content.trim().is_empty();
        self.first = self.messages.iter().position(is_users).unwrap_or(self.messages.len());
        let has_content =
            |message: &&Message<'_>| !message.content.trim().is_empty() || !tool_calls(message).is_empty();
        let is_left_out = |message: &&Message<'_>| message.role != Role::System && has_content(message);
        let left_out = self.messages[..self.first].iter().filter(is_left_out).count();
        if left_out > 0 {
            let message = format!(
                "{left_out} messages before the user's first are left out of `rendered`: {provider} refuses a \
                 conversation that does not begin with the user"
            );
            self.findings.push(Finding::new(Code::ConversationTruncated, Place::field("turn.conversation"), message));
        }
        self
    }

    /// The messages that are kept, with their indices.
    fn messages(&self) -> impl Iterator<Item = (usize, &'p Message<'p>)> {
        let first = self.first;
        self.messages.iter().enumerate().filter(move |(index, message)| *index >= first || message.role == Role::System)
    }

    fn rendered(self, json: &Value) -> Rendered {
        Rendered { text: json.to_string(), findings: self.findings, behind: self.trailing.map(|(_, behind)| behind) }
    }

    /// The role that a message has in the provider's request.
    fn role(&self, index: usize, message: &Message<'_>) -> Role {
        match self.trailing {
            Some((first, Behind::User)) if index >= first && message.role == Role::System => Role::User,
            _ => message.role,
        }
    }
}

/// The first message behind the conversation of a profile that keeps its system messages there, and how they are sent: as the
/// user's they need a conversation that the user has begun.
fn trailing(prompt: &Prompt<'_>, provider: &Provider) -> Option<(usize, Behind)> {
    if prompt.cache_placement != CachePlacement::Trailing {
        return None;
    }
    let messages = &prompt.messages;
    let first = messages.iter().rposition(|message| message.origin.is_some()).map_or(0, |last| last + 1);
    messages[first..].iter().find(|message| message.role == Role::System)?;
    let is_users = |message: &Message<'_>| {
        message.origin.is_some() && message.role == Role::User && !message.content.trim().is_empty()
    };
    let behind = match provider.behind_conversation {
        Some(Role::System) if first > 0 => Behind::System,
        Some(Role::User) if messages.iter().any(is_users) => Behind::User,
        _ => Behind::SystemPart,
    };
    Some((first, behind))
}

/// The tools that a message calls.
fn tool_calls<'a>(message: &Message<'a>) -> &'a [ToolCall] {
    message.origin.map_or(&[], |origin| origin.message.calls())
}

/// Characters that ids of tool calls have everywhere.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// A call's arguments, for providers that take an object. What is not an object, or has a number that would be rounded, is
/// kept as text under `arguments_json`.
fn arguments(call: &ToolCall) -> Value {
    if call.arguments_json.trim().is_empty() {
        return Value::Object(Map::new());
    }
    match serde_json::from_str(&call.arguments_json) {
        Ok(Value::Object(object)) if !object.values().any(is_rounded) => Value::Object(object),
        _ => serde_json::json!({ "arguments_json": call.arguments_json }),
    }
}

/// Whether a number in it may be another than was written: a whole one that 64 bits cannot hold is read as a double.
fn is_rounded(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            number.is_f64()
                && number.as_f64().is_some_and(|float| float.fract() == 0.0 && float.abs() >= 2_f64.powi(53))
        }
        Value::Array(items) => items.iter().any(is_rounded),
        Value::Object(fields) => fields.values().any(is_rounded),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
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
                let rendered = render(prompt, format).text;
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
        assert_eq!(call(r#"{"n":18446744073709551615,"x":1.5}"#), r#"{"n":18446744073709551615,"x":1.5}"#);
        let beyond = r#"{"a":[{"n":100000000000000000000001}]}"#;
        assert_eq!(call(beyond), serde_json::json!({ "arguments_json": beyond }).to_string());
    }
}
