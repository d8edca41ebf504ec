#![no_main]
//! Any history, as it comes over the wire: each message is in one segment, old or new, or waits.

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use promptd_contract::{
    decode::{self, Limits, Violation},
    encode, proto,
};
use promptd_core::history::{History, Plan, plan};
use prost::Message as _;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    first_index: u64,
    messages: Vec<Said<'a>>,
    has_embeddings: bool,
    segments: Vec<Segment>,
    limits: [Option<u8>; 7],
    distances: [Option<u8>; 2],
    user_bounds: bool,
    recount_carried: bool,
    embedding_inputs: bool,
    /// A request as bytes, laid over the fields above.
    wire: &'a [u8],
}

#[derive(Arbitrary, Debug)]
struct Said<'a> {
    role: u8,
    content: &'a str,
    tokens: Option<u16>,
    seconds: Option<i32>,
    embedding: [i8; 2],
}

#[derive(Arbitrary, Debug)]
struct Segment {
    level: u8,
    start: u16,
    count: u8,
    has_parent: bool,
    is_summarised: bool,
}

fuzz_target!(|input: Input<'_>| {
    let mut raw = request(&input);
    // What is merged before a fault stays.
    let _ = raw.merge(input.wire);
    let checked = decode::plan_request::<Vec<Violation>>(raw, &Limits::default(), |_| Ok(()));
    let Ok(request) = checked else { return };
    let plan = plan(&request.history, &request.thresholds);
    check(&request.history, &plan);
    let (segments, rollups) = (plan.segments.len(), plan.rollups.len());
    let answer = encode::plan_history_response(plan, &request);
    assert_eq!((answer.segments.len(), answer.rollups.len()), (segments, rollups));
    assert!(!answer.encode_to_vec().is_empty() || segments + rollups == 0);
});

fn request(input: &Input<'_>) -> proto::PlanHistoryRequest {
    let stamp = |seconds: i32| prost_types::Timestamp { seconds: seconds.into(), nanos: 0 };
    let message = |said: &Said<'_>| proto::HistoryMessage {
        role: i32::from(said.role % 5),
        content: said.content.to_owned(),
        tokens: said.tokens.map(u32::from),
        time: said.seconds.map(stamp),
        embedding: if input.has_embeddings { said.embedding.map(f32::from).to_vec() } else { Vec::new() },
        ..Default::default()
    };
    let segment = |(index, segment): (usize, &Segment)| proto::HistorySegment {
        id: index.to_string(),
        parent_id: if segment.has_parent { "above".into() } else { String::new() },
        level: u32::from(segment.level % 4),
        // Near the messages, so that they meet.
        message_start: input.first_index.wrapping_add(u64::from(segment.start)),
        message_end: input.first_index.wrapping_add(u64::from(segment.start) + u64::from(segment.count)),
        summarised: segment.is_summarised,
        ..Default::default()
    };
    let [min_messages, min_new, chunk, window, rollup, target, merged] = input.limits;
    let [topic_distance, merge_distance] = input.distances.map(|hundredths| hundredths.map(|n| f32::from(n) / 100.0));
    proto::PlanHistoryRequest {
        workspace_id: "ws".into(),
        first_index: input.first_index,
        messages: input.messages.iter().map(message).collect(),
        segments: input.segments.iter().enumerate().map(segment).collect(),
        thresholds: Some(proto::HistoryThresholds {
            min_messages: min_messages.map(u32::from),
            min_new_messages: min_new.map(u32::from),
            min_new_tokens: min_new.map(u64::from),
            chunk_messages: chunk.map(u32::from),
            window_messages: window.map(u32::from),
            rollup_size: rollup.map(u32::from),
            target_tokens: target.map(|hundreds| u64::from(hundreds) * 100),
            min_segment_messages: merged.map(u32::from),
            topic_distance,
            merge_distance,
            user_bounds: Some(input.user_bounds),
            recount_carried: Some(input.recount_carried),
            ..Default::default()
        }),
        embedding_inputs: input.embedding_inputs,
        ..Default::default()
    }
}

fn check(history: &History, plan: &Plan) {
    let end = history.first_index + history.messages.len() as u64;
    let is_old = |index: u64| history.segments.iter().any(|old| (old.message_start..old.message_end).contains(&index));
    let mut planned = 0;
    let mut last = history.first_index;
    for segment in &plan.segments {
        let range = &segment.messages;
        assert!(range.start >= last && range.start < range.end && range.end <= end, "{range:?}");
        assert!(range.clone().all(|index| !is_old(index)), "{range:?} is covered already");
        last = range.end;
        planned += range.end - range.start;
    }
    let uncovered = (history.first_index..end).filter(|&index| !is_old(index)).count() as u64;
    assert_eq!(planned + plan.waiting.map_or(0, |waiting| waiting.messages), uncovered);
    assert!(plan.settled_end >= history.first_index);
    for rollup in &plan.rollups {
        for &child in &rollup.children {
            let child = &history.segments[child];
            assert!(child.level + 1 == rollup.level && child.parent_id.is_empty());
        }
    }
}
