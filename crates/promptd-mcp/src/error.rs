//! promptd's errors as those of JSON-RPC.

use rmcp::{ErrorData, model::ErrorCode};
use serde_json::{Map, Value, json};

use crate::Failure;

/// For what promptd refuses although the request is well formed; `data` says why.
const REFUSED: ErrorCode = ErrorCode(-32_000);

impl From<Failure> for ErrorData {
    fn from(failure: Failure) -> Self {
        let code = match failure.status.as_str() {
            "INVALID_ARGUMENT" | "NOT_FOUND" => ErrorCode::INVALID_PARAMS,
            "INTERNAL" | "UNKNOWN" | "DATA_LOSS" => ErrorCode::INTERNAL_ERROR,
            _ => REFUSED,
        };
        let message = failure.to_string();
        Self::new(code, message, Some(data(failure)))
    }
}

fn data(failure: Failure) -> Value {
    let Failure { status, reason, fields, .. } = failure;
    let mut data = json!({ "status": status, "reason": reason });
    if !fields.is_empty() {
        data["fields"] =
            fields.into_iter().map(|(field, text)| (field, Value::from(text))).collect::<Map<_, _>>().into();
    }
    data
}

/// That the server has no such resource, or not for this client.
pub(crate) fn unknown_resource(uri: &str) -> ErrorData {
    ErrorData::resource_not_found("there is no such resource", Some(json!({ "uri": uri })))
}

/// The same of a skill, or of a folder in one.
pub(crate) fn unknown_skill(uri: &str) -> ErrorData {
    ErrorData::invalid_params("there is no such skill, or no such folder in it", Some(json!({ "uri": uri })))
}

/// The same with the reason that promptd gives.
pub(crate) fn of_resource(failure: Failure, uri: &str) -> ErrorData {
    let missing = failure.status == "NOT_FOUND";
    let mut error = ErrorData::from(failure);
    if missing {
        error.code = ErrorCode::RESOURCE_NOT_FOUND;
    }
    if let Some(data) = &mut error.data {
        data["uri"] = uri.into();
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_keeps_its_reason_and_its_fields() {
        let failure = Failure {
            status: "FAILED_PRECONDITION".into(),
            reason: "WORKSPACE_INVALID".into(),
            message: "the workspace never loaded".into(),
            fields: vec![("workspace.yaml:1:1".into(), "unknown key".into())],
        };
        let error = of_resource(failure, "skill://w/s/SKILL.md");
        assert_eq!(
            (error.code, &*error.message),
            (REFUSED, "the workspace never loaded; workspace.yaml:1:1: unknown key")
        );
        let data = json!({"status": "FAILED_PRECONDITION", "reason": "WORKSPACE_INVALID",
            "fields": {"workspace.yaml:1:1": "unknown key"}, "uri": "skill://w/s/SKILL.md"});
        assert_eq!(error.data, Some(data));
        assert_eq!(ErrorData::from(Failure::invalid("no")).code, ErrorCode::INVALID_PARAMS);
    }
}
