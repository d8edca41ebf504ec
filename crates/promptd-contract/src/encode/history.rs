//! The answer of `PlanHistory`.

use std::ops::Range;

use crate::{decode::PlanRequest, proto};
use promptd_core::{
    history::{Cut, HistorySegment, Plan, PlannedSegment, Rollup, Waiting, embedding_inputs},
    time::Moment,
};

/// The answer for the plan of a request.
#[must_use]
pub fn plan_history_response(plan: Plan, request: &PlanRequest) -> proto::PlanHistoryResponse {
    let Plan { segments, rollups, settled_end, waiting } = plan;
    let texts = if request.embedding_inputs && !segments.is_empty() {
        embedding_inputs(&request.history.messages, &request.thresholds)
    } else {
        Vec::new()
    };
    proto::PlanHistoryResponse {
        segments: segments.into_iter().map(|segment| planned(segment, request)).collect(),
        rollups: rollups.iter().map(|rollup| rolled_up(rollup, request)).collect(),
        unsummarised: unsummarised(request),
        settled_end,
        waiting: waiting.map(waits),
        embedding_inputs: texts,
    }
}

fn planned(segment: PlannedSegment, request: &PlanRequest) -> proto::PlannedSegment {
    let end = match segment.cut {
        Cut::Topic => proto::SegmentEnd::Topic,
        Cut::Size => proto::SegmentEnd::Size,
        Cut::End => proto::SegmentEnd::Chunk,
    };
    proto::PlannedSegment {
        message_start: segment.messages.start,
        message_end: segment.messages.end,
        start_time: segment.start_time.map(timestamp),
        end_time: segment.end_time.map(timestamp),
        tokens: segment.tokens,
        target_tokens: segment.target_tokens,
        profile: request.segment_profile.to_string(),
        end: end.into(),
        merged: segment.merged.into_iter().map(range).collect(),
    }
}

fn rolled_up(rollup: &Rollup, request: &PlanRequest) -> proto::PlannedRollup {
    proto::PlannedRollup {
        level: rollup.level,
        child_ids: rollup.children.iter().map(|&child| request.history.segments[child].id.clone()).collect(),
        message_start: rollup.messages.start,
        message_end: rollup.messages.end,
        start_time: rollup.start_time.map(timestamp),
        end_time: rollup.end_time.map(timestamp),
        tokens: rollup.tokens,
        target_tokens: rollup.target_tokens,
        profile: request.rollup_profile.to_string(),
    }
}

fn unsummarised(request: &PlanRequest) -> Vec<proto::UnsummarisedSegment> {
    let of = |segment: &HistorySegment| {
        let (target_tokens, profile) = match segment.level {
            0 => (request.thresholds.summary_tokens(segment.tokens), &request.segment_profile),
            _ => (request.thresholds.rollup_tokens, &request.rollup_profile),
        };
        proto::UnsummarisedSegment { id: segment.id.clone(), target_tokens, profile: profile.to_string() }
    };
    request.history.segments.iter().filter(|segment| !segment.is_summarised).map(of).collect()
}

fn waits(waiting: Waiting) -> proto::HistoryWaiting {
    let Waiting { messages, tokens, messages_missing, tokens_missing } = waiting;
    proto::HistoryWaiting { messages, tokens, messages_missing, tokens_missing }
}

fn range(messages: Range<u64>) -> proto::MessageRange {
    proto::MessageRange { start: messages.start, end: messages.end }
}

/// A time as the contract has it.
#[must_use]
pub fn timestamp(moment: Moment) -> prost_types::Timestamp {
    let (seconds, nanoseconds) = moment.as_parts();
    prost_types::Timestamp { seconds, nanos: nanoseconds.cast_signed() }
}
