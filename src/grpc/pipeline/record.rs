//! One log line and one count for every call, however it ends.

use std::{future::Future, sync::Arc, sync::OnceLock};

use http::{Extensions, HeaderMap, HeaderValue};
use promptd_core::id::Id;
use tokio::time::Instant;
use tonic::{Code, Status};

use super::{
    auth::Caller,
    error::code_name,
    failure::{Failure, with_workspace},
    trace::{RequestId, TRACE_PARENT, TRACE_STATE, trace_parent},
};
use crate::grpc::{FinishedCall, Telemetry, TraceParent, TracedCall, TracedPrompt, Tracer, deadline::now};

/// A call that has started. Dropped without [`Record::finish`], it was cancelled by its caller.
///
/// It keeps the fields of the call's log line. A span would be made and dropped for every call, though most calls log
/// nothing.
pub(super) struct Record {
    telemetry: Arc<dyn Telemetry>,
    method: &'static str,
    id: RequestId,
    /// The `traceparent` as it came: it is parsed when there is a line to write.
    trace: Option<HeaderValue>,
    followed: Option<Followed>,
    /// Set once the caller is known.
    pub(super) caller: Caller,
    pub(super) started: Instant,
    /// The workspace that the call named, once it is read.
    workspace: OnceLock<Id>,
    failure: Failure,
    finished: bool,
}

/// What is kept of a call for its trace.
struct Followed {
    tracer: Tracer,
    state: Option<HeaderValue>,
    prompt: Option<TracedPrompt>,
}

/// Logs an event with the call's fields: names that the server knows, and ids that were checked.
macro_rules! log {
    ($level:ident, $record:expr, $($rest:tt)+) => {
        tracing::$level!(
            method = $record.method,
            request_id = $record.id.as_str(),
            caller = $record.caller.name(),
            trace_id = $record.parent().map(|parent| parent.trace_id),
            parent_id = $record.parent().map(|parent| parent.span_id),
            workspace = $record.workspace.get().map(Id::as_str),
            reason = $record.failure.reason.as_deref(),
            field = $record.failure.field.as_deref(),
            $($rest)+
        )
    };
}

impl Record {
    pub(super) fn start(
        telemetry: Arc<dyn Telemetry>,
        tracer: Option<&Tracer>,
        method: &'static str,
        id: RequestId,
        headers: &HeaderMap,
    ) -> Self {
        telemetry.call_started(method);
        let trace = headers.get(TRACE_PARENT).cloned();
        let state = || headers.get(TRACE_STATE).cloned();
        let followed = tracer.map(|tracer| Followed { tracer: Arc::clone(tracer), state: state(), prompt: None });
        Self {
            telemetry,
            method,
            id,
            trace,
            followed,
            caller: Caller::default(),
            started: now(),
            workspace: OnceLock::new(),
            failure: Failure::default(),
            finished: false,
        }
    }

    /// Runs the call's service.
    pub(super) async fn run<T>(&self, call: impl Future<Output = T>) -> T {
        let (outcome, workspace) = with_workspace(call).await;
        if let Some(workspace) = workspace {
            let _ = self.workspace.set(workspace);
        }
        outcome
    }

    pub(super) fn finish(mut self, code: Code) {
        self.report(code);
    }

    pub(super) fn fail(mut self, status: &Status) {
        self.failure = Failure::of(status);
        self.report(status.code());
    }

    pub(super) fn panicked(&self) {
        self.telemetry.call_panicked(self.method);
        log!(error, self, "the call panicked");
    }

    /// Keeps the prompt of an answer for the call's trace.
    pub(super) fn keep_prompt(&mut self, extensions: &mut Extensions) {
        if let Some(followed) = &mut self.followed {
            followed.prompt = extensions.remove();
        }
    }

    fn parent(&self) -> Option<TraceParent<'_>> {
        self.trace.as_ref().and_then(trace_parent)
    }

    fn report(&mut self, code: Code) {
        self.finished = true;
        let (took, code) = (now() - self.started, code_name(code));
        self.telemetry.call_finished(FinishedCall { method: self.method, code, took });
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        match code {
            "OK" | "CANCELLED" => log!(debug, self, code, micros, "call"),
            _ => log!(info, self, code, micros, "call"),
        }
        if let Some(followed) = &self.followed {
            (followed.tracer)(&TracedCall {
                method: self.method,
                parent: self.parent(),
                trace_state: followed.state.as_ref().and_then(|state| state.to_str().ok()),
                took,
                code,
                reason: self.failure.reason.as_deref(),
                request_id: self.id.as_str(),
                workspace: self.workspace.get(),
                prompt: followed.prompt.as_ref(),
            });
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if !self.finished {
            self.report(Code::Cancelled);
        }
    }
}
