//! Errors as gRPC statuses, always with details, and statuses as responses.

use std::collections::HashMap;

use http::Response;
use promptd_core::prompt::BudgetTooSmall;
use tonic::{Code, Status, body::Body};
use tonic_types::{ErrorDetails, FieldViolation, PreconditionViolation, StatusExt};

use super::{
    error::{DOMAIN, Error, shown},
    failure::LOCKED_FIELD,
};

/// The most bytes of violations in one status. Clients accept 8 KiB of trailers in all: the details in base64, and the
/// message twice.
const VIOLATION_BYTES: usize = 3_072;

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        Self::with_error_details(error.code(), error.message(), details(&error))
    }
}

/// The response that carries a status and nothing else.
pub(crate) fn respond(status: Status) -> Response<Body> {
    let (parts, ()) = status.into_http::<()>().into_parts();
    Response::from_parts(parts, Body::empty())
}

/// tonic's message for a request that ends without a message.
const NO_MESSAGE: &str = "Missing request message.";

/// An error of tonic's own has no details and not always the right code: it becomes one of this server.
pub(super) fn with_details(status: Status, max_message_bytes: usize) -> Status {
    if !status.details().is_empty() {
        return status;
    }
    let message = status.message();
    let error = match status.code() {
        // tonic's code for a message over the limit; gRPC's is RESOURCE_EXHAUSTED.
        Code::OutOfRange | Code::ResourceExhausted => Error::MessageTooLarge { limit: max_message_bytes },
        Code::Internal if message == NO_MESSAGE => Error::Incomplete,
        // tonic's code for a message that cannot be decoded; this server's own statuses all have details.
        Code::Internal => Error::Unreadable,
        code => Error::Foreign(code, message.to_owned()),
    };
    error.into()
}

fn details(error: &Error) -> ErrorDetails {
    let mut details = ErrorDetails::with_error_info(error.reason(), DOMAIN, HashMap::new());
    match error {
        Error::Invalid(violations) => {
            let pairs = violations.iter().map(|v| (v.field.as_str(), v.message.clone()));
            let fields = bounded(pairs).into_iter().map(|(field, text)| FieldViolation::new(field, text));
            details.set_bad_request(fields.collect::<Vec<_>>());
        }
        Error::Locked(field) => {
            let metadata = HashMap::from([(LOCKED_FIELD.to_owned(), field.clone())]);
            details.set_error_info(error.reason(), DOMAIN, metadata);
        }
        Error::Part { metadata: Some((key, value)), .. } => {
            let metadata = HashMap::from([((*key).to_owned(), value.clone())]);
            details.set_error_info(error.reason(), DOMAIN, metadata);
        }
        Error::Missing { kind, name } => {
            details.set_resource_info(*kind, shown(name), "", error.message());
        }
        Error::UnknownWorkspace { id, .. } => {
            details.set_resource_info("workspace", id.as_str(), "", error.message());
        }
        Error::PromptLoss(lost) => {
            let pairs = lost.iter().map(|(section, reason)| (section.as_str(), reason.clone()));
            set_preconditions(&mut details, "PROMPT_LOSS", bounded(pairs));
        }
        Error::BudgetTooSmall(BudgetTooSmall { budget, pinned, floors }) => {
            let figures = [("max", budget.max as usize), ("pinned", *pinned), ("floors", *floors)];
            let mut metadata: HashMap<_, _> =
                figures.map(|(name, figure)| (name.to_owned(), figure.to_string())).into();
            metadata.insert("unit".into(), budget.unit.to_string());
            details.set_error_info(error.reason(), DOMAIN, metadata);
            set_preconditions(&mut details, "BUDGET_TOO_SMALL", vec![("budget".to_owned(), error.message())]);
        }
        Error::WorkspaceInvalid { faults, .. } => {
            let places: Vec<_> = faults.iter().map(|fault| (fault.place.to_string(), fault)).collect();
            let pairs = places
                .iter()
                .map(|(place, fault)| (place.as_str(), format!("{}: {}", fault.code.as_str(), fault.message)));
            set_preconditions(&mut details, "WORKSPACE_INVALID", bounded(pairs));
        }
        Error::Overloaded { retry }
        | Error::Starting { retry }
        | Error::Draining { retry }
        | Error::RightsChanged { retry } => {
            details.set_retry_info(Some(*retry));
        }
        _ => {}
    }
    details
}

fn set_preconditions(details: &mut ErrorDetails, kind: &str, pairs: Vec<(String, String)>) {
    let violation = |(subject, text)| PreconditionViolation::new(kind, subject, text);
    details.set_precondition_failure(pairs.into_iter().map(violation).collect::<Vec<_>>());
}

/// As many pairs as fit into a status, then one that counts the rest.
fn bounded<'a>(pairs: impl ExactSizeIterator<Item = (&'a str, String)>) -> Vec<(String, String)> {
    let (total, mut used, mut kept) = (pairs.len(), 0, Vec::new());
    for (subject, text) in pairs {
        let pair = (shown(subject), shown(&text));
        used += pair.0.len() + pair.1.len();
        if used > VIOLATION_BYTES {
            kept.push((String::new(), format!("{} more are left out", total - kept.len())));
            break;
        }
        kept.push(pair);
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use promptd_contract::decode::Violation;

    use super::*;
    use crate::grpc::pipeline::error::{Exceeded, code_name};

    fn samples() -> Vec<Error> {
        let retry = Duration::from_secs(1);
        let long = "x".repeat(10_000);
        let violation = Violation { field: format!("turn.variables.{long}"), message: long.clone() };
        vec![
            Error::Invalid(vec![violation; 100]),
            Error::Missing { kind: "workspace", name: long.clone() },
            Error::UnknownWorkspace { id: "x".repeat(64), nearest: Some("y".repeat(64)) },
            Error::RevisionExpired,
            Error::PromptLoss(vec![(long.clone(), long.clone()); 500]),
            Error::WorkspaceInvalid { id: "a".into(), faults: vec![] },
            Error::FileTooLarge { path: long.clone(), bytes: 5, limit: 4 },
            Error::FileUnreadable { path: long.clone(), why: "is gone".into() },
            Error::FileHidden { path: long, why: "the workspace leaves it out" },
            Error::MessageTooLarge { limit: 4_194_304 },
            Error::MetadataTooLarge { limit: 16_384 },
            Error::Unreadable,
            Error::Incomplete,
            Error::RequestTimeout,
            Error::ConnectionFull,
            Error::Overloaded { retry },
            Error::Starting { retry },
            Error::Draining { retry },
            Error::RightsChanged { retry },
            Error::TokenMissing,
            Error::TokenUnknown,
            Error::QuotaExceeded(Exceeded::PerSecond),
            Error::QuotaExceeded(Exceeded::InFlight),
            Error::Forbidden,
            Error::Locked("profile".into()),
            Error::HostNotAllowed,
            Error::OriginNotAllowed,
            Error::DeadlineExceeded,
            Error::Unimplemented("no".into()),
            Error::Internal,
            Error::Foreign(Code::NotFound, "no symbol".into()),
        ]
    }

    #[test]
    fn every_error_has_a_reason_and_fits_into_trailers() {
        for error in samples() {
            let status = Status::from(error.clone());
            let info = status.get_details_error_info().unwrap();
            assert!(info.reason.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'), "{}", info.reason);
            assert_eq!(info.domain, DOMAIN);
            let mut headers = http::HeaderMap::new();
            status.add_header(&mut headers).unwrap();
            let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum();
            assert!(bytes < 8_192, "{error:?}: {bytes}");
            let kinds: std::collections::BTreeSet<_> =
                status.get_error_details_vec().iter().map(std::mem::discriminant).map(|d| format!("{d:?}")).collect();
            assert_eq!(kinds.len(), status.get_error_details_vec().len());
        }
    }

    #[test]
    fn every_reason_is_in_the_table_for_callers() {
        const CALLING: &str = include_str!("../../../docs/calling.md");
        let foreign = |error: &Error| matches!(error, Error::Foreign(..));
        for error in samples().into_iter().filter(|error| !foreign(error)) {
            let cell = format!("`{}`", error.reason());
            let named = |row: &str| row.starts_with(&format!("| {} |", code_name(error.code()))) && row.contains(&cell);
            assert!(CALLING.lines().any(named), "{} {cell}", code_name(error.code()));
        }
    }

    #[test]
    fn omitted_violations_are_counted() {
        let details = Status::from(samples().remove(0)).get_details_bad_request().unwrap();
        let last = &details.field_violations.last().unwrap().description;
        assert_eq!(*last, format!("{} more are left out", 101 - details.field_violations.len()));
    }

    #[test]
    fn only_unavailable_asks_for_a_retry() {
        for error in samples() {
            let status = Status::from(error);
            assert_eq!(status.get_details_retry_info().is_some(), status.code() == Code::Unavailable);
        }
    }
}
