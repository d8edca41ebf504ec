//! Calls as a system of traces sees them.

use std::{sync::Arc, time::Duration};

use promptd_core::{digest::Digest, id::Id};

/// Receives every call as it ends. It does not wait.
pub type Tracer = Arc<dyn Fn(&TracedCall<'_>) + Send + Sync>;

/// A call that has ended. Nothing of it is a text of the caller's or of a prompt.
#[derive(Debug)]
pub struct TracedCall<'a> {
    /// `promptd.v1.PromptService/AssemblePrompt` …; `other` for a method that the server does not have.
    pub method: &'static str,
    /// The span that called.
    pub parent: Option<TraceParent<'a>>,
    /// `tracestate`, as it came.
    pub trace_state: Option<&'a str>,
    /// From its first byte to its last.
    pub took: Duration,
    /// `OK`, `NOT_FOUND` …
    pub code: &'static str,
    /// Why it failed: one of the reasons of docs/calling.md.
    pub reason: Option<&'a str>,
    /// Its id in logs and in its response.
    pub request_id: &'a str,
    /// The workspace that it named, which its caller may see.
    pub workspace: Option<&'a Id>,
    /// The prompt that it was answered with.
    pub prompt: Option<&'a TracedPrompt>,
}

/// What a W3C `traceparent` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent<'a> {
    /// 32 lower-case hex digits.
    pub trace_id: &'a str,
    /// 16 lower-case hex digits.
    pub span_id: &'a str,
    /// Whether the caller records its trace.
    pub is_sampled: bool,
}

/// A prompt, for a trace.
#[derive(Debug, Clone)]
pub struct TracedPrompt {
    /// The profile.
    pub profile: Id,
    /// The prompt's digest.
    pub digest: Digest,
}
