//! The bound of the queue, and what is counted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use opentelemetry::Context;
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{BatchSpanProcessor, Span, SpanData, SpanProcessor},
};
use prometheus_client::metrics::counter::Counter;

use crate::MAX_QUEUED;

/// How sending goes.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// Spans that the collector took.
    pub sent: Counter,
    /// Spans that could not be sent.
    pub failed: Counter,
    /// Spans for which the queue had no room.
    pub dropped: Counter,
    /// Spans that wait or are being sent.
    queued: Arc<AtomicUsize>,
}

impl Status {
    pub(crate) fn left_queue(&self, spans: usize) {
        self.queued.fetch_sub(spans, Ordering::Relaxed);
    }

    pub(crate) fn queued(&self) -> u64 {
        self.queued.load(Ordering::Relaxed) as u64
    }

    /// Takes a place of the queue.
    fn enter_queue(&self) -> bool {
        let take = |queued: usize| (queued < MAX_QUEUED).then_some(queued + 1);
        self.queued.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }
}

/// Drops and counts what the queue has no room for. The SDK's own queue would drop it too, and tell nobody how much.
#[derive(Debug)]
pub(crate) struct Bounded {
    processor: BatchSpanProcessor,
    status: Status,
}

impl Bounded {
    pub(crate) fn new(processor: BatchSpanProcessor, status: Status) -> Self {
        Self { processor, status }
    }
}

impl SpanProcessor for Bounded {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.processor.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if !span.span_context.is_sampled() {
            return;
        }
        if self.status.enter_queue() {
            self.processor.on_end(span);
        } else {
            self.status.dropped.inc();
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.processor.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.processor.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.processor.set_resource(resource);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_has_so_many_places_and_no_more() {
        let status = Status::default();
        assert_eq!((0..MAX_QUEUED + 3).filter(|_| status.enter_queue()).count(), MAX_QUEUED);
        status.left_queue(2);
        assert_eq!((0..MAX_QUEUED).filter(|_| status.enter_queue()).count(), 2);
    }
}
