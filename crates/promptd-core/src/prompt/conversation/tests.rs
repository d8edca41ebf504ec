use std::{
    collections::HashSet,
    sync::{Arc, LazyLock},
    time::Instant,
};

use crate::time::Moment;
use proptest::prelude::*;

use crate::{
    id::Id,
    profile::ProfileSet,
    prompt::{ConversationOrigin, Message, Outcome, Prepared, Prompt, assemble},
    settings::Settings,
    text::clamped,
    turn::{Conversation, ConversationMessage, Role, Segment, ToolCall, Turn},
    workspace::{Load, MemoryTree, load},
};

static SNAPSHOT: LazyLock<Prepared> = LazyLock::new(|| {
    load(&Load {
        id: &Id::parse("ws").unwrap(),
        root: "/srv/ws",
        tree: &MemoryTree::default(),
        shared_skills: &[],
        profiles: Arc::new(ProfileSet::built_in()),
        settings: Arc::new(Settings::default()),
        previous: None,
    })
    .unwrap()
    .into()
});

fn turn(conversation: Conversation, inputs: &serde_json::Value) -> Turn {
    let inputs = inputs.as_object().cloned().unwrap_or_default();
    Turn { conversation, inputs, ..Turn::at(Moment::EPOCH) }
}

fn prompt<'a>(snapshot: &'a Prepared, profile: &str, turn: &'a Turn) -> Prompt<'a> {
    assemble(snapshot, snapshot.profiles.get(profile).unwrap(), turn).unwrap()
}

#[test]
fn ten_thousand_messages_and_a_thousand_segments_take_a_moment() {
    let snapshot = &*SNAPSHOT;
    let message = |n: usize| match n % 4 {
        0 => ConversationMessage::new(Role::User, &"ask ".repeat(20)),
        1 => {
            let call = ToolCall { id: "c".into(), name: "t".into(), arguments_json: "{}".into() };
            ConversationMessage { tool_calls: vec![call], ..ConversationMessage::new(Role::Assistant, "") }
        }
        2 => ConversationMessage {
            tool_call_id: "c".into(),
            ..ConversationMessage::new(Role::Tool, &"out ".repeat(100))
        },
        _ => ConversationMessage { id: n.to_string(), ..ConversationMessage::new(Role::Assistant, "done") },
    };
    let segment = |n: u64| Segment {
        id: n.to_string(),
        parent_id: if n < 100 { String::new() } else { (n % 100).to_string() },
        level: u32::from(n < 100),
        message_start: if n < 100 { n * 90 } else { n % 100 * 90 + n / 100 * 9 },
        message_end: if n < 100 { n * 90 + 90 } else { n % 100 * 90 + n / 100 * 9 + 9 },
        summary: "They spoke.".into(),
        summary_tokens: if n < 100 { 300 } else { 40 },
        ..Segment::default()
    };
    let conversation = Conversation {
        messages: (0..10_000).map(message).collect(),
        segments: (0..1_000).map(segment).collect(),
        first_index: 0,
    };
    let inputs = serde_json::json!({"max_context_tokens": 50_000, "max_tool_result_chars": 50});
    for (profile, inputs) in
        [("kern", &inputs), ("five-layer", &serde_json::Value::Null), ("airi", &serde_json::Value::Null)]
    {
        let turn = turn(conversation.clone(), inputs);
        let begun = Instant::now();
        let prompt = prompt(snapshot, profile, &turn);
        assert!(begun.elapsed().as_secs() < 5, "{profile}: far beyond what n log n takes, on any machine");
        let carried = prompt.messages.iter().filter(|message| message.origin.is_some()).count();
        let cut = prompt.sections.iter().filter(|section| section.id.starts_with("conversation/")).count();
        let shown = prompt.sections.iter().filter(|section| section.id.starts_with("conversation_summary/")).count();
        match profile {
            "kern" => {
                assert!((200..1_000).contains(&carried), "{carried}");
                assert_eq!(cut, carried / 4);
                assert!(shown > 100, "{shown}");
            }
            "five-layer" => assert_eq!((carried, cut, shown), (12, 0, 0)),
            _ => assert_eq!((carried, cut, shown), (20, 0, 0)),
        }
    }
}

/// The system message, the newest user message and a multiple of twenty before it, counted in the window; the recalled
/// passages before them are not marked.
#[test]
fn a_provider_is_asked_to_keep_what_stays() {
    let speak = |n: usize| {
        ConversationMessage::new(if n.is_multiple_of(2) { Role::User } else { Role::Assistant }, &format!("m{n}"))
    };
    for (count, marked) in [(3, &[][..]), (7, &["m0", "m6"]), (30, &["m20", "m28"])] {
        let conversation = Conversation { messages: (0..count).map(speak).collect(), ..Conversation::default() };
        let turn = turn(conversation, &serde_json::json!({"recall": [{"text": "found"}]}));
        let prompt = prompt(&SNAPSHOT, "kern", &turn);
        let rendered = crate::render::render(&prompt, crate::render::RenderFormat::AnthropicMessages);
        let json: serde_json::Value = serde_json::from_str(&rendered.text).unwrap();
        let is_marked = |block: &&serde_json::Value| block.get("cache_control").is_some();
        assert_eq!(json["system"].as_array().unwrap().iter().filter(is_marked).count(), 1, "{count}");
        let blocks = json["messages"].as_array().unwrap().iter().flat_map(|m| m["content"].as_array().unwrap());
        let texts: Vec<_> = blocks.filter(is_marked).map(|block| block["text"].as_str().unwrap()).collect();
        assert_eq!(texts, marked, "{count}");
    }
}

fn any_message() -> impl Strategy<Value = ConversationMessage> {
    let role = prop::sample::select(vec![Role::System, Role::User, Role::Assistant, Role::Tool]);
    let id = || prop::sample::select(vec!["", "", "a", "b"]);
    (role, "\\PC{0,30}", id(), id(), prop::collection::vec(id(), 0..3)).prop_map(
        |(role, content, id, result_of, calls)| {
            let call = |id: &&str| ToolCall { id: (*id).into(), name: "t".into(), arguments_json: "{}".into() };
            let tool_calls = if role == Role::Assistant { calls.iter().map(call).collect() } else { Vec::new() };
            ConversationMessage {
                id: id.into(),
                tool_call_id: result_of.into(),
                tool_calls,
                ..ConversationMessage::new(role, &content)
            }
        },
    )
}

fn any_segment() -> impl Strategy<Value = Segment> {
    let position = || prop_oneof![0_u64..40, Just(u64::MAX)];
    (any::<u8>(), any::<u8>(), 0_u32..4, position(), position(), any::<u32>()).prop_map(
        |(id, parent, level, message_start, message_end, summary_tokens)| Segment {
            id: (id % 8).to_string(),
            parent_id: (parent % 8).to_string(),
            level,
            message_start,
            message_end,
            summary: "s".into(),
            summary_tokens,
            ..Segment::default()
        },
    )
}

proptest! {
    #[test]
    fn any_conversation_is_carried_or_reported(
        messages in prop::collection::vec(any_message(), 0..30),
        segments in prop::collection::vec(any_segment(), 0..8),
        first_index in prop_oneof![0_u64..40, Just(u64::MAX)],
        max in prop_oneof![0_i64..400, Just((1_i64 << 53) - 1)],
        share in 0_u8..5,
        chars in 0_i64..20,
    ) {
        let snapshot = &*SNAPSHOT;
        let conversation = Conversation { messages, segments, first_index };
        let inputs = serde_json::json!({
            "max_context_tokens": max, "summary_budget": f64::from(share) / 4.0, "max_tool_result_chars": chars,
        });
        for profile in ["kern", "five-layer", "airi"] {
            let inputs = if profile == "kern" { inputs.clone() } else { serde_json::Value::Null };
            let turn = turn(conversation.clone(), &inputs);
            let prompt = prompt(snapshot, profile, &turn);
            prop_assert_eq!(prompt.digest, self::prompt(snapshot, profile, &turn).digest);
            let all = &turn.conversation.messages;
            let carried: Vec<_> = prompt.messages.iter().filter_map(|m| Some((m, m.origin?))).collect();
            let indices: HashSet<u32> = carried.iter().map(|(_, c)| c.index).collect();
            prop_assert_eq!(indices.len(), carried.len(), "a message is carried twice");
            for (message, from) in &carried {
                prop_assert_eq!(from.message, &all[from.index as usize]);
                let id = format!("conversation/{}", from.index);
                let cut = prompt.sections.iter().any(|section| section.id == id && section.outcome == Outcome::Truncated);
                let whole = message.content.ends_with(&from.message.content);
                prop_assert!(whole != cut, "{} {:?}", id, message.content);
            }
            let is_answered = |(at, (_, from)): (usize, &(&Message<'_>, ConversationOrigin<'_>))| {
                let calls = &from.message.tool_calls;
                let answers = carried.iter().skip(at + 1).take(calls.len());
                let answers: Vec<_> = answers.map(|(_, from)| &from.message.tool_call_id).collect();
                answers == calls.iter().map(|call| &call.id).collect::<Vec<_>>()
            };
            prop_assert!(carried.iter().enumerate().all(is_answered), "every call has its results after it");
            let results = carried.iter().filter(|(message, _)| message.role == Role::Tool).count();
            prop_assert_eq!(results, carried.iter().map(|(_, from)| from.message.tool_calls.len()).sum::<usize>());
            let mut first_of_id = HashSet::new();
            let is_distinct =
                |m: &ConversationMessage| profile != "five-layer" || m.id.is_empty() || first_of_id.insert(m.id.clone());
            let distinct: Vec<bool> = all.iter().map(is_distinct).collect();
            let newest = (0..all.len()).rev().find(|&index| all[index].role == Role::User && distinct[index]);
            prop_assert!(newest.is_none_or(|newest| indices.contains(&clamped(newest))), "the user's newest message");
        }
    }
}
