//! Requests of `SessionService`.

use std::collections::HashSet;

use super::{Limits, Violations, conversation::messages, id, optional_id, request::workspace, values::timestamp};
use crate::proto;
use promptd_core::{id::Id, time::Moment, turn::ConversationMessage};

/// The most messages that are appended at once.
pub const MAX_APPENDED: usize = 1_000;
/// The most bytes of a message's id.
const MAX_MESSAGE_ID_BYTES: usize = 256;
/// The most bytes of a query.
const MAX_QUERY_BYTES: usize = 4_096;
/// The most positions that a request names.
const MAX_POSITIONS: usize = 1_000;
/// How many messages are found where a request does not say.
const DEFAULT_RECALLED: usize = 5;

/// What a caller of `AppendMessages` asks for, checked.
#[derive(Debug)]
pub struct AppendRequest {
    /// The workspace.
    pub workspace: Id,
    /// The session.
    pub session: Id,
    /// At least one, each with an id of its own.
    pub messages: Vec<ConversationMessage>,
    /// Where the session must be; `None`: anywhere.
    pub expected: Option<u64>,
}

/// What a caller of `Recall` asks for, checked.
#[derive(Debug)]
pub struct RecallRequest {
    /// The workspace.
    pub workspace: Id,
    /// The words.
    pub query: String,
    /// Only of this session; `None`: of all.
    pub session: Option<Id>,
    /// Only messages before this position.
    pub before: Option<u64>,
    /// Only messages of this time or later.
    pub since: Option<Moment>,
    /// Only messages before this time.
    pub until: Option<Moment>,
    /// The most messages.
    pub limit: usize,
    /// How near a vector must be; `None`: as near as is usual.
    pub min_similarity: Option<f64>,
    /// What the prompt has already.
    pub in_context: Option<RecallContext>,
}

/// What a prompt has of a session.
#[derive(Debug)]
pub struct RecallContext {
    /// The session.
    pub session: Id,
    /// All from this position on.
    pub from: Option<u64>,
    /// These too.
    pub positions: Vec<u64>,
}

/// Checks a request. `may_see` refuses a workspace that is out of the caller's reach, before any other field is checked.
pub fn append_request<E: From<Vec<super::Violation>>>(
    raw: proto::AppendMessagesRequest,
    limits: &Limits,
    may_see: impl FnOnce(&Id) -> Result<(), E>,
) -> Result<AppendRequest, E> {
    let mut violations = Violations::default();
    let workspace = workspace(&raw.workspace_id, may_see, &mut violations)?;
    let session = id(&raw.session_id, "session_id", &mut violations);
    let messages = if violations.within("messages", raw.messages.len(), MAX_APPENDED) {
        let messages = messages(raw.messages, "messages", limits, &mut violations);
        check_ids(&messages, &mut violations);
        messages
    } else {
        Vec::new()
    };
    let expected = raw.expected_position;
    let names = violations.into_result(workspace.zip(session))?;
    let request = names.map(|(workspace, session)| AppendRequest { workspace, session, messages, expected });
    request.ok_or_else(|| Vec::new().into())
}

fn check_ids(messages: &[ConversationMessage], violations: &mut Violations) {
    if messages.is_empty() {
        violations.add("messages", "must have at least one message");
    }
    let mut seen = HashSet::new();
    for (index, message) in messages.iter().enumerate() {
        let fault = match message.id.len() {
            0 => Some("a stored message needs an id, so that a call can be repeated".to_owned()),
            1..=MAX_MESSAGE_ID_BYTES if seen.insert(&message.id) => None,
            1..=MAX_MESSAGE_ID_BYTES => Some("another message of the request has this id".to_owned()),
            bytes => Some(format!("has {bytes} bytes; at most {MAX_MESSAGE_ID_BYTES} are allowed")),
        };
        if let Some(fault) = fault {
            violations.add(format!("messages[{index}].id"), fault);
        }
    }
}

/// Checks a request, as [`append_request`] does. `most` is the most messages that are found.
pub fn recall_request<E: From<Vec<super::Violation>>>(
    raw: proto::RecallRequest,
    most: usize,
    may_see: impl FnOnce(&Id) -> Result<(), E>,
) -> Result<RecallRequest, E> {
    let mut violations = Violations::default();
    let workspace = workspace(&raw.workspace_id, may_see, &mut violations)?;
    let session = optional_id(&raw.session_id, "session_id", &mut violations);
    match raw.query.len() {
        0 => violations.add("query", "must have at least one word"),
        1..=MAX_QUERY_BYTES => {}
        bytes => violations.add("query", format!("has {bytes} bytes; at most {MAX_QUERY_BYTES} are allowed")),
    }
    if raw.before_position.is_some() && raw.session_id.is_empty() {
        violations.add("before_position", "is a position of a session: set `session_id` too");
    }
    let limit = match usize::try_from(raw.limit) {
        Ok(0) => DEFAULT_RECALLED,
        Ok(limit) => limit.min(most),
        Err(_) => {
            violations.add("limit", format!("must be 0 to {most}"));
            DEFAULT_RECALLED
        }
    };
    let since = timestamp(raw.start_time, || "start_time".into(), &mut violations);
    let until = timestamp(raw.end_time, || "end_time".into(), &mut violations);
    let min_similarity = raw.min_similarity;
    if min_similarity.is_some_and(|least| !(0.0..=1.0).contains(&least)) {
        violations.add("min_similarity", "must be 0 to 1");
    }
    let in_context = raw.in_context.and_then(|context| recall_context(context, &mut violations));
    let (query, before) = (raw.query, raw.before_position);
    let workspace = violations.into_result(workspace)?;
    let request = workspace.map(|workspace| RecallRequest {
        workspace,
        query,
        session,
        before,
        since,
        until,
        limit,
        min_similarity,
        in_context,
    });
    request.ok_or_else(|| Vec::new().into())
}

fn recall_context(raw: proto::RecallContext, violations: &mut Violations) -> Option<RecallContext> {
    let session = id(&raw.session_id, "in_context.session_id", violations);
    let is_within = violations.within("in_context.positions", raw.positions.len(), MAX_POSITIONS);
    let positions = if is_within { raw.positions } else { Vec::new() };
    Some(RecallContext { session: session?, from: raw.from_position, positions })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Violation;

    #[expect(clippy::unnecessary_wraps, reason = "decoding asks by such a function")]
    fn allowed(_: &Id) -> Result<(), Vec<Violation>> {
        Ok(())
    }

    fn fields<T: std::fmt::Debug>(result: Result<T, Vec<Violation>>) -> Vec<String> {
        result.unwrap_err().into_iter().map(|violation| violation.field).collect()
    }

    #[test]
    fn every_fault_of_an_append_is_reported_at_once() {
        let message = |id: &str| proto::ConversationMessage { id: id.into(), role: 2, ..Default::default() };
        let raw = proto::AppendMessagesRequest {
            workspace_id: "w".into(),
            session_id: "../s".into(),
            messages: vec![
                message("a"),
                message("a"),
                message(""),
                message(&"x".repeat(257)),
                message(&"x".repeat(256)),
                proto::ConversationMessage { role: 4, ..message("b") },
            ],
            expected_position: None,
        };
        assert_eq!(
            fields(append_request(raw, &Limits::default(), allowed)),
            ["session_id", "messages[5].tool_call_id", "messages[1].id", "messages[2].id", "messages[3].id"]
        );
        let none =
            proto::AppendMessagesRequest { workspace_id: "w".into(), session_id: "s".into(), ..Default::default() };
        assert_eq!(fields(append_request(none.clone(), &Limits::default(), allowed)), ["messages"]);
        let many = (0..=MAX_APPENDED).map(|number| message(&number.to_string())).collect();
        let many = proto::AppendMessagesRequest { messages: many, ..none };
        assert_eq!(fields(append_request(many, &Limits::default(), allowed)), ["messages"]);
    }

    #[test]
    fn a_recall_has_a_query_and_bounds() {
        let raw = proto::RecallRequest { workspace_id: "w".into(), query: "key".into(), ..Default::default() };
        let limit = |limit| recall_request(proto::RecallRequest { limit, ..raw.clone() }, 100, allowed).unwrap().limit;
        assert_eq!([0, 1, 100, 1_000].map(limit), [5, 1, 100, 100]);
        let bad = proto::RecallRequest {
            query: "x".repeat(4_097),
            before_position: Some(1),
            limit: -1,
            start_time: Some(prost_types::Timestamp { seconds: 0, nanos: -1 }),
            min_similarity: Some(f64::NAN),
            in_context: Some(proto::RecallContext { positions: vec![0; MAX_POSITIONS + 1], ..Default::default() }),
            ..raw
        };
        let expected = ["query", "before_position", "limit", "start_time", "min_similarity"];
        let expected = expected.into_iter().chain(["in_context.session_id", "in_context.positions"]);
        assert_eq!(fields(recall_request(bad, 100, allowed)), expected.collect::<Vec<_>>());
        assert_eq!(fields(recall_request(proto::RecallRequest::default(), 100, allowed)), ["workspace_id", "query"]);
    }
}
