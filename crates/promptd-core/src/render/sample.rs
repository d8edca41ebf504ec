//! A prompt for the tests of every format.

use std::borrow::Cow;

use serde_json::Value;

use super::Rendered;
use crate::{
    digest::Digest,
    profile::{CachePlacement, Stability},
    prompt::{CachePlan, CachePrefix, ConversationOrigin, Message, Prompt, Size},
    turn::{ConversationMessage, Role, ToolCall},
};

/// A stable message.
pub(super) fn message(role: Role, content: &str) -> Message<'_> {
    of(Stability::Stable, role, content)
}

/// A message whose sections are all of one stability.
pub(super) fn of(stability: Stability, role: Role, content: &str) -> Message<'_> {
    let bytes = |most: Stability| if stability <= most { content.len() as u64 } else { 0 };
    let (stable, session_bytes) = (bytes(Stability::Stable), bytes(Stability::Session));
    Message {
        role,
        name: "own",
        content: Cow::Borrowed(content),
        ephemeral: false,
        digest: Digest::default(),
        size: Size::default(),
        stability,
        cache_prefix: Cow::Owned(CachePrefix { bytes: stable, session_bytes, ..CachePrefix::default() }),
        memo: None,
        origin: None,
    }
}

pub(super) fn carried(original: &ConversationMessage) -> Message<'_> {
    let origin = Some(ConversationOrigin { index: 0, message: original, unchanged: true });
    Message { name: "", origin, ..of(Stability::Volatile, original.role, &original.content) }
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
        of(Stability::Volatile, Role::System, "FACTS"),
        message(Role::System, "CONTEXT"),
    ];
    messages.extend(conversation.iter().map(carried));
    messages.push(Message { ephemeral: true, ..of(Stability::Volatile, Role::System, "EPHEMERAL") });
    test(&prompt(messages));
}
