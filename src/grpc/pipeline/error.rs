//! Why a call fails: one type, with one status code, one reason and one message each.
//!
//! No text here holds an absolute server path, a file's contents or the name of a workspace that the caller did not
//! name.

use std::time::Duration;

use tonic::Code;

use crate::grpc::budget::Exhausted;
use promptd_contract::decode::Violation;
use promptd_core::{
    finding::Finding,
    prompt::{BudgetTooSmall, TurnError},
};

/// The domain of every `ErrorInfo`.
pub const DOMAIN: &str = "promptd";

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Error {
    /// Fields of the request are wrong.
    Invalid(Vec<Violation>),
    /// Not found: its kind (`workspace`, `skill` …) and the name that the caller gave.
    Missing { kind: &'static str, name: String },
    /// The workspace does not exist; `nearest` may be meant.
    UnknownWorkspace { id: String, nearest: Option<String> },
    /// The pinned revision is no longer held.
    RevisionExpired,
    /// `strict`, and something was lost: section and reason.
    PromptLoss(Vec<(String, String)>),
    /// What must not be cut exceeds the prompt's budget.
    BudgetTooSmall(BudgetTooSmall),
    /// The workspace exists but never loaded well.
    WorkspaceInvalid { id: String, faults: Vec<Finding> },
    /// A file is too large for an answer.
    FileTooLarge { path: String, bytes: u64, limit: usize },
    /// A file of the snapshot cannot be read now, or has changed.
    FileUnreadable { path: String, why: String },
    /// What the file shows is hidden from the caller: its path, and why.
    FileHidden { path: String, why: &'static str },
    /// The request message is over the limit.
    MessageTooLarge { limit: usize },
    /// The request's headers and address are over the limit.
    MetadataTooLarge { limit: usize },
    /// The request cannot be decoded.
    Unreadable,
    /// The request ended before its message was complete: mostly a caller that went away.
    Incomplete,
    /// The request took too long to arrive.
    RequestTimeout,
    /// The connection has its share of unread requests or unsent answers, or of unfinished health checks.
    ConnectionFull,
    /// More calls, streams or bytes than the server takes.
    Overloaded { retry: Duration },
    /// The server is not ready yet.
    Starting { retry: Duration },
    /// The server is stopping.
    Draining { retry: Duration },
    /// The rights of the caller's token changed while a stream was open.
    RightsChanged { retry: Duration },
    /// The request has no token.
    TokenMissing,
    /// The token is not known, or no longer.
    TokenUnknown,
    /// A quota of the token is used up.
    QuotaExceeded(Exceeded),
    /// The token does not admit the workspace, whether it exists or not.
    Forbidden,
    /// The operator locked a field that the request sets.
    Locked(String),
    /// No token is needed, and the request is for a host that is not this server's.
    HostNotAllowed,
    /// No token is needed, and the request is by a page that may not call.
    OriginNotAllowed,
    /// The deadline passed.
    DeadlineExceeded,
    /// What an optional part of the service says.
    #[cfg_attr(
        not(any(feature = "memory", feature = "etcd")),
        expect(dead_code, reason = "this build has no such part")
    )]
    Part { code: Code, reason: &'static str, message: String, metadata: Option<(&'static str, String)> },
    /// An error of a library, without details.
    Foreign(Code, String),
    /// The server has no such method or feature.
    Unimplemented(String),
    /// A bug of the server.
    Internal,
}

/// The most characters of a status message, and of one violation's text.
const TEXT_CHARS: usize = 300;

/// Which quota is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exceeded {
    PerSecond,
    InFlight,
}

impl Error {
    /// One field is wrong.
    pub(crate) fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid(vec![Violation { field: field.into(), message: message.into() }])
    }

    /// No more bytes can be held.
    pub(in crate::grpc) fn exhausted(exhausted: Exhausted, retry: Duration) -> Self {
        match exhausted {
            Exhausted::Connection => Self::ConnectionFull,
            Exhausted::Server => Self::Overloaded { retry },
        }
    }

    pub(super) fn code(&self) -> Code {
        match self {
            Self::Invalid(_) | Self::Unreadable => Code::InvalidArgument,
            Self::Incomplete => Code::Cancelled,
            Self::Missing { .. } | Self::UnknownWorkspace { .. } | Self::RevisionExpired => Code::NotFound,
            Self::PromptLoss(_)
            | Self::BudgetTooSmall(_)
            | Self::WorkspaceInvalid { .. }
            | Self::FileTooLarge { .. }
            | Self::FileUnreadable { .. } => Code::FailedPrecondition,
            Self::MessageTooLarge { .. }
            | Self::MetadataTooLarge { .. }
            | Self::ConnectionFull
            | Self::QuotaExceeded(_) => Code::ResourceExhausted,
            Self::Overloaded { .. } | Self::Starting { .. } | Self::Draining { .. } | Self::RightsChanged { .. } => {
                Code::Unavailable
            }
            Self::TokenMissing | Self::TokenUnknown => Code::Unauthenticated,
            Self::Forbidden
            | Self::Locked(_)
            | Self::FileHidden { .. }
            | Self::HostNotAllowed
            | Self::OriginNotAllowed => Code::PermissionDenied,
            Self::DeadlineExceeded | Self::RequestTimeout => Code::DeadlineExceeded,
            Self::Unimplemented(_) => Code::Unimplemented,
            Self::Internal => Code::Internal,
            Self::Part { code, .. } | Self::Foreign(code, _) => *code,
        }
    }

    /// The `ErrorInfo` reason: stable, for programs.
    pub(in crate::grpc) fn reason(&self) -> String {
        match self {
            Self::Invalid(_) => "INVALID_REQUEST".into(),
            Self::Missing { kind, .. } => format!("{}_NOT_FOUND", kind.to_uppercase().replace(' ', "_")),
            Self::UnknownWorkspace { .. } => "WORKSPACE_NOT_FOUND".into(),
            Self::RevisionExpired => "REVISION_EXPIRED".into(),
            Self::PromptLoss(_) => "PROMPT_LOSS".into(),
            Self::BudgetTooSmall(_) => "BUDGET_TOO_SMALL".into(),
            Self::WorkspaceInvalid { .. } => "WORKSPACE_INVALID".into(),
            Self::FileTooLarge { .. } => "FILE_TOO_LARGE".into(),
            Self::FileUnreadable { .. } => "FILE_UNREADABLE".into(),
            Self::FileHidden { .. } => "FILE_HIDDEN".into(),
            Self::MessageTooLarge { .. } => "MESSAGE_TOO_LARGE".into(),
            Self::MetadataTooLarge { .. } => "METADATA_TOO_LARGE".into(),
            Self::Unreadable => "REQUEST_UNREADABLE".into(),
            Self::Incomplete => "REQUEST_INCOMPLETE".into(),
            Self::RequestTimeout => "REQUEST_TIMEOUT".into(),
            Self::ConnectionFull => "CONNECTION_FULL".into(),
            Self::Overloaded { .. } => "OVERLOADED".into(),
            Self::Starting { .. } => "STARTING".into(),
            Self::Draining { .. } => "DRAINING".into(),
            Self::RightsChanged { .. } => "TOKEN_RIGHTS_CHANGED".into(),
            Self::TokenMissing => "TOKEN_MISSING".into(),
            Self::TokenUnknown => "TOKEN_UNKNOWN".into(),
            Self::QuotaExceeded(_) => "QUOTA_EXCEEDED".into(),
            Self::Forbidden => "WORKSPACE_FORBIDDEN".into(),
            Self::Locked(_) => "FIELD_LOCKED".into(),
            Self::HostNotAllowed => "HOST_NOT_ALLOWED".into(),
            Self::OriginNotAllowed => "ORIGIN_NOT_ALLOWED".into(),
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED".into(),
            Self::Unimplemented(_) => "UNIMPLEMENTED".into(),
            Self::Internal => "INTERNAL".into(),
            Self::Part { reason, .. } => (*reason).into(),
            Self::Foreign(code, _) => code_name(*code).into(),
        }
    }

    pub(super) fn message(&self) -> String {
        match self {
            Self::Invalid(violations) => summary("invalid request", violations.iter().map(ToString::to_string)),
            Self::Missing { kind, name } if name.is_empty() => format!("the request names no {kind}"),
            Self::Missing { kind, name } => format!("there is no {kind} `{}`", shown(name)),
            Self::UnknownWorkspace { id, nearest } => {
                let hint = nearest.as_ref().map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
                format!("there is no workspace `{id}`; {hint}ListWorkspaces lists those that you may call")
            }
            Self::RevisionExpired => {
                "the pinned revision is no longer held; leave `revision` empty for the newest".into()
            }
            Self::PromptLoss(lost) => {
                let each = lost.iter().map(|(section, reason)| format!("{section}: {reason}"));
                summary("the prompt would lose text", each)
            }
            Self::BudgetTooSmall(error) => {
                format!("{error}; raise it, or pin less")
            }
            Self::WorkspaceInvalid { id, faults } => {
                let each = faults.iter().map(ToString::to_string);
                summary(&format!("workspace `{id}` cannot be used until it is fixed"), each)
            }
            Self::FileTooLarge { path, bytes, limit } => {
                format!("`{}` has {bytes} bytes; an answer carries at most {limit}", shown(path))
            }
            Self::FileUnreadable { path, why } => format!("`{}` {why}", shown(path)),
            Self::FileHidden { path, why } => format!("`{}` cannot be read here: {why}", shown(path)),
            Self::MessageTooLarge { limit } => {
                format!("the request message is larger than the server's limit of {limit} bytes")
            }
            Self::MetadataTooLarge { limit } => {
                format!("the request's headers and path are larger than the server's limit of {limit} bytes")
            }
            Self::Unreadable => "the request is not a message of this method".into(),
            Self::Incomplete => "the request ended before its message".into(),
            Self::RequestTimeout => "the request took too long to arrive".into(),
            Self::ConnectionFull => {
                "this connection has too many bytes of unfinished requests and unread answers; read answers, or use more \
                 connections"
                    .into()
            }
            Self::Overloaded { .. } => "too many calls at once; try again".into(),
            Self::Starting { .. } => "the server is starting; try again".into(),
            Self::Draining { .. } => "the server is stopping; try again elsewhere".into(),
            Self::RightsChanged { .. } => "the token's rights have changed; open the stream again".into(),
            Self::TokenMissing => "send `authorization: Bearer <token>`".into(),
            Self::TokenUnknown => "the token is not known".into(),
            Self::QuotaExceeded(Exceeded::PerSecond) => "the token has made its calls of this second".into(),
            Self::QuotaExceeded(Exceeded::InFlight) => "the token has as many calls in flight as it may".into(),
            Self::Forbidden => "the token is not for this workspace".into(),
            Self::Locked(field) => format!("{field}: the workspace's operator has locked it; leave it out"),
            Self::HostNotAllowed => {
                "the request is for a host that is not this server's; `grpc.hosts` lists the names that it is called by"
                    .into()
            }
            Self::OriginNotAllowed => {
                "the page that sent the request may not call; `grpc.web_origins` lists the origins whose pages may"
                    .into()
            }
            Self::DeadlineExceeded => "the deadline has passed".into(),
            Self::Unimplemented(what) | Self::Foreign(_, what) | Self::Part { message: what, .. } => shown(what),
            Self::Internal => "the server failed; its log has more under the call's x-request-id".into(),
        }
    }
}

/// `what: first (and N more)`.
fn summary(what: &str, mut each: impl ExactSizeIterator<Item = String>) -> String {
    let more = each.len().saturating_sub(1);
    let first = each.next().unwrap_or_default();
    let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
    format!("{what}: {}{more}", shown(&first))
}

/// The text on one line, cut where it is too long.
pub(super) fn shown(text: &str) -> String {
    promptd_core::text::inline::inline(text, TEXT_CHARS).text.into_owned()
}

/// The code as gRPC writes it.
pub(crate) fn code_name(code: Code) -> &'static str {
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

impl From<Vec<Violation>> for Error {
    fn from(violations: Vec<Violation>) -> Self {
        Self::Invalid(violations)
    }
}

impl From<TurnError> for Error {
    fn from(error: TurnError) -> Self {
        match error {
            TurnError::Invalid { field, message } => Self::invalid(field, message),
            TurnError::Locked { field } => Self::Locked(field),
            TurnError::BudgetTooSmall(error) => Self::BudgetTooSmall(error),
        }
    }
}
