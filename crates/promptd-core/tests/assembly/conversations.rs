//! Random conversations: texts, calls with results in any order or none, orphans, ids of every kind.

use promptd_core::{
    profile::Profile,
    turn::{ConversationMessage, Role, ToolCall},
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A part of a conversation.
#[derive(Debug, Clone)]
pub enum Part {
    Said(Role, String),
    /// Calls by id and name; the order in which they are answered, `None`: not at all; what is said between the results.
    Called(String, Vec<(String, String)>, Vec<Option<usize>>, Option<String>),
    Orphan(String),
}

fn words() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", " ", "\n", "hello", "go on \n", "界 ", "x"]).prop_map(str::to_owned)
}

fn id() -> impl Strategy<Value = String> {
    let ids =
        ["call_0", "call_0", "call_1", "functions.read:0", "functions_read_0", "call_0_2", "界", "a b", "toolu_01"];
    prop_oneof![
        8 => prop::sample::select(ids.to_vec()).prop_map(str::to_owned),
        1 => (30_usize..90).prop_map(|length| "i".repeat(length)),
    ]
}

pub fn part() -> impl Strategy<Value = Part> {
    let role = prop::sample::select(vec![Role::User, Role::User, Role::Assistant, Role::Assistant, Role::System]);
    let call = (id(), prop::sample::select(vec!["read", "write", "list"]).prop_map(str::to_owned));
    let answer = prop_oneof![9 => (0_usize..4).prop_map(Some), 1 => Just(None)];
    let called =
        (words(), prop::collection::vec(call, 1..4), prop::collection::vec(answer, 4), prop::option::of(words()));
    prop_oneof![
        6 => (role, words()).prop_map(|(role, words)| Part::Said(role, words)),
        4 => called.prop_map(|(said, calls, order, between)| Part::Called(said, calls, order, between)),
        1 => id().prop_map(Part::Orphan),
    ]
}

fn result(id: &str, content: &str) -> ConversationMessage {
    ConversationMessage { tool_call_id: id.into(), ..ConversationMessage::new(Role::Tool, content) }
}

pub fn conversation(parts: &[Part]) -> Vec<ConversationMessage> {
    let mut messages = Vec::new();
    for part in parts {
        match part {
            Part::Said(role, words) => messages.push(ConversationMessage::new(*role, words)),
            Part::Orphan(id) => messages.push(result(id, "orphan")),
            Part::Called(words, calls, order, between) => {
                let call = |(id, name): &(String, String)| ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    arguments_json: "{}".into(),
                };
                let tool_calls = calls.iter().map(call).collect();
                messages.push(ConversationMessage { tool_calls, ..ConversationMessage::new(Role::Assistant, words) });
                let mut answers: Vec<(usize, &str)> =
                    calls.iter().zip(order).filter_map(|((id, _), order)| Some(((*order)?, id.as_str()))).collect();
                answers.sort_by_key(|(order, _)| *order);
                for (at, (_, id)) in answers.into_iter().enumerate() {
                    if let Some(between) = between.as_ref().filter(|_| at == 1) {
                        messages.push(ConversationMessage::new(Role::User, between));
                    }
                    messages.push(result(id, if at == 0 { "" } else { "found" }));
                }
            }
        }
    }
    messages
}

/// Limits, where the profile has any, so small that they cut.
pub fn inputs(profile: &Profile, limit: u8) -> Map<String, Value> {
    let small = [
        ("window", json!(limit % 12 + 1)),
        ("max_context_tokens", json!(u16::from(limit) * 4)),
        ("max_tool_result_chars", json!(limit % 5)),
    ];
    let declared = |name: &str| profile.inputs.iter().any(|input| input.field.name == name);
    small.into_iter().filter(|(name, _)| declared(name)).map(|(name, value)| (name.to_owned(), value)).collect()
}
