//! What is collected at every scrape: the workspaces as they are, and how watching and reloading are doing.

use std::{collections::BTreeMap, fmt, sync::Arc};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, gauge::ConstGauge},
    registry::Unit,
};

use promptd_core::finding::{Code, Severity};
use promptd_source::{
    Mode, Status,
    store::{ResidentStatus, State, Store},
};

/// Collects from the store and from the source's status.
pub struct SourceCollector {
    store: Arc<Store>,
    status: Arc<Status>,
}

impl SourceCollector {
    /// Collects from these.
    #[must_use]
    pub fn new(store: Arc<Store>, status: Arc<Status>) -> Self {
        Self { store, status }
    }

    fn workspaces(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut states: BTreeMap<&str, i64> = BTreeMap::from([("ready", 0), ("invalid", 0)]);
        let mut findings: BTreeMap<(Code, Severity), i64> = BTreeMap::new();
        for (_, state) in self.store.list() {
            let name = match &*state {
                State::Ready(_) | State::Cold(_) => "ready",
                State::Invalid(_) => "invalid",
                State::Gone => continue,
            };
            *states.entry(name).or_default() += 1;
            for finding in state.findings().iter().chain(state.forecast()) {
                *findings.entry((finding.code, finding.severity)).or_default() += 1;
            }
        }
        let mut family = encoder.encode_descriptor("workspaces", "Workspaces, by state", None, MetricType::Gauge)?;
        for (state, number) in states {
            ConstGauge::new(number).encode(family.encode_family(&[("state", state)])?)?;
        }
        let help = "Findings of all workspaces now";
        let mut family = encoder.encode_descriptor("workspace_findings", help, None, MetricType::Gauge)?;
        for ((code, severity), number) in findings {
            let labels = [("code", code.as_str()), ("severity", severity.as_str())];
            ConstGauge::new(number).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn watching(status: &Status, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let events = i64::from(status.mode() != Mode::Polling);
    metric(encoder, "watch_events", "1 while edits are found by events", &ConstGauge::new(events))?;
    metric(encoder, "watch_folders", "Folders watched", &status.watches)?;
    metric(encoder, "watch_polled", "Workspaces and other files that are polled", &status.polled)?;
    let help = "Time from one look at what is polled to the next, which an edit of it can take to be found";
    seconds(encoder, "watch_poll_round", help, &status.poll_round)?;
    let help = "What fs.inotify.max_user_watches must be at least, for all folders to be watched; 0: it suffices";
    metric(encoder, "watch_limit_needed", help, &status.watch_limit_needed)?;
    let problems = i64::try_from(status.problems().len()).unwrap_or(i64::MAX);
    metric(encoder, "watch_problems", "Problems of watching and loading now", &ConstGauge::new(problems))?;
    let help = "Failures to watch a folder, by reason";
    let mut family = encoder.encode_descriptor("watch_errors", help, None, MetricType::Counter)?;
    for (error, count) in status.watch_errors() {
        count.encode(family.encode_family(&[("reason", error.label())])?)?;
    }
    metric(encoder, "watch_rescans", "Times that events were lost and all was looked at again", &status.rescans)?;
    metric(encoder, "watch_sweeps", "Rounds of the safety sweep", &status.sweeps)?;
    metric(encoder, "watch_sweep_hits", "Edits that no event had reported", &status.sweep_hits)
}

fn reloading(status: &Status, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    metric(encoder, "reload_loads", "Loads, including those that changed nothing", &status.loads)?;
    metric(encoder, "reload_failures", "Loads that kept the last good version of a part", &status.failures)?;
    metric(encoder, "revisions_published", "Revisions published", &status.published)?;
    metric(encoder, "reload_failing", "Workspaces that have an error now", &status.failing)?;
    let help = "When the newest revision was published, since 1970; 0: never";
    seconds(encoder, "reload_last_published", help, &status.last_published)?;
    let help = "Time from the first sign of an edit until it is served";
    seconds(encoder, "reload_lag", help, &status.lag)
}

fn resident(status: &ResidentStatus, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let bytes =
        encoder.encode_descriptor("resident", "Text of loaded workspaces", Some(&Unit::Bytes), MetricType::Gauge)?;
    status.bytes.encode(bytes)?;
    metric(encoder, "resident_workspaces", "Workspaces loaded", &status.workspaces)?;
    metric(encoder, "resident_hits", "Calls that found their workspace loaded", &status.hits)?;
    metric(encoder, "resident_misses", "Calls that waited for their workspace to be loaded", &status.misses)?;
    metric(encoder, "resident_evictions", "Workspaces that were unloaded to make room", &status.evictions)?;
    seconds(encoder, "resident_wait", "Time that calls waited for their workspace to be loaded", &status.wait)
}

fn metric(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, metric: &impl EncodeMetric) -> fmt::Result {
    metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
}

fn seconds(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, metric: &impl EncodeMetric) -> fmt::Result {
    metric.encode(encoder.encode_descriptor(name, help, Some(&Unit::Seconds), metric.metric_type())?)
}

impl Collector for SourceCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.workspaces(&mut encoder)?;
        watching(&self.status, &mut encoder)?;
        reloading(&self.status, &mut encoder)?;
        resident(self.store.resident(), &mut encoder)
    }
}

impl fmt::Debug for SourceCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceCollector").finish_non_exhaustive()
    }
}
