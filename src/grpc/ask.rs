//! A checked `AssemblePromptRequest`.

use super::{auth::Caller, error::Error};
use jiff::Timestamp;
use promptd_contract::{
    decode::{self, Limits, Violations},
    encode::Shape,
    proto::{self, RenderFormat},
};
use promptd_core::{digest::Digest, id::Id, text::hex, tokens::Encoding, turn::Turn};

/// What a caller asks for, checked.
pub(super) struct Ask {
    pub(super) workspace: Id,
    pub(super) turn: Turn,
    pub(super) profile: Option<Id>,
    pub(super) revision: Option<String>,
    pub(super) strict: bool,
    pub(super) encoding: Option<Encoding>,
    pub(super) format: RenderFormat,
    pub(super) shape: Shape,
}

impl Ask {
    /// Checks a request. A workspace that the caller may not see is refused before anything else is looked at.
    pub(super) fn check(
        raw: proto::AssemblePromptRequest,
        caller: &Caller,
        limits: &Limits,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let violations = &mut Violations::default();
        let workspace = id(&raw.workspace_id, "workspace_id", violations);
        if let Some(workspace) = &workspace {
            caller.must_see(workspace)?;
        }
        let profile = optional_id(&raw.profile, "profile", violations);
        let revision = Some(raw.revision).filter(|revision| !revision.is_empty());
        if revision.as_deref().is_some_and(|revision| digest(revision).is_none()) {
            violations.add("revision", "must be 64 lower-case hex digits, as an earlier response gave them");
        }
        let held = held(&raw.if_none_match, limits, violations);
        let format = decode::choice(raw.render_format, || "render_format".into(), violations);
        let encoding = encoding(&raw.token_encoding, violations);
        let turn = decode::turn(raw.turn.unwrap_or_default(), limits, now);
        let mut faults = std::mem::take(violations).into_result(()).err().unwrap_or_default();
        let turn = turn.map_err(|more| faults.extend(more)).ok();
        let (Some(workspace), Some(mut turn), true) = (workspace, turn, faults.is_empty()) else {
            return Err(Error::Invalid(faults));
        };
        turn.skill_access = caller.skill_wall().cloned();
        let shape =
            Shape { held, reference_conversation: raw.reference_conversation, omit_sections: raw.omit_sections };
        Ok(Self {
            workspace,
            turn,
            profile,
            revision,
            strict: raw.strict,
            encoding,
            format: format.unwrap_or_default(),
            shape,
        })
    }
}

/// A required id.
pub(super) fn id(raw: &str, field: &str, violations: &mut Violations) -> Option<Id> {
    Id::parse(raw).map_err(|e| violations.add(field, e.to_string())).ok()
}

/// An id that may be empty.
pub(super) fn optional_id(raw: &str, field: &str, violations: &mut Violations) -> Option<Id> {
    if raw.is_empty() { None } else { id(raw, field, violations) }
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

fn encoding(name: &str, violations: &mut Violations) -> Option<Encoding> {
    if name.is_empty() {
        return None;
    }
    let known = || Encoding::ALL.map(Encoding::as_str).join(", ");
    Encoding::parse(name).map_err(|_| violations.add("token_encoding", format!("must be one of {}", known()))).ok()
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
    fn every_fault_of_the_request_and_of_its_turn_is_told_at_once() {
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
        let Err(Error::Invalid(told)) = Ask::check(raw, &Caller::default(), &Limits::default(), Timestamp::UNIX_EPOCH)
        else {
            panic!("it must be refused");
        };
        let fields: Vec<_> = told.iter().map(|v| v.field.as_str()).collect();
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
}
