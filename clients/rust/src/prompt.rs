//! A prompt, and how it is given to a provider.

use std::{fmt, ops::Deref, str::FromStr, time::Duration};

use serde_json::{Map, Value, json};
use tonic::Code;

use crate::{Assemble, Error, proto};

/// What `rendered` is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The texts of the system, as one.
    Text,
    /// Chat Completions.
    OpenaiChat,
    /// Responses.
    OpenaiResponses,
    /// Messages.
    AnthropicMessages,
    /// `generateContent`.
    Gemini,
    /// Chat Completions of OpenRouter.
    OpenrouterChat,
    /// Converse.
    BedrockConverse,
}

const FORMATS: [(Format, &str, proto::RenderFormat); 7] = [
    (Format::Text, "text", proto::RenderFormat::Text),
    (Format::OpenaiChat, "openai-chat", proto::RenderFormat::OpenaiChat),
    (Format::OpenaiResponses, "openai-responses", proto::RenderFormat::OpenaiResponses),
    (Format::AnthropicMessages, "anthropic-messages", proto::RenderFormat::AnthropicMessages),
    (Format::Gemini, "gemini", proto::RenderFormat::Gemini),
    (Format::OpenrouterChat, "openrouter-chat", proto::RenderFormat::OpenrouterChat),
    (Format::BedrockConverse, "bedrock-converse", proto::RenderFormat::BedrockConverse),
];

impl Format {
    pub(crate) fn number(self) -> proto::RenderFormat {
        FORMATS.iter().find(|(format, ..)| *format == self).map_or(proto::RenderFormat::Unspecified, |row| row.2)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORMATS.iter().find(|(format, ..)| format == self).map_or("", |row| row.1))
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        FORMATS.iter().find(|row| row.1 == name).map(|row| row.0).ok_or_else(|| {
            let known: Vec<_> = FORMATS.iter().map(|row| row.1).collect();
            let message = format!("there is no format `{name}`; there are: {}", known.join(", "));
            Error::own(Code::InvalidArgument, message)
        })
    }
}

/// The prompt of one turn: the fields of the contract's answer, and these.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// The answer. Its `rendered` is in `fragment`, read.
    pub answer: proto::AssemblePromptResponse,
    /// What `fragment` is for.
    pub format: Option<Format>,
    /// What is rendered: text for [`Format::Text`], else JSON.
    pub fragment: Value,
    /// The call's name in the server's log.
    pub request_id: String,
    /// Set where this is an answer of before, because no server could be reached: how long ago the server last confirmed it.
    pub stale: Option<Duration>,
}

impl Deref for Prompt {
    type Target = proto::AssemblePromptResponse;

    fn deref(&self) -> &Self::Target {
        &self.answer
    }
}

impl Prompt {
    pub(crate) fn read(
        call: &Assemble,
        mut answer: proto::AssemblePromptResponse,
        request_id: String,
    ) -> Result<Self, Error> {
        if call.request.reference_conversation {
            let said = call.request.turn.as_ref().and_then(|turn| turn.conversation.as_ref());
            for message in &mut answer.messages {
                put_back(message, said);
            }
        }
        let fragment = match call.format {
            None => Value::Null,
            Some(Format::Text) => answer.rendered.clone().into(),
            Some(_) if answer.rendered.is_empty() => Value::Null,
            Some(_) => serde_json::from_str(&answer.rendered).map_err(|error| {
                Error::own(Code::Internal, format!("`rendered` of the answer is not JSON: {error}"))
            })?,
        };
        Ok(Self { answer, format: call.format, fragment, request_id, stale: None })
    }

    /// Fields of a request of Chat Completions, or of Responses for [`Format::OpenaiResponses`].
    pub fn for_openai(&self) -> Result<Map<String, Value>, Error> {
        self.fields("for_openai", &[Format::OpenaiChat, Format::OpenaiResponses, Format::OpenrouterChat])
    }

    /// Fields of a request of Messages.
    pub fn for_anthropic(&self) -> Result<Map<String, Value>, Error> {
        self.fields("for_anthropic", &[Format::AnthropicMessages])
    }

    /// Fields of a request of `generateContent`.
    pub fn for_gemini(&self) -> Result<Map<String, Value>, Error> {
        self.fields("for_gemini", &[Format::Gemini])
    }

    /// Fields of a request of Converse.
    pub fn for_bedrock(&self) -> Result<Map<String, Value>, Error> {
        self.fields("for_bedrock", &[Format::BedrockConverse])
    }

    fn fields(&self, method: &str, formats: &[Format]) -> Result<Map<String, Value>, Error> {
        match &self.fragment {
            Value::Object(fields) if self.format.is_some_and(|format| formats.contains(&format)) => Ok(fields.clone()),
            _ => {
                let format = self.format.map_or_else(|| json!(null).to_string(), |format| format.to_string());
                let help = format!("assemble it with Format::{:?} to call {method}()", formats[0]);
                Err(Error::own(Code::FailedPrecondition, format!("the format of this prompt is {format}; {help}")))
            }
        }
    }
}

/// The text of a message that the service left out because the request has it.
fn put_back(message: &mut proto::PromptMessage, said: Option<&proto::Conversation>) {
    let index = message.conversation_index.and_then(|index| usize::try_from(index).ok());
    if let (Some(index), Some(said), true) = (index, said, message.content.is_empty() && !message.not_modified)
        && let Some(own) = said.messages.get(index)
    {
        message.content.clone_from(&own.content);
    }
}
