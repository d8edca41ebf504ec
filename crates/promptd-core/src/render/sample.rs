//! A prompt for the tests of every format.

use std::borrow::Cow;

use crate::{
    digest::Digest,
    profile::Stability,
    prompt::{CachePlan, Carried, Message, Prompt, Size},
    turn::{Role, Spoken, ToolCall},
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
        front: std::borrow::Cow::default(),
        memo: None,
        spoken: None,
    }
}

pub(super) fn carried(original: &Spoken) -> Message<'_> {
    let spoken = Some(Carried { index: 0, original, unchanged: true });
    Message { name: "", spoken, stability: Stability::Volatile, ..message(original.role, &original.content) }
}

pub(super) fn prompt(messages: Vec<Message<'_>>) -> Prompt<'_> {
    Prompt {
        messages,
        sections: Vec::new(),
        findings: Vec::new(),
        digest: Digest::default(),
        size: Size::default(),
        cache_plan: CachePlan::default(),
    }
}

/// Four system messages, one of them after a conversation that calls a tool.
pub(super) fn with_prompt(test: impl FnOnce(&Prompt<'_>)) {
    let call = ToolCall { id: "c1".into(), name: "tide".into(), arguments_json: r#"{"port":"Kiel"}"#.into() };
    let conversation = [
        Spoken { name: "Dana".into(), ..Spoken::new(Role::User, "When is high tide?") },
        Spoken { tool_calls: vec![call], ..Spoken::new(Role::Assistant, "") },
        Spoken { tool_call_id: "c1".into(), ..Spoken::new(Role::Tool, "14:05") },
        Spoken::new(Role::Assistant, "At 14:05."),
        Spoken { name: "Dana O'Neil".into(), ..Spoken::new(Role::User, "Thanks, \"界\"\n") },
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
