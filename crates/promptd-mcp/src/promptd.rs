//! promptd's own calls, as this server makes them for its clients.

use std::fmt;

use bytes::Bytes;
use futures_util::{future::BoxFuture, stream::BoxStream};
use http::request::Parts;

/// What answers promptd's RPCs.
///
/// Each call is made as if the client had made it: with its token, and within all limits. So a client of this server sees
/// what it would see by gRPC, and nothing else.
pub trait Promptd: Send + Sync + 'static {
    /// Calls a method that answers with one message. `method` is a name such as `promptd.v1.ProfileService/GetProfile`,
    /// `message` an encoded request; `from` is the HTTP request that the call is made for, `None` for the process's own user.
    fn call(
        &self,
        method: &'static str,
        message: Bytes,
        from: Option<&Parts>,
    ) -> BoxFuture<'static, Result<Bytes, Failure>>;

    /// Calls a method that answers with a stream.
    fn open(
        &self,
        method: &'static str,
        message: Bytes,
        from: Option<&Parts>,
    ) -> BoxFuture<'static, Result<Messages, Failure>>;
}

/// The messages of a stream, encoded.
pub type Messages = BoxStream<'static, Result<Bytes, Failure>>;

/// Why a call failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// The name of the status: `NOT_FOUND` …
    pub status: String,
    /// promptd's own name for it: `SKILL_NOT_FOUND` …
    pub reason: String,
    /// One sentence.
    pub message: String,
    /// What is wrong with which field of the request, or part of the workspace.
    pub fields: Vec<(String, String)>,
}

impl Failure {
    /// A request that cannot be used.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self {
            status: "INVALID_ARGUMENT".into(),
            reason: "INVALID_REQUEST".into(),
            message: message.into(),
            fields: Vec::new(),
        }
    }

    /// What was asked for changed meanwhile.
    pub(crate) fn changed(message: impl Into<String>) -> Self {
        Self { status: "UNAVAILABLE".into(), reason: "CHANGED".into(), message: message.into(), fields: Vec::new() }
    }

    /// Whether the same call may succeed later, or for another who has more to spend.
    pub(crate) fn is_overload(&self) -> bool {
        matches!(self.status.as_str(), "UNAVAILABLE" | "RESOURCE_EXHAUSTED" | "DEADLINE_EXCEEDED" | "CANCELLED")
    }

    /// A fault of this server's.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self { status: "INTERNAL".into(), reason: "INTERNAL".into(), message: message.into(), fields: Vec::new() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for (field, text) in &self.fields {
            // The message of one wrong field has it already.
            if !self.message.contains(text.as_str()) {
                write!(f, "; {field}: {text}")?;
            }
        }
        Ok(())
    }
}
