//! From the store's types to the contract's.

use promptd_contract::{
    encode::{conversation_message, timestamp},
    proto,
};
use promptd_core::{id::Id, time::Moment};
use promptd_memory::{Recalled, SegmentState, Session, Stats, StoredMessage, StoredNotesSummary, StoredSegment};

use super::MAX_PAGE_BYTES;
use crate::grpc::pipeline::Error;

const WRONG_TOKEN: &str = "is not a token of this list; start again with an empty one";

pub(super) fn session(session: &Session) -> proto::Session {
    let [system_messages, user_messages, assistant_messages, tool_messages] = session.messages;
    proto::Session {
        id: session.id.to_string(),
        position: session.position,
        message_count: session.message_count(),
        system_messages,
        user_messages,
        assistant_messages,
        tool_messages,
        bytes: session.bytes,
        created_at: Some(timestamp(session.created)),
        changed_at: Some(timestamp(session.changed)),
    }
}

pub(super) fn stored(stored: StoredMessage) -> proto::StoredMessage {
    proto::StoredMessage {
        position: stored.position,
        index: stored.index,
        stored_at: Some(timestamp(stored.stored)),
        message: Some(conversation_message(stored.message)),
    }
}

pub(super) fn recalled(found: Recalled) -> proto::RecalledMessage {
    proto::RecalledMessage {
        session_id: found.session.to_string(),
        message: Some(stored(found.message)),
        score: found.score,
        similarity: found.similarity.map(f64::from),
    }
}

pub(super) fn stats(stats: Stats) -> proto::GetRecallStatsResponse {
    let [first_at, last_at] = [stats.first, stats.last].map(|time: Option<Moment>| time.map(timestamp));
    let [segments_waiting, segments_summarised, segments_set_aside] = stats.segments;
    proto::GetRecallStatsResponse {
        sessions: stats.sessions,
        messages: stats.messages,
        bytes: stats.bytes,
        first_at,
        last_at,
        segments_waiting,
        segments_summarised,
        segments_set_aside,
        vectors: stats.vectors,
        vectors_waiting: stats.vectors_waiting,
        vector_model: stats.model,
    }
}

pub(super) fn segment(stored: StoredSegment) -> proto::StoredSegment {
    let state = match stored.state {
        SegmentState::Waiting => proto::SegmentState::Waiting,
        SegmentState::Summarised => proto::SegmentState::Summarised,
        SegmentState::SetAside => proto::SegmentState::SetAside,
    };
    proto::StoredSegment {
        state: state.into(),
        tokens: stored.tokens,
        target_tokens: stored.target_tokens,
        fault: stored.fault,
        segment: Some(proto::SummarySegment {
            id: stored.id.to_string(),
            parent_id: stored.parent.map(|parent| parent.to_string()).unwrap_or_default(),
            level: stored.level,
            message_start: stored.messages.start,
            message_end: stored.messages.end,
            start_time: stored.start_time.map(timestamp),
            end_time: stored.end_time.map(timestamp),
            summary: stored.summary,
            summary_tokens: stored.summary_tokens,
        }),
    }
}

/// The newest summaries of notes, and as many as a page may have.
pub(super) fn notes_summaries(stored: Vec<StoredNotesSummary>) -> Vec<proto::NotesSummary> {
    let mut bytes = 0;
    let fits = |StoredNotesSummary { summary, .. }: &StoredNotesSummary| {
        let is_first = bytes == 0;
        bytes += summary.text.len();
        is_first || bytes <= MAX_PAGE_BYTES
    };
    let stored = stored.into_iter().take_while(fits);
    let encoded = stored.map(|StoredNotesSummary { made, summary }| proto::NotesSummary {
        first_note: summary.first,
        last_note: summary.last,
        summary: summary.text,
        summary_tokens: summary.tokens,
        made_at: Some(timestamp(made)),
    });
    encoded.collect()
}

/// A segment's place in the list, for page tokens.
pub(super) fn segment_key(segment: &StoredSegment) -> String {
    format!("{}/{}", segment.level, segment.messages.start)
}

/// What [`segment_key`] says.
pub(super) fn segment_place(key: &str) -> Result<(u32, u64), Error> {
    let parts = key.split_once('/').and_then(|(level, start)| Some((level.parse().ok()?, start.parse().ok()?)));
    parts.ok_or_else(|| Error::invalid("page_token", WRONG_TOKEN))
}

/// A session's place in the list, for page tokens.
pub(super) fn key(session: &Session) -> String {
    format!("{}/{}", session.changed.as_milliseconds(), session.id)
}

/// What [`key`] says.
pub(super) fn place(key: &str) -> Result<(i64, Id), Error> {
    let parts = key.split_once('/').and_then(|(changed, id)| Some((changed.parse().ok()?, Id::parse(id).ok()?)));
    parts.ok_or_else(|| Error::invalid("page_token", WRONG_TOKEN))
}
