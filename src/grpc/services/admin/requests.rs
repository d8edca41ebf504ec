//! Small requests, checked: first whether the caller may publish the workspace, then the other fields.

use promptd_contract::{
    decode::{Violations, proposal_name, publish_reason, revision_name},
    proto,
};
use promptd_core::id::Id;

use super::by::By;
use crate::grpc::pipeline::Error;

/// The workspace, and what the proposal is named by. The message is for the log alone.
pub(super) fn proposal_request(
    workspace_id: &str,
    proposal: String,
    message: String,
    by: &By,
) -> Result<(Id, String), Error> {
    let id = by.workspace(workspace_id)?;
    let mut violations = Violations::default();
    let name = proposal_name(proposal, &mut violations);
    publish_reason(message, &mut violations);
    Ok(violations.into_result((id, name))?)
}

/// The workspace, and why its canary ends.
pub(super) fn end_request(workspace_id: &str, message: String, by: &By) -> Result<(Id, String), Error> {
    let id = by.workspace(workspace_id)?;
    let mut violations = Violations::default();
    let message = publish_reason(message, &mut violations);
    Ok(violations.into_result((id, message))?)
}

/// The workspace, what the revision is named by, and why.
pub(super) fn rollback_request(request: proto::RollbackRequest, by: &By) -> Result<(Id, String, String), Error> {
    let id = by.workspace(&request.workspace_id)?;
    let mut violations = Violations::default();
    let name = revision_name(request.revision, &mut violations).unwrap_or_default();
    if name.is_empty() {
        violations.add("revision", "must name a revision: a number, or its first digits");
    }
    let message = publish_reason(request.message, &mut violations);
    Ok(violations.into_result((id, name, message))?)
}

/// What a revision is named by; `None`: the newest is meant.
pub(super) fn named(revision: String) -> Result<Option<String>, Error> {
    let mut violations = Violations::default();
    let name = revision_name(revision, &mut violations);
    Ok(violations.into_result(name)?)
}
