//! What the log says of a failed call: its workspace, its reason, and the field that is wrong. Never anything that the caller sent.

use std::{cell::RefCell, collections::BTreeSet, sync::LazyLock};

use promptd_contract::json::descriptors;
use promptd_core::id::Id;
use tonic::Status;
use tonic_types::StatusExt as _;

/// Taken from the details of a status.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) reason: Option<String>,
    pub(super) field: Option<String>,
}

impl Failure {
    pub(super) fn of(status: &Status) -> Self {
        let info = status.get_details_error_info();
        let request = status.get_details_bad_request();
        let locked = info.as_ref().and_then(|info| info.metadata.get(LOCKED_FIELD));
        let wrong = request.as_ref().and_then(|request| request.field_violations.first());
        let field = wrong.map(|violation| &violation.field).or(locked).map(|path| known_part(path)).unwrap_or_default();
        let field = (!field.is_empty()).then(|| field.to_owned());
        Self { reason: info.map(|info| info.reason), field }
    }
}

/// The key of an `ErrorInfo`'s metadata that names a locked field.
pub(super) const LOCKED_FIELD: &str = "field";

tokio::task_local! {
    /// The workspace that the running call names.
    static WORKSPACE: RefCell<Option<Id>>;
}

/// Keeps the workspace that the running call names, for its log line.
pub(super) fn keep_workspace(id: &Id) {
    let _ = WORKSPACE.try_with(|workspace| *workspace.borrow_mut() = Some(id.clone()));
}

/// Runs a call; also gives the workspace that it named.
pub(super) async fn with_workspace<T>(call: impl Future<Output = T>) -> (T, Option<Id>) {
    let call = async { (call.await, WORKSPACE.with(RefCell::take)) };
    WORKSPACE.scope(RefCell::default(), call).await
}

/// A field path up to the first name that is not the contract's, such as the key of a variable.
fn known_part(path: &str) -> &str {
    static NAMES: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let messages = descriptors().all_messages().filter(|message| message.package_name() == "promptd.v1");
        messages.flat_map(|message| message.fields().map(|field| field.name().to_owned()).collect::<Vec<_>>()).collect()
    });
    let mut end = 0;
    for segment in path.split('.') {
        let name = segment.split('[').next().unwrap_or_default();
        if !NAMES.contains(name) {
            break;
        }
        end += segment.len() + usize::from(end > 0);
        // The names below these are the caller's.
        if ["variables", "inputs"].contains(&name) {
            break;
        }
    }
    &path[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpc::pipeline::Error;

    #[test]
    fn a_failure_has_its_reason_and_a_field_of_the_contract() {
        for (path, field) in [
            ("turn.time_zone", Some("turn.time_zone")),
            ("turn.conversation.messages[3].role", Some("turn.conversation.messages[3].role")),
            ("turn.variables.user", Some("turn.variables")),
            ("turn.inputs.SECRET[0].x", Some("turn.inputs")),
            ("turn.SECRET", Some("turn")),
            ("SECRET", None),
            ("", None),
        ] {
            let failure = Failure::of(&Error::invalid(path, "SECRET").into());
            assert_eq!(failure.reason.as_deref(), Some("INVALID_REQUEST"));
            assert_eq!(failure.field.as_deref(), field, "{path}");
        }
        let failure = Failure::of(&Error::Locked("turn.persona".into()).into());
        assert_eq!(failure.field.as_deref(), Some("turn.persona"));
        assert_eq!(Failure::of(&Error::TokenMissing.into()).field, None);
        assert_eq!(Failure::of(&Status::internal("SECRET")), Failure::default());
    }
}
