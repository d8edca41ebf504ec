//! One line and one count for every call, however it ends.

use std::{sync::Arc, time::Instant};

use tonic::Code;

use crate::grpc::{Call, Observer, error::code_name};

/// A call that has begun. Dropped without [`Record::end`], its caller went away.
pub(super) struct Record {
    observer: Arc<dyn Observer>,
    method: &'static str,
    begun: Instant,
    ended: bool,
}

impl Record {
    pub(super) fn begin(observer: Arc<dyn Observer>, method: &'static str) -> Self {
        observer.call_began(method);
        Self { observer, method, begun: Instant::now(), ended: false }
    }

    /// The call has ended with `code`.
    pub(super) fn end(mut self, code: Code) {
        self.finish(code);
    }

    /// Tells of a panic in it.
    pub(super) fn panicked(&self) {
        self.observer.panicked(self.method);
    }

    fn finish(&mut self, code: Code) {
        self.ended = true;
        let (took, code) = (self.begun.elapsed(), code_name(code));
        self.observer.call_ended(Call { method: self.method, code, took });
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        match code {
            "OK" | "CANCELLED" => tracing::debug!(code, micros, "call"),
            _ => tracing::info!(code, micros, "call"),
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
