//! Spans for a collector while the service runs.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use prometheus_client::registry::Registry;
use promptd::{
    config::Config,
    grpc::{TracedCall, Tracer},
};
use promptd_core::id::Id;
use promptd_otlp::{Exporter, Parent, Prompt, Span};

use super::Failure;

/// How long the end of the process waits for the collector to take what is left.
const FINISH_LIMIT: Duration = Duration::from_secs(2);

pub(super) struct Spans(Arc<Exporter>);

/// Starts to send spans if the config names a collector.
pub(super) fn start(config: &Config, registry: &mut Registry) -> Result<Option<Spans>, Failure> {
    let Some(options) = &config.otlp else { return Ok(None) };
    let exporter = Exporter::start(options).map_err(|error| Failure::input(format!("error: {error}")))?;
    let status = exporter.status();
    registry.register("otlp_sent", "Spans that the collector took", status.sent.clone());
    registry.register("otlp_failed", "Spans that could not be sent", status.failed.clone());
    registry.register("otlp_dropped", "Spans for which the queue had no room", status.dropped.clone());
    Ok(Some(Spans(Arc::new(exporter))))
}

impl Spans {
    /// What the service calls for each call.
    pub(super) fn hook(&self) -> Tracer {
        let exporter = Arc::clone(&self.0);
        Arc::new(move |call| send(&exporter, call))
    }

    /// Sends what is left, for a while.
    pub(super) async fn finish(self) {
        let lost = tokio::task::spawn_blocking(move || self.0.finish(FINISH_LIMIT)).await;
        if let Ok(spans @ 1..) = lost {
            tracing::warn!(spans, "the last spans were not sent before the end");
        }
    }
}

fn send(exporter: &Exporter, call: &TracedCall<'_>) {
    let TracedCall { method, parent, trace_state, took, code, reason, request_id, workspace, prompt } = *call;
    let digest = prompt.map(|prompt| prompt.digest.to_hex());
    exporter.send(&Span {
        method,
        parent: parent.map(|parent| Parent {
            trace_id: parent.trace_id,
            span_id: parent.span_id,
            is_sampled: parent.is_sampled,
            state: trace_state,
        }),
        ended: SystemTime::now(),
        took,
        code,
        reason,
        request_id,
        workspace: workspace.map(Id::as_str),
        prompt: prompt
            .zip(digest.as_deref())
            .map(|(prompt, digest)| Prompt { profile: prompt.profile.as_str(), digest }),
    });
}
