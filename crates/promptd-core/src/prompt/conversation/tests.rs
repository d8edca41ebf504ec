use std::{
    collections::HashSet,
    sync::{Arc, LazyLock},
    time::Instant,
};

use crate::time::Moment;
use proptest::prelude::*;
use serde_json::json;

use crate::{
    finding::Code,
    id::Id,
    profile::ProfileSet,
    prompt::{CarriedConversation, ConversationOrigin, Message, Outcome, Prepared, Prompt, SectionReport, assemble},
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
        ..Conversation::default()
    };
    let inputs = json!({"max_context_tokens": 50_000, "max_tool_result_chars": 50});
    for (profile, inputs) in
        [("kern", &inputs), ("five-layer", &serde_json::Value::Null), ("airi", &serde_json::Value::Null)]
    {
        let turn = turn(conversation.clone(), inputs);
        let begun = Instant::now();
        let prompt = prompt(snapshot, profile, &turn);
        assert!(begun.elapsed().as_secs() < 30, "{profile}: far beyond what n log n takes, on any machine");
        let carried = prompt.messages.iter().filter(|message| message.origin.is_some()).count();
        let cut = prompt.sections.iter().filter(|section| section.id.starts_with("conversation/")).count();
        let shown = prompt.sections.iter().filter(|section| section.id.starts_with("conversation_summary/")).count();
        match profile {
            "kern" => {
                // Those from 9,000 on are in no summary.
                assert!((1_000..1_010).contains(&carried), "{carried}");
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
        let turn = turn(conversation, &json!({"recall": [{"text": "found"}]}));
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

/// kern's own trials: 100 messages of 13,700 estimated tokens together, of which the messages have 1,000.
#[test]
fn the_cut_is_held_back_to_what_is_summarised() {
    let speak = |n: usize| {
        let role = if n.is_multiple_of(2) { Role::User } else { Role::Assistant };
        ConversationMessage::new(role, &format!("msg {n} {}", "x".repeat(400)))
    };
    let messages: Vec<_> = (0..100).map(speak).collect();
    for (why, ends, summarised_to, keeps, kept, uncovered) in [
        ("nothing is summarised yet", &[20][..], 0, true, 100..101, 0),
        ("summaries up to 40", &[20, 40], 40, true, 60..101, 0),
        ("all is summarised", &[20, 40, 60, 80, 99], 99, true, 1..60, 0),
        ("an odd end", &[41], 41, true, 60..61, 0),
        ("segments up to 80, summaries up to 40", &[20, 40, 60, 80], 40, true, 60..101, 0),
        ("the same, not held back", &[20, 40, 60, 80], 40, false, 6..7, 54),
        ("nothing is summarised, not held back", &[20], 0, false, 6..7, 94),
    ] {
        let starts = [0].iter().chain(ends);
        let segment = |(&message_start, &message_end): (&u64, &u64)| Segment {
            id: message_end.to_string(),
            message_start,
            message_end,
            summary: if message_end <= summarised_to { "They spoke.".into() } else { String::new() },
            ..Segment::default()
        };
        let segments = starts.zip(ends).map(segment).collect();
        let conversation = Conversation { messages: messages.clone(), segments, ..Conversation::default() };
        let inputs = json!({"max_context_tokens": 2000, "summary_budget": 0.5, "keep_unsummarised": keeps});
        let turn = turn(conversation, &inputs);
        let prompt = prompt(&SNAPSHOT, "kern", &turn);
        let carried: Vec<_> = prompt.messages.iter().filter(|message| message.origin.is_some()).collect();
        assert!(kept.contains(&carried.len()), "{why}: {}", carried.len());
        assert_eq!(carried[0].role, Role::User, "{why}");
        let CarriedConversation { cut, uncovered: found, estimated_tokens, token_budget, held, summaries } =
            prompt.conversation.unwrap();
        assert_eq!(summaries.is_empty(), cut == 0 || summarised_to == 0, "{why}");
        assert_eq!((cut, found, held), (100 - carried.len() as u64, uncovered, false), "{why}");
        let has = |code| prompt.findings.iter().any(|finding| finding.code == code);
        assert_eq!(has(Code::ConversationUncovered), uncovered > 0, "{why}");
        assert_eq!(has(Code::ConversationOverBudget), estimated_tokens > token_budget, "{why}");
        assert_eq!(token_budget, 1_000, "{why}");
    }
}

/// A conversation that grows by one exchange a turn: with its cut held, the window begins at the same message for many turns.
#[test]
fn a_held_cut_keeps_the_prefix_for_many_turns() {
    let speak = |n: usize| {
        let role = if n.is_multiple_of(2) { Role::User } else { Role::Assistant };
        ConversationMessage::new(role, &format!("msg {n} {}", "x".repeat(400)))
    };
    let (mut cuts, mut changes) = (vec![0], 0);
    for count in (2..400).step_by(2) {
        let messages = (0..=count).map(speak).collect();
        let held_cut = cuts.last().copied();
        let conversation = Conversation { messages, held_cut, ..Conversation::default() };
        let turn = turn(conversation, &json!({"max_context_tokens": 8_000}));
        let carried = prompt(&SNAPSHOT, "kern", &turn).conversation.unwrap();
        assert!(carried.estimated_tokens <= 8_000 && carried.cut >= held_cut.unwrap(), "{carried:?}");
        assert_eq!(carried.held, carried.cut > 0 && Some(carried.cut) == held_cut, "{carried:?}");
        changes += u32::from(Some(carried.cut) != held_cut);
        cuts.push(carried.cut);
    }
    // A new cut leaves room for 0.4 of the budget, about 23 messages, of which the aim at a multiple of twenty takes none.
    assert!((8..=16).contains(&changes), "{changes} of {} turns: {cuts:?}", cuts.len());
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

/// A quarter of one token is none: no summary fits, and what no message carries is said to be in none.
#[test]
fn a_budget_too_small_for_any_summary_is_no_wish_for_none() {
    let segment =
        Segment { id: "0".into(), message_end: 1, summary: "s".into(), summary_tokens: 1, ..Segment::default() };
    let messages = vec![ConversationMessage::new(Role::User, "")];
    let conversation = Conversation { messages, segments: vec![segment], first_index: 1, ..Conversation::default() };
    for (share, uncovered) in [(0.25, 1), (0.0, 0)] {
        let turn = turn(conversation.clone(), &json!({"max_context_tokens": 1, "summary_budget": share}));
        assert_eq!(prompt(&SNAPSHOT, "kern", &turn).conversation.unwrap().uncovered, uncovered, "{share}");
    }
}

proptest! {
    #[test]
    fn any_conversation_is_carried_or_reported(
        messages in prop::collection::vec(any_message(), 0..30),
        segments in prop::collection::vec(any_segment(), 0..8),
        first_index in prop_oneof![0_u64..40, Just(u64::MAX)],
        held_cut in prop::option::of(0_u64..70),
        max in prop_oneof![0_i64..400, Just((1_i64 << 53) - 1)],
        share in 0_u8..5,
        chars in 0_i64..20,
    ) {
        let snapshot = &*SNAPSHOT;
        let conversation = Conversation { messages, segments, first_index, held_cut, ..Conversation::default() };
        let inputs = json!({
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
                let cut = prompt.sections.iter().any(|section| section.id == id && section.position.is_some());
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
            let CarriedConversation { cut, uncovered, estimated_tokens, token_budget, .. } =
                prompt.conversation.clone().unwrap_or_default();
            let has = |code| prompt.findings.iter().any(|finding| finding.code == code);
            let is_carried = prompt.conversation.is_some();
            prop_assert!(!is_carried || has(Code::ConversationUncovered) == (uncovered > 0));
            prop_assert_eq!(has(Code::ConversationOverBudget), token_budget > 0 && estimated_tokens > token_budget);
            prop_assert!(!is_carried || cut >= first_index, "{cut} {first_index}");
            if profile == "kern" && max > 0 && share > 0 && share < 4 && first_index < 40 && is_carried {
                let shown = |segment: &&Segment| {
                    let id = format!("conversation_summary/{}", segment.id);
                    prompt.sections.iter().any(|section| section.id == id && section.outcome == Outcome::Included)
                };
                let shown: Vec<&Segment> = turn.conversation.segments.iter().filter(shown).collect();
                let unique: HashSet<&str> = turn.conversation.segments.iter().map(|segment| segment.id.as_str()).collect();
                let is_shown = |m: u64| shown.iter().any(|s| (s.message_start..s.message_end).contains(&m));
                let is_unusable = |s: &SectionReport<'_>| {
                    s.outcome == Outcome::Dropped && !s.reason.starts_with("It belongs to the turn")
                };
                let lost = |id: String| prompt.sections.iter().any(|s| s.id == id && is_unusable(s));
                let is_left_out = |at: &usize| !indices.contains(&clamped(*at)) && !lost(format!("conversation/{at}"));
                let mut neither = (0..all.len()).filter(is_left_out).map(|at| first_index + at as u64)
                    .filter(|&message| !is_shown(message)).count() as u64;
                if !turn.conversation.segments.is_empty() {
                    neither += (0..first_index).filter(|&message| !is_shown(message)).count() as u64;
                }
                // A report has a segment's id alone.
                prop_assert!(unique.len() < turn.conversation.segments.len() || uncovered == neither, "{uncovered} {neither}");
            }
            let newest = (0..all.len()).rev().find(|&index| all[index].role == Role::User && distinct[index]);
            prop_assert!(newest.is_none_or(|newest| indices.contains(&clamped(newest))), "the user's newest message");
        }
    }
}
