//! The one error of this package, and how it is made of what gRPC reports.

use std::{error, fmt, time::Duration};

use tonic::{Code, Status, TimeoutExpired};
use tonic_types::StatusExt as _;

const DOMAIN: &str = "promptd";

/// A call that was refused or that no server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// gRPC's status.
    pub code: Code,
    /// promptd's reason, such as `WORKSPACE_NOT_FOUND`; docs/calling.md lists all. Empty: no server said anything.
    pub reason: String,
    /// What happened, where, and what to do about it.
    pub message: String,
    /// Each field that cannot be used, or each loss or fault that a precondition names.
    pub violations: Vec<Violation>,
    /// When the server wants the call again; `None`: it does not say.
    pub retry_after: Option<Duration>,
    /// The call's name in the server's log. Empty: it never got there.
    pub request_id: String,
}

/// A field of the request that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Its path, such as `turn.knowledge[3].content`.
    pub field: String,
    /// What is wrong with it.
    pub description: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl error::Error for Error {}

impl Error {
    /// Whether no server answered: a connection that fails or breaks, a deadline that passes in silence.
    pub fn is_unreachable(&self) -> bool {
        matches!(self.code, Code::Unavailable | Code::DeadlineExceeded) && self.reason.is_empty()
    }

    pub(crate) fn own(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: String::new(),
            message: message.into(),
            violations: Vec::new(),
            retry_after: None,
            request_id: String::new(),
        }
    }

    /// A request that is not sent, refused as the server would.
    pub(crate) fn refused(violations: Vec<Violation>) -> Self {
        let said: Vec<_> = violations.iter().map(|one| format!("{} {}", one.field, one.description)).collect();
        let error = Self::own(Code::InvalidArgument, said.join("; "));
        Self { reason: "INVALID_REQUEST".into(), violations, ..error }
    }

    /// The deadline passed without an answer.
    pub(crate) fn late(address: &str, timeout: Duration) -> Self {
        let message = format!("{address} did not answer within {timeout:?}; give the call more time with `timeout`");
        Self::own(Code::DeadlineExceeded, message)
    }

    /// Whether the transport gave up at the deadline that the call has.
    pub(crate) fn is_late(status: &Status) -> bool {
        sources(status).any(<dyn error::Error>::is::<TimeoutExpired>)
    }

    pub(crate) fn of(status: &Status, address: &str) -> Self {
        let info = status.get_details_error_info().filter(|info| info.domain == DOMAIN);
        let request_id = status.metadata().get("x-request-id").and_then(|id| id.to_str().ok());
        let request_id = request_id.unwrap_or_default().to_owned();
        let Some(info) = info else { return Self { request_id, ..Self::unsaid(status, address) } };
        let bad = status.get_details_bad_request().map(|bad| bad.field_violations).unwrap_or_default();
        let bad = bad.into_iter().map(|one| Violation { field: one.field, description: one.description });
        let failed = status.get_details_precondition_failure().map(|failed| failed.violations).unwrap_or_default();
        let failed = failed.into_iter().map(|one| Violation { field: one.subject, description: one.description });
        Self {
            code: status.code(),
            reason: info.reason,
            message: status.message().to_owned(),
            violations: bad.chain(failed).collect(),
            retry_after: status.get_details_retry_info().and_then(|info| info.retry_delay),
            request_id,
        }
    }

    /// What a failure means that the transport found by itself.
    fn unsaid(status: &Status, address: &str) -> Self {
        let message = status.message();
        // The connection failed or broke, whatever it was doing.
        if error::Error::source(status).is_some() || status.code() == Code::Unavailable {
            let cause = sources(status).last().map_or_else(|| message.to_owned(), ToString::to_string);
            let help = format!("check the address and TLS, or start one: `promptd serve --listen {address}`");
            return Self::own(Code::Unavailable, format!("no server answers at {address} ({cause}); {help}"));
        }
        if status.code() == Code::OutOfRange && message.contains("message length too large") {
            let help = "raise `max_answer_bytes` of the client, or ask for less with `omit_sections` or `reference_conversation`";
            return Self::own(
                Code::ResourceExhausted,
                format!("the answer of {address} is too large ({message}); {help}"),
            );
        }
        Self::own(status.code(), format!("{address}: {message}"))
    }
}

/// What an error comes of, the innermost last.
fn sources(status: &Status) -> impl Iterator<Item = &(dyn error::Error + 'static)> {
    std::iter::successors(error::Error::source(status), |error| error.source())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tonic_types::ErrorDetails;

    use super::*;

    #[test]
    fn only_promptd_gives_reasons() {
        for (domain, reason) in [("promptd", "OVERLOADED"), ("mesh.example", "")] {
            let mut details = ErrorDetails::with_error_info("OVERLOADED", domain, HashMap::new());
            details.set_retry_info(Some(Duration::from_secs(3)));
            let error = Error::of(&Status::with_error_details(Code::Unavailable, "busy", details), "here:1");
            assert_eq!((&*error.reason, error.is_unreachable()), (reason, reason.is_empty()));
            assert_eq!(error.retry_after.is_some(), !reason.is_empty());
        }
    }
}
