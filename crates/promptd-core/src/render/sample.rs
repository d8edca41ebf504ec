//! A prompt for the tests of every format.

use std::borrow::Cow;

use serde_json::Value;

use super::Rendered;
use crate::{
    digest::Digest,
    profile::{CachePlacement, Stability},
    prompt::{CachePlan, ConversationOrigin, Message, Prompt, Size},
    turn::{ConversationMessage, Role, ToolCall},
};

pub(super) fn message(role: Role, content: &str) -> Message<'_> {
    Message {
        role,
        name: "own",
        content: Cow::Borrowed(content),
        ephemeral: false,
        digest: Digest::default(),
        size: Size::default(),
        stability: Stability::Stable,
        cache_prefix: std::borrow::Cow::default(),
        memo: None,
        origin: None,
    }
}

pub(super) fn carried(original: &ConversationMessage) -> Message<'_> {
    let origin = Some(ConversationOrigin { index: 0, message: original, unchanged: true });
    Message { name: "", origin, stability: Stability::Volatile, ..message(original.role, &original.content) }
}

/// The JSON of a fragment.
pub(super) fn json(rendered: &Rendered) -> Value {
    serde_json::from_str(&rendered.text).unwrap()
}

pub(super) fn prompt(messages: Vec<Message<'_>>) -> Prompt<'_> {
    Prompt {
        messages,
        cards: Vec::new(),
        sections: Vec::new(),
        findings: Vec::new(),
        digest: Digest::default(),
        size: Size::default(),
        cache_plan: CachePlan::default(),
        allowed_tools: Vec::new(),
        cache_placement: CachePlacement::Plan,
        conversation: None,
    }
}

/// Four system messages, one of them after a conversation that calls a tool.
pub(super) fn with_prompt(test: impl FnOnce(&Prompt<'_>)) {
    let call = ToolCall { id: "c1".into(), name: "tide".into(), arguments_json: r#"{"port":"Kiel"}"#.into() };
    let conversation = [
        ConversationMessage { name: "Dana".into(), ..ConversationMessage::new(Role::User, "When is high tide?") },
        ConversationMessage { tool_calls: vec![call], ..ConversationMessage::new(Role::Assistant, "") },
        ConversationMessage { tool_call_id: "c1".into(), ..ConversationMessage::new(Role::Tool, "14:05") },
        ConversationMessage::new(Role::Assistant, "At 14:05."),
        ConversationMessage { name: "Dana O'Neil".into(), ..ConversationMessage::new(Role::User, "Thanks, \"界\"\n") },
    ];
    let mut messages = vec![
        message(Role::System, "SKELETON"),
        Message { stability: Stability::Volatile, ..message(Role::System, "FACTS") },
        message(Role::System, "CONTEXT"),
    ];
    messages.extend(conversation.iter().map(carried));
    messages.push(Message { stability: Stability::Volatile, ephemeral: true, ..message(Role::System, "EPHEMERAL") });
    test(&prompt(messages));
}
