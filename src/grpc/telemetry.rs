//! The server's events, for metrics.

use std::time::Duration;

use promptd_core::{canary::Side, prompt::Prompt};

/// What can be wrong with a request that is not a call.
pub const REFUSALS: [&str; 7] = ["host", "origin", "path", "verb", "content_type", "http_version", "grpc_web"];

/// Receives events as they happen; metrics implement it. Every method name and code is one of a fixed set: nothing of a
/// caller's becomes a label.
pub trait Telemetry: Send + Sync + 'static {
    /// A call has started.
    fn call_started(&self, method: &'static str) {
        let _ = method;
    }

    /// A call that had started has finished.
    fn call_finished(&self, call: FinishedCall) {
        let _ = call;
    }

    /// A call panicked and was answered INTERNAL.
    fn call_panicked(&self, method: &'static str) {
        let _ = method;
    }

    /// A connection over the limit was closed.
    fn connection_refused(&self) {}

    /// A request was refused before it was a call: one of [`REFUSALS`] says what was wrong with it.
    fn request_refused(&self, reason: &'static str) {
        let _ = reason;
    }

    /// A prompt was assembled; while a canary runs on its workspace, of this side.
    fn prompt_assembled(&self, prompt: &Prompt<'_>, side: Option<Side>, took: Duration) {
        let _ = (prompt, side, took);
    }
}

/// A call that has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinishedCall {
    /// `promptd.v1.PromptService/AssemblePrompt` …; `other` for a method that the server does not have.
    pub method: &'static str,
    /// `OK`, `NOT_FOUND` …; `CANCELLED` where the caller went away.
    pub code: &'static str,
    /// From its first byte to its last.
    pub took: Duration,
}

/// Ignores every event.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTelemetry;

impl Telemetry for NoTelemetry {}
