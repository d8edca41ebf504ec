//! One log line and one count for every call, however it ends.

use std::{future::Future, sync::Arc, sync::OnceLock};

use http::{HeaderMap, HeaderValue};
use promptd_core::id::Id;
use tokio::time::Instant;
use tonic::{Code, Status};

use super::{
    auth::Caller,
    error::code_name,
    failure::{Failure, with_workspace},
    trace::{RequestId, TRACE_PARENT, trace_parent},
};
use crate::grpc::{FinishedCall, Telemetry, deadline::now};

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
    /// Set once the caller is known.
    pub(super) caller: Caller,
    pub(super) started: Instant,
    /// The workspace that the call named, once it is read.
    workspace: OnceLock<Id>,
    failure: Failure,
    finished: bool,
}

/// Logs an event with the call's fields: names that the server knows, and ids that were checked.
macro_rules! log {
    ($level:ident, $record:expr, $($rest:tt)+) => {
        tracing::$level!(
            method = $record.method,
            request_id = $record.id.as_str(),
            caller = $record.caller.name(),
            trace_id = $record.trace().map(|(trace, _)| trace),
            parent_id = $record.trace().map(|(_, parent)| parent),
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
        method: &'static str,
        id: RequestId,
        headers: &HeaderMap,
    ) -> Self {
        telemetry.call_started(method);
        let trace = headers.get(TRACE_PARENT).cloned();
        Self {
            telemetry,
            method,
            id,
            trace,
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

    fn trace(&self) -> Option<(&str, &str)> {
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
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if !self.finished {
            self.report(Code::Cancelled);
        }
    }
}
