//! One line and one count for every call, however it ends.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use tokio::time::Instant;
use tonic::Code;

use super::trace::{RequestId, TRACE_PARENT, trace_parent};
use crate::grpc::{Call, Observer, auth::Caller, error::code_name};

/// A call that has begun. Dropped without [`Record::end`], its caller went away.
///
/// It keeps what a line of the log names the call by. A span would be made, named and dropped for every call, though
/// most calls log nothing.
pub(super) struct Record {
    observer: Arc<dyn Observer>,
    method: &'static str,
    id: RequestId,
    /// The `traceparent` as it came: it is read when there is a line to write.
    trace: Option<HeaderValue>,
    /// Who called, once they were let in.
    pub(super) caller: Caller,
    /// When.
    pub(super) begun: Instant,
    ended: bool,
}

/// Logs a call's event with what the call is named by: names that the server knows, and ids that are fit for a log.
macro_rules! log {
    ($level:ident, $record:expr, $($rest:tt)+) => {
        tracing::$level!(
            method = $record.method,
            request_id = $record.id.as_str(),
            caller = $record.caller.name(),
            trace_id = $record.trace().map(|(trace, _)| trace),
            parent_id = $record.trace().map(|(_, parent)| parent),
            $($rest)+
        )
    };
}

impl Record {
    pub(super) fn begin(observer: Arc<dyn Observer>, method: &'static str, id: RequestId, headers: &HeaderMap) -> Self {
        observer.call_began(method);
        let trace = headers.get(TRACE_PARENT).cloned();
        Self { observer, method, id, trace, caller: Caller::default(), begun: Instant::now(), ended: false }
    }

    /// The call has ended with `code`.
    pub(super) fn end(mut self, code: Code) {
        self.finish(code);
    }

    /// Tells of a panic in it.
    pub(super) fn panicked(&self) {
        self.observer.panicked(self.method);
        log!(error, self, "the call panicked");
    }

    fn trace(&self) -> Option<(&str, &str)> {
        self.trace.as_ref().and_then(trace_parent)
    }

    fn finish(&mut self, code: Code) {
        self.ended = true;
        let (took, code) = (self.begun.elapsed(), code_name(code));
        self.observer.call_ended(Call { method: self.method, code, took });
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        match code {
            "OK" | "CANCELLED" => log!(debug, self, code, micros, "call"),
            _ => log!(info, self, code, micros, "call"),
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if !self.ended {
            self.finish(Code::Cancelled);
        }
    }
}
