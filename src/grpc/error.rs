//! What callers are told when a call fails: one type, one status each, always with details.
//!
//! No text here holds an absolute server path, a file's contents or the name of a workspace that the caller did not
//! name itself.

use std::{collections::HashMap, time::Duration};

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, PreconditionViolation, StatusExt};

use promptd_contract::decode::Violation;
use promptd_core::{finding::Finding, prompt::TurnError};

/// The domain of every `ErrorInfo`.
pub const DOMAIN: &str = "promptd";

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Error {
    /// Fields of the request are wrong.
    Invalid(Vec<Violation>),
    /// There is no such thing: its kind (`workspace`, `skill` …) and the name that the caller gave.
    Missing { kind: &'static str, name: String },
    /// The pinned revision is no longer held.
    RevisionExpired,
    /// `strict`, and something was lost: section and reason.
    PromptLoss(Vec<(String, String)>),
    /// The workspace exists but never loaded well.
    WorkspaceInvalid { id: String, faults: Vec<Finding> },
    /// A file is larger than an answer carries.
    FileTooLarge { path: String, bytes: u64, limit: usize },
    /// A file of the snapshot cannot be read now, or is no longer what it was.
    FileUnreadable { path: String, why: String },
    /// The request message is over the limit.
    MessageTooLarge { limit: usize },
    /// The request is no message of the contract.
    Unreadable,
    /// The request ended before its message came: mostly a caller that went away.
    Incomplete,
    /// More calls or streams than the server takes.
    Overloaded { retry: Duration },
    /// The server does not serve yet.
    Starting { retry: Duration },
    /// The server is about to end.
    Draining { retry: Duration },
    /// What the caller's token may do changed under an open stream.
    RightsChanged { retry: Duration },
    /// No token.
    TokenMissing,
    /// A token that is not known, or no longer.
    TokenUnknown,
    /// The token is not for that workspace, if there is one.
    Forbidden,
    /// The operator locked a field that the request sets.
    Locked(String),
    /// The deadline passed.
    DeadlineExceeded,
    /// An error of a library below, which came without details.
    Foreign(Code, String),
    /// The server has no such method or feature.
    Unimplemented(String),
    /// A fault of the server's own.
    Internal,
}

/// The most bytes of violations in one status. Clients take 8 KiB of trailers in all: the details in base64, and the
/// message, which stands there twice.
const VIOLATION_BYTES: usize = 3_072;
/// The most characters of a status message, and of one violation's text.
const TEXT_CHARS: usize = 300;

impl Error {
    /// One field is wrong.
    pub(super) fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![Violation { field: field.into(), message: message.into() }])
    }

    pub(super) fn code(&self) -> Code {
        match self {
            Self::Invalid(_) | Self::Unreadable => Code::InvalidArgument,
            Self::Incomplete => Code::Cancelled,
            Self::Missing { .. } | Self::RevisionExpired => Code::NotFound,
            Self::PromptLoss(_)
            | Self::WorkspaceInvalid { .. }
            | Self::FileTooLarge { .. }
            | Self::FileUnreadable { .. } => Code::FailedPrecondition,
            Self::MessageTooLarge { .. } => Code::ResourceExhausted,
            Self::Overloaded { .. } | Self::Starting { .. } | Self::Draining { .. } | Self::RightsChanged { .. } => {
                Code::Unavailable
            }
            Self::TokenMissing | Self::TokenUnknown => Code::Unauthenticated,
            Self::Forbidden | Self::Locked(_) => Code::PermissionDenied,
            Self::DeadlineExceeded => Code::DeadlineExceeded,
            Self::Unimplemented(_) => Code::Unimplemented,
            Self::Internal => Code::Internal,
            Self::Foreign(code, _) => *code,
        }
    }

    /// The `ErrorInfo` reason: stable, for programs.
    fn reason(&self) -> String {
        match self {
            Self::Invalid(_) => "INVALID_REQUEST".into(),
            Self::Missing { kind, .. } => format!("{}_NOT_FOUND", kind.to_uppercase().replace(' ', "_")),
            Self::RevisionExpired => "REVISION_EXPIRED".into(),
            Self::PromptLoss(_) => "PROMPT_LOSS".into(),
            Self::WorkspaceInvalid { .. } => "WORKSPACE_INVALID".into(),
            Self::FileTooLarge { .. } => "FILE_TOO_LARGE".into(),
            Self::FileUnreadable { .. } => "FILE_UNREADABLE".into(),
            Self::MessageTooLarge { .. } => "MESSAGE_TOO_LARGE".into(),
            Self::Unreadable => "REQUEST_UNREADABLE".into(),
            Self::Incomplete => "REQUEST_INCOMPLETE".into(),
            Self::Overloaded { .. } => "OVERLOADED".into(),
            Self::Starting { .. } => "STARTING".into(),
            Self::Draining { .. } => "DRAINING".into(),
            Self::RightsChanged { .. } => "TOKEN_RIGHTS_CHANGED".into(),
            Self::TokenMissing => "TOKEN_MISSING".into(),
            Self::TokenUnknown => "TOKEN_UNKNOWN".into(),
            Self::Forbidden => "WORKSPACE_FORBIDDEN".into(),
            Self::Locked(_) => "FIELD_LOCKED".into(),
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED".into(),
            Self::Unimplemented(_) => "UNIMPLEMENTED".into(),
            Self::Internal => "INTERNAL".into(),
            Self::Foreign(code, _) => code_name(*code).into(),
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Invalid(violations) => summary("invalid request", violations.iter().map(ToString::to_string)),
            Self::Missing { kind, name } => format!("there is no {kind} `{}`", shown(name)),
            Self::RevisionExpired => {
                "the pinned revision is no longer held; leave `revision` empty for the newest".into()
            }
            Self::PromptLoss(lost) => {
                let each = lost.iter().map(|(section, reason)| format!("{section}: {reason}"));
                summary("the prompt would lose text", each)
            }
            Self::WorkspaceInvalid { id, faults } => {
                let each = faults.iter().map(|fault| format!("{}: {}", fault.place, fault.message));
                summary(&format!("workspace `{id}` cannot be used until it is mended"), each)
            }
            Self::FileTooLarge { path, bytes, limit } => {
                format!("`{}` has {bytes} bytes; an answer carries at most {limit}", shown(path))
            }
            Self::FileUnreadable { path, why } => format!("`{}` {why}", shown(path)),
            Self::MessageTooLarge { limit } => {
                format!("the request message is larger than the server's limit of {limit} bytes")
            }
            Self::Unreadable => "the request is no message of this method".into(),
            Self::Incomplete => "the request ended before its message".into(),
            Self::Overloaded { .. } => "too many calls at once; try again".into(),
            Self::Starting { .. } => "the server is starting; try again".into(),
            Self::Draining { .. } => "the server is stopping; try again elsewhere".into(),
            Self::RightsChanged { .. } => "the token's rights have changed; open the stream again".into(),
            Self::TokenMissing => "send `authorization: Bearer <token>`".into(),
            Self::TokenUnknown => "the token is not known".into(),
            Self::Forbidden => "the token is not for this workspace".into(),
            Self::Locked(field) => format!("{field}: the workspace's operator has locked it; leave it out"),
            Self::DeadlineExceeded => "the deadline has passed".into(),
            Self::Unimplemented(what) | Self::Foreign(_, what) => shown(what),
            Self::Internal => "the server failed; its log has more under the call's x-request-id".into(),
        }
    }

    fn details(&self) -> ErrorDetails {
        let mut details = ErrorDetails::with_error_info(self.reason(), DOMAIN, HashMap::new());
        match self {
            Self::Invalid(violations) => {
                let pairs = violations.iter().map(|v| (v.field.as_str(), v.message.clone()));
                let fields = bounded(pairs).into_iter().map(|(field, text)| FieldViolation::new(field, text));
                details.set_bad_request(fields.collect::<Vec<_>>());
            }
            Self::Missing { kind, name } => {
                details.set_resource_info(*kind, shown(name), "", self.message());
            }
            Self::PromptLoss(lost) => {
                let pairs = lost.iter().map(|(section, reason)| (section.as_str(), reason.clone()));
                set_preconditions(&mut details, "PROMPT_LOSS", bounded(pairs));
            }
            Self::WorkspaceInvalid { faults, .. } => {
                let places: Vec<_> = faults.iter().map(|fault| (fault.place.to_string(), fault)).collect();
                let pairs = places
                    .iter()
                    .map(|(place, fault)| (place.as_str(), format!("{}: {}", fault.code.as_str(), fault.message)));
                set_preconditions(&mut details, "WORKSPACE_INVALID", bounded(pairs));
            }
            Self::Overloaded { retry }
            | Self::Starting { retry }
            | Self::Draining { retry }
            | Self::RightsChanged { retry } => {
                details.set_retry_info(Some(*retry));
            }
            _ => {}
        }
        details
    }
}

fn set_preconditions(details: &mut ErrorDetails, kind: &str, pairs: Vec<(String, String)>) {
    let violation = |(subject, text)| PreconditionViolation::new(kind, subject, text);
    details.set_precondition_failure(pairs.into_iter().map(violation).collect::<Vec<_>>());
}

/// As many pairs as a status can carry, then one that counts the rest.
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

/// `what: first`, and how many more there are.
fn summary(what: &str, mut each: impl ExactSizeIterator<Item = String>) -> String {
    let more = each.len().saturating_sub(1);
    let first = each.next().unwrap_or_default();
    let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
    format!("{what}: {}{more}", shown(&first))
}

/// The text on one line, cut where it is long.
fn shown(text: &str) -> String {
    promptd_core::text::inline::inline(text, TEXT_CHARS).text.into_owned()
}

/// The code as gRPC writes it.
pub(super) fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        Self::with_error_details(error.code(), error.message(), error.details())
    }
}

impl From<TurnError> for Error {
    fn from(error: TurnError) -> Self {
        match error {
            TurnError::Invalid { field, message } => Self::invalid(field, message),
            TurnError::Locked { field } => Self::Locked(field.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Error> {
        let retry = Duration::from_secs(1);
        let long = "x".repeat(10_000);
        let violation = Violation { field: format!("turn.variables.{long}"), message: long.clone() };
        vec![
            Error::Invalid(vec![violation; 100]),
            Error::Missing { kind: "workspace", name: long.clone() },
            Error::RevisionExpired,
            Error::PromptLoss(vec![(long.clone(), long.clone()); 500]),
            Error::WorkspaceInvalid { id: "a".into(), faults: vec![] },
            Error::FileTooLarge { path: long.clone(), bytes: 5, limit: 4 },
            Error::FileUnreadable { path: long, why: "is gone".into() },
            Error::MessageTooLarge { limit: 4_194_304 },
            Error::Unreadable,
            Error::Incomplete,
            Error::Overloaded { retry },
            Error::Starting { retry },
            Error::Draining { retry },
            Error::RightsChanged { retry },
            Error::TokenMissing,
            Error::TokenUnknown,
            Error::Forbidden,
            Error::Locked("profile".into()),
            Error::DeadlineExceeded,
            Error::Unimplemented("no".into()),
            Error::Internal,
            Error::Foreign(Code::NotFound, "no symbol".into()),
        ]
    }

    #[test]
    fn every_error_says_its_reason_and_fits_into_a_clients_trailers() {
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
    fn what_is_left_out_is_counted() {
        let details = Status::from(samples().remove(0)).get_details_bad_request().unwrap();
        let last = &details.field_violations.last().unwrap().description;
        assert_eq!(*last, format!("{} more are left out", 101 - details.field_violations.len()));
    }

    #[test]
    fn only_unavailable_asks_to_retry() {
        for error in samples() {
            let status = Status::from(error);
            assert_eq!(status.get_details_retry_info().is_some(), status.code() == Code::Unavailable);
        }
    }
}
