//! What is sent, counted; and said in the log when it begins to fail and when it works again.

use std::{
    sync::atomic::{AtomicBool, Ordering},
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
}

impl<E> Counting<E> {
    pub(crate) fn new(exporter: E, endpoint: String, status: Status) -> Self {
        Self { exporter, endpoint, status, is_failing: AtomicBool::new(false) }
    }

    /// Says so when it changes.
    fn note(&self, failure: Option<String>) {
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
}

impl<E: SpanExporter> SpanExporter for Counting<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let result = self.exporter.export(batch).await;
        self.status.left_queue(spans);
        let counter = if result.is_ok() { &self.status.sent } else { &self.status.failed };
        counter.inc_by(spans as u64);
        self.note(result.as_ref().err().map(ToString::to_string));
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
