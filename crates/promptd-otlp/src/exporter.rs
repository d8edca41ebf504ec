//! What is sent and what is dropped, counted; and said in the log when it begins and when it ends.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{SpanData, SpanExporter},
};

use crate::Status;

/// Counts what an exporter sends.
#[derive(Debug)]
pub(crate) struct Counting<E> {
    exporter: E,
    endpoint: String,
    status: Status,
    is_failing: AtomicBool,
    is_dropping: AtomicBool,
    /// How many spans had been dropped when the log was last looked after.
    dropped_before: AtomicU64,
}

impl<E> Counting<E> {
    pub(crate) fn new(exporter: E, endpoint: String, status: Status) -> Self {
        Self {
            exporter,
            endpoint,
            status,
            is_failing: AtomicBool::default(),
            is_dropping: AtomicBool::default(),
            dropped_before: AtomicU64::default(),
        }
    }

    /// Says whether spans are sent when that changes.
    fn note_sent(&self, failure: Option<String>) {
        let was_failing = self.is_failing.swap(failure.is_some(), Ordering::Relaxed);
        let endpoint = self.endpoint.as_str();
        match failure {
            Some(error) if !was_failing => {
                tracing::warn!(endpoint, error, "spans cannot be sent; those of calls until then are lost");
            }
            None if was_failing => tracing::info!(endpoint, "spans are sent again"),
            _ => {}
        }
    }

    /// Says whether spans are dropped when that changes. It ends when the queue is empty: one that stays full drops some of every
    /// batch, and none of others.
    fn note_dropped(&self) {
        let dropped = self.status.dropped.get();
        let spans = dropped - self.dropped_before.swap(dropped, Ordering::Relaxed);
        let was_dropping = self.is_dropping.load(Ordering::Relaxed);
        let is_dropping = spans > 0 || (was_dropping && self.status.queued() > 0);
        self.is_dropping.store(is_dropping, Ordering::Relaxed);
        let endpoint = self.endpoint.as_str();
        match (was_dropping, is_dropping) {
            (false, true) => {
                tracing::warn!(endpoint, spans, "the queue is full: spans are dropped, until the collector keeps up");
            }
            (true, false) => tracing::info!(endpoint, dropped, "no more spans are dropped"),
            _ => {}
        }
    }
}

impl<E: SpanExporter> SpanExporter for Counting<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let result = self.exporter.export(batch).await;
        self.status.left_queue(spans);
        let counter = if result.is_ok() { &self.status.sent } else { &self.status.failed };
        counter.inc_by(spans as u64);
        self.note_sent(result.as_ref().err().map(ToString::to_string));
        self.note_dropped();
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
