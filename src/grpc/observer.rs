//! What the server tells those who watch it from outside.

use std::time::Duration;

use promptd_core::prompt::Prompt;

/// Told of calls as they happen; metrics implement it. Every label is one of a fixed few, never a caller's word.
pub trait Observer: Send + Sync + 'static {
    /// A call has begun.
    fn call_began(&self, method: &'static str) {
        let _ = method;
    }

    /// A call that had begun has ended.
    fn call_ended(&self, call: Call) {
        let _ = call;
    }

    /// A call panicked; its caller was told INTERNAL.
    fn panicked(&self, method: &'static str) {
        let _ = method;
    }

    /// A connection was refused, since there were too many.
    fn connection_refused(&self) {}

    /// A prompt was assembled.
    fn assembled(&self, prompt: &Prompt<'_>, took: Duration) {
        let _ = (prompt, took);
    }
}

/// A call that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// `promptd.v1.PromptService/AssemblePrompt` …; `other` for a method that the server does not have.
    pub method: &'static str,
    /// `OK`, `NOT_FOUND` …; `CANCELLED` where the caller went away.
    pub code: &'static str,
    /// From its first byte to its last.
    pub took: Duration,
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
