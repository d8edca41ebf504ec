//! Metrics of calls and prompts.
//!
//! A label is one of a fixed few, or a name that an operator wrote into a profile: nothing that a caller sends becomes a
//! label, so the number of series is bounded.

use std::{sync::Arc, time::Duration};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::{Registry, Unit},
};

use crate::grpc::{FinishedCall, REFUSALS, Telemetry, method_names};
use promptd_core::{
    canary::Side,
    prompt::{Outcome, Prompt},
};

/// The counters and histograms of calls and prompts.
#[derive(Debug)]
pub struct Metrics {
    calls: Family<CallLabels, Counter>,
    seconds: Family<MethodLabel, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
    panics: Family<MethodLabel, Counter>,
    connections_refused: Counter,
    refusals: Family<ReasonLabel, Counter>,
    assembly: Histogram,
    bytes: Histogram,
    losses: Family<LossLabels, Counter>,
    findings: Family<FindingLabels, Counter>,
    sides: Family<SideLabel, Counter>,
    invalid: Family<FileLabel, Gauge>,
    file_reloads: Family<FileLabel, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    method: &'static str,
    code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabel {
    method: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LossLabels {
    section: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FindingLabels {
    code: &'static str,
    severity: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SideLabel {
    side: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FileLabel {
    file: &'static str,
}

/// The server's own files.
const SERVER_FILES: [&str; 3] = ["config", "tokens", "tls"];

impl Metrics {
    /// Registers them all.
    pub fn register(registry: &mut Registry) -> Arc<Self> {
        let metrics = Arc::new(Self {
            calls: Family::default(),
            seconds: Family::new_with_constructor(seconds),
            in_flight: Gauge::default(),
            panics: Family::default(),
            connections_refused: Counter::default(),
            refusals: Family::default(),
            assembly: seconds(),
            bytes: Histogram::new((8..=20).step_by(2).map(|power| f64::from(1_u32 << power))),
            losses: Family::default(),
            findings: Family::default(),
            sides: Family::default(),
            invalid: Family::default(),
            file_reloads: Family::default(),
        });
        let m = &metrics;
        m.create_rare_series();
        registry.register("build", "What is running", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        registry.register("calls", "Calls answered, by method and status code", m.calls.clone());
        registry.register_with_unit("call", "Time to answer a call", Unit::Seconds, m.seconds.clone());
        registry.register("calls_in_flight", "Calls and streams that are open", m.in_flight.clone());
        registry.register("panics", "Calls that panicked and were answered INTERNAL", m.panics.clone());
        registry.register("connections_refused", "Connections over the limit", m.connections_refused.clone());
        let help = "Requests refused before they were calls, by what was wrong with them";
        registry.register("http_refusals", help, m.refusals.clone());
        registry.register_with_unit("assembly", "Time to assemble a prompt", Unit::Seconds, m.assembly.clone());
        registry.register_with_unit("prompt", "Size of assembled prompts", Unit::Bytes, m.bytes.clone());
        registry.register("section_losses", "Sections cut or dropped in prompts handed out", m.losses.clone());
        registry.register("prompt_findings", "Findings in prompts handed out", m.findings.clone());
        let help = "Prompts of workspaces on which a canary runs, by the side that they are of";
        registry.register("canary_prompts", help, m.sides.clone());
        let help = "1 while a file of the server has a fault and its last good version is in use";
        registry.register("server_file_invalid", help, m.invalid.clone());
        let help = "Reloads of a file of the server";
        registry.register("server_file_reloads", help, m.file_reloads.clone());
        metrics
    }

    /// Series of what hardly ever happens start at zero: where one began with its first event, its growth would not be seen.
    fn create_rare_series(&self) {
        for method in method_names() {
            drop(self.panics.get_or_create(&MethodLabel { method }));
        }
        for reason in REFUSALS {
            drop(self.refusals.get_or_create(&ReasonLabel { reason }));
        }
        for side in Side::ALL.map(Side::name) {
            drop(self.sides.get_or_create(&SideLabel { side }));
        }
        for file in SERVER_FILES {
            drop(self.invalid.get_or_create(&FileLabel { file }));
            drop(self.file_reloads.get_or_create(&FileLabel { file }));
        }
    }

    /// One of [`SERVER_FILES`] was read again: it is in use, or has a fault.
    pub fn server_file(&self, file: &'static str, good: bool) {
        let label = FileLabel { file };
        self.invalid.get_or_create(&label).set(i64::from(!good));
        if good {
            self.file_reloads.get_or_create(&label).inc();
        }
    }
}

/// From 10 µs to 10 s.
fn seconds() -> Histogram {
    const BOUNDS: [f64; 13] = [1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 1e-2, 5e-2, 2.5e-1, 1.0, 10.0];
    Histogram::new(BOUNDS)
}

impl Telemetry for Metrics {
    fn call_started(&self, _method: &'static str) {
        self.in_flight.inc();
    }

    fn call_finished(&self, call: FinishedCall) {
        self.in_flight.dec();
        self.calls.get_or_create(&CallLabels { method: call.method, code: call.code }).inc();
        self.seconds.get_or_create(&MethodLabel { method: call.method }).observe(call.took.as_secs_f64());
    }

    fn call_panicked(&self, method: &'static str) {
        self.panics.get_or_create(&MethodLabel { method }).inc();
    }

    fn connection_refused(&self) {
        self.connections_refused.inc();
    }

    fn request_refused(&self, reason: &'static str) {
        self.refusals.get_or_create(&ReasonLabel { reason }).inc();
    }

    fn prompt_assembled(&self, prompt: &Prompt<'_>, side: Option<Side>, took: Duration) {
        if let Some(side) = side.map(Side::name) {
            self.sides.get_or_create(&SideLabel { side }).inc();
        }
        self.assembly.observe(took.as_secs_f64());
        #[expect(clippy::cast_precision_loss, reason = "a prompt is far below 2^52 bytes")]
        self.bytes.observe(prompt.size.bytes as f64);
        for section in prompt.sections.iter().filter(|section| section.outcome.is_loss()) {
            let outcome = if section.outcome == Outcome::Dropped { "dropped" } else { "truncated" };
            self.losses.get_or_create(&LossLabels { section: section_label(&section.id), outcome }).inc();
        }
        for finding in &prompt.findings {
            let labels = FindingLabels { code: finding.code.as_str(), severity: finding.severity.as_str() };
            self.findings.get_or_create(&labels).inc();
        }
    }
}

/// A section's id as a label: a path or an index after a slash, which others choose, becomes `*`.
#[must_use]
pub fn section_label(id: &str) -> String {
    id.split_once('/').map_or_else(|| id.to_owned(), |(section, _)| format!("{section}/*"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text;

    #[test]
    fn a_section_label_does_not_grow_with_paths_or_indexes() {
        assert_eq!(section_label("skills"), "skills");
        assert_eq!(section_label("workspace_context/docs/RUNBOOK.md"), "workspace_context/*");
        assert_eq!(section_label("conversation/17"), "conversation/*");
    }

    #[test]
    fn calls_are_counted_by_method_and_code() {
        let mut registry = Registry::with_prefix("promptd");
        let metrics = Metrics::register(&mut registry);
        for code in ["OK", "OK", "NOT_FOUND"] {
            metrics.call_started("promptd.v1.PromptService/AssemblePrompt");
            let method = "promptd.v1.PromptService/AssemblePrompt";
            metrics.call_finished(FinishedCall { method, code, took: Duration::from_micros(30) });
        }
        metrics.call_started("other");
        let mut out = String::new();
        text::encode(&mut out, &registry).unwrap();
        let method = "method=\"promptd.v1.PromptService/AssemblePrompt\"";
        for line in [
            format!("promptd_panics_total{{{method}}} 0"),
            "promptd_http_refusals_total{reason=\"host\"} 0".to_owned(),
            "promptd_server_file_invalid{file=\"tls\"} 0".to_owned(),
            "promptd_canary_prompts_total{side=\"candidate\"} 0".to_owned(),
            format!("promptd_calls_total{{{method},code=\"OK\"}} 2"),
            format!("promptd_calls_total{{{method},code=\"NOT_FOUND\"}} 1"),
            format!("promptd_call_seconds_count{{{method}}} 3"),
            "promptd_calls_in_flight 1".to_owned(),
        ] {
            assert!(out.contains(&line), "{line} is not in\n{out}");
        }
    }
}
