//! A checked `AssemblePromptRequest`.

use jiff::Timestamp;

use super::{Limits, Violation, Violations, choice, id, optional_id, turn};
use crate::{
    encode::Shape,
    proto::{self, RenderFormat},
};
use promptd_core::{digest::Digest, id::Id, text::hex, tokens::Encoding, turn::Turn};

/// What a caller of `AssemblePrompt` asks for, checked.
#[derive(Debug)]
pub struct AssembleRequest {
    /// The workspace.
    pub workspace: Id,
    /// The turn; without its conversation if it names a session.
    pub turn: Turn,
    /// The session that has its conversation; `None`: the turn brings it.
    pub session: Option<SessionOfTurn>,
    /// The profile to use; `None`: the workspace's own.
    pub profile: Option<Id>,
    /// The pinned revision; `None`: the newest.
    pub revision: Option<String>,
    /// Whether a lost section fails the call.
    pub strict: bool,
    /// The encoding to count tokens with; `None`: they are not counted.
    pub encoding: Option<Encoding>,
    /// The provider's request fragment to render.
    pub format: RenderFormat,
    /// Whether section reports have spans.
    pub spans: bool,
    /// What of the answer is sent.
    pub shape: Shape,
}

/// A session that a turn names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOfTurn {
    /// Its id.
    pub id: Id,
    /// As it was at this position; `None`: as it is.
    pub position: Option<u64>,
    /// For profiles that trim: the cut of an earlier answer.
    pub held_cut: Option<u64>,
}

/// Checks a request. `may_see` refuses a workspace that is out of the caller's reach, before any other field is checked.
pub fn assemble_request<E: From<Vec<Violation>>>(
    raw: proto::AssemblePromptRequest,
    limits: &Limits,
    now: Timestamp,
    may_see: impl FnOnce(&Id) -> Result<(), E>,
) -> Result<AssembleRequest, E> {
    let proto::AssemblePromptRequest {
        workspace_id,
        turn: raw_turn,
        profile,
        revision,
        if_none_match,
        strict,
        render_format,
        token_encoding,
        reference_conversation,
        omit_sections,
        include_spans,
    } = raw;
    let mut violations = Violations::default();
    let workspace = workspace(&workspace_id, may_see, &mut violations)?;
    let profile = optional_id(&profile, "profile", &mut violations);
    let revision = self::revision(revision, "revision", &mut violations);
    let held = held(&if_none_match, limits, &mut violations);
    let format = choice(render_format, || "render_format".into(), &mut violations);
    let encoding = encoding(&token_encoding, "token_encoding", &mut violations);
    let mut raw_turn = raw_turn.unwrap_or_default();
    let session = session(&mut raw_turn, &mut violations);
    let turn = turn(raw_turn, limits, now);
    let (workspace, turn) = complete(workspace, turn, violations)?;
    let format = format.unwrap_or_default();
    // A turn that names a session has no messages that an index could refer to.
    let reference_conversation = reference_conversation && session.is_none();
    let shape = Shape { held, reference_conversation, omit_sections };
    let spans = include_spans && !omit_sections;
    Ok(AssembleRequest { workspace, turn, session, profile, revision, strict, encoding, format, spans, shape })
}

/// Takes the session out of a turn, whose conversation is read from there.
fn session(turn: &mut proto::Turn, violations: &mut Violations) -> Option<SessionOfTurn> {
    if turn.session_id.is_empty() {
        return None;
    }
    let id = id(&std::mem::take(&mut turn.session_id), "turn.session_id", violations);
    if turn.conversation.is_some() {
        violations.add("turn.session_id", "names the conversation: leave `turn.conversation` out");
    }
    let (position, held_cut) = (turn.session_position.take(), turn.session_held_cut.take());
    id.map(|id| SessionOfTurn { id, position, held_cut })
}

/// Checks the workspace of a request, which is refused before any other field is checked if the caller may not see it.
pub(super) fn workspace<E>(
    raw: &str,
    may_see: impl FnOnce(&Id) -> Result<(), E>,
    violations: &mut Violations,
) -> Result<Option<Id>, E> {
    let workspace = id(raw, "workspace_id", violations);
    workspace.as_ref().map_or(Ok(()), may_see)?;
    Ok(workspace)
}

/// The workspace and the turn of a request without faults; else the faults of both, its own first.
pub(super) fn complete(
    workspace: Option<Id>,
    turn: Result<Turn, Vec<Violation>>,
    violations: Violations,
) -> Result<(Id, Turn), Vec<Violation>> {
    let mut faults = violations.into_result(()).err().unwrap_or_default();
    let turn = turn.map_err(|more| faults.extend(more)).ok();
    match (workspace, turn) {
        (Some(workspace), Some(turn)) if faults.is_empty() => Ok((workspace, turn)),
        _ => Err(faults),
    }
}

fn held(raw: &[String], limits: &Limits, violations: &mut Violations) -> Vec<Digest> {
    if !violations.within("if_none_match", raw.len(), limits.max_digests) {
        return Vec::new();
    }
    let mut held: Vec<_> = (raw.iter().enumerate())
        .filter_map(|(index, text)| {
            let digest = digest(text);
            if digest.is_none() {
                violations.add(format!("if_none_match[{index}]"), "must be 64 lower-case hex digits");
            }
            digest
        })
        .collect();
    held.sort_unstable();
    held
}

/// Checks a revision that may be empty.
pub(super) fn revision(raw: String, field: &str, violations: &mut Violations) -> Option<String> {
    if !raw.is_empty() && digest(&raw).is_none() {
        violations.add(field, "must be 64 lower-case hex digits, as an earlier response gave them");
    }
    Some(raw).filter(|revision| !revision.is_empty())
}

/// Checks the name of an encoding that may be empty.
pub(super) fn encoding(name: &str, field: &str, violations: &mut Violations) -> Option<Encoding> {
    if name.is_empty() {
        return None;
    }
    let known = || Encoding::ALL.map(Encoding::as_str).join(", ");
    Encoding::parse(name).map_err(|_| violations.add(field, format!("must be one of {}", known()))).ok()
}

/// The digest of 64 lower-case hex digits.
fn digest(text: &str) -> Option<Digest> {
    hex::bytes(text).map(Digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_lower_case_hex() {
        let whole = Digest([0xa7; 32]);
        assert_eq!(digest(&whole.to_hex()), Some(whole));
        for bad in ["", "a7", &whole.to_hex().to_uppercase(), &whole.to_hex().replace('a', "g")] {
            assert_eq!(digest(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_fault_of_the_request_and_of_its_turn_is_reported_at_once() {
        let raw = proto::AssemblePromptRequest {
            workspace_id: "../x".into(),
            profile: "-".into(),
            revision: "abc".into(),
            if_none_match: vec!["x".into()],
            render_format: 77,
            token_encoding: "p50k".into(),
            turn: Some(proto::Turn { time_zone: "Mars".into(), ..Default::default() }),
            ..Default::default()
        };
        let allowed = |_: &Id| Ok::<_, Vec<Violation>>(());
        let found = assemble_request(raw, &Limits::default(), Timestamp::UNIX_EPOCH, allowed).unwrap_err();
        let fields: Vec<_> = found.iter().map(|v| v.field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "workspace_id",
                "profile",
                "revision",
                "if_none_match[0]",
                "render_format",
                "token_encoding",
                "turn.time_zone"
            ]
        );
    }

    #[test]
    fn a_workspace_out_of_reach_is_refused_before_any_other_fault() {
        let raw =
            proto::AssemblePromptRequest { workspace_id: "a".into(), revision: "abc".into(), ..Default::default() };
        let denied = |id: &Id| Err(vec![Violation { field: id.to_string(), message: "denied".into() }]);
        let found = assemble_request(raw, &Limits::default(), Timestamp::UNIX_EPOCH, denied).unwrap_err();
        assert_eq!((found.len(), &*found[0].message), (1, "denied"));
    }

    #[test]
    fn a_turn_brings_its_conversation_or_names_a_session() {
        let check = |turn: proto::Turn| {
            let raw = proto::AssemblePromptRequest { workspace_id: "w".into(), turn: Some(turn), ..Default::default() };
            let allowed = |_: &Id| Ok::<_, Vec<Violation>>(());
            let checked = assemble_request(raw, &Limits::default(), Timestamp::UNIX_EPOCH, allowed);
            let fields = |faults: Vec<Violation>| faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>();
            checked.map(|request| request.session).map_err(fields)
        };
        let named = proto::Turn { session_id: "s".into(), session_position: Some(7), ..Default::default() };
        let session = SessionOfTurn { id: Id::parse("s").unwrap(), position: Some(7), held_cut: None };
        assert_eq!(check(named.clone()), Ok(Some(session)));
        let both = proto::Turn { conversation: Some(proto::Conversation::default()), ..named.clone() };
        assert_eq!(check(both), Err(vec!["turn.session_id".into()]));
        let bad = proto::Turn { session_id: "../s".into(), ..named.clone() };
        assert_eq!(check(bad), Err(vec!["turn.session_id".into()]));
        let nameless = proto::Turn { session_id: String::new(), session_held_cut: Some(1), ..named };
        assert_eq!(check(nameless), Err(vec!["turn.session_position".into(), "turn.session_held_cut".into()]));
    }

    #[test]
    fn messages_of_a_session_come_with_their_content() {
        for (session_id, is_referenced) in [("", true), ("s", false)] {
            let raw = proto::AssemblePromptRequest {
                workspace_id: "w".into(),
                turn: Some(proto::Turn { session_id: session_id.into(), ..Default::default() }),
                reference_conversation: true,
                ..Default::default()
            };
            let allowed = |_: &Id| Ok::<_, Vec<Violation>>(());
            let checked = assemble_request(raw, &Limits::default(), Timestamp::UNIX_EPOCH, allowed).unwrap();
            assert_eq!(checked.shape.reference_conversation, is_referenced, "{session_id:?}");
        }
    }
}
