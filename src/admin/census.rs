//! What is counted when somebody asks: the workspaces as they stand, and how reloading is doing.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric as _, MetricEncoder, NoLabelSet},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
    registry::Unit,
};

use promptd_core::finding::{Code, Finding, Severity};
use promptd_source::{
    LAG_BUCKETS, Mode, Source, Status,
    store::{State, Store},
};

/// Reads the store and the source's own counts at every scrape.
pub struct Census {
    store: Arc<Store>,
    /// Empty until the source has started.
    source: Arc<OnceLock<Source>>,
}

impl Census {
    /// Of these.
    #[must_use]
    pub fn new(store: Arc<Store>, source: Arc<OnceLock<Source>>) -> Self {
        Self { store, source }
    }

    fn workspaces(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut states: BTreeMap<&str, i64> = BTreeMap::from([("ready", 0), ("invalid", 0)]);
        let mut findings: BTreeMap<(Code, Severity), i64> = BTreeMap::new();
        let mut count = |found: &[Finding]| {
            for finding in found {
                *findings.entry((finding.code, finding.severity)).or_default() += 1;
            }
        };
        for (_, state) in self.store.list() {
            match &*state {
                State::Ready(loaded) => {
                    *states.entry("ready").or_default() += 1;
                    count(&loaded.snapshot.findings);
                }
                State::Invalid(found) => {
                    *states.entry("invalid").or_default() += 1;
                    count(found);
                }
                State::Gone => {}
            }
        }
        let mut family = encoder.encode_descriptor("workspaces", "Workspaces, by state", None, MetricType::Gauge)?;
        for (state, number) in states {
            ConstGauge::new(number).encode(family.encode_family(&[("state", state)])?)?;
        }
        let help = "Findings of all workspaces as they stand";
        let mut family = encoder.encode_descriptor("workspace_findings", help, None, MetricType::Gauge)?;
        for ((code, severity), number) in findings {
            let labels = [("code", code.as_str()), ("severity", severity.as_str())];
            ConstGauge::new(number).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn watching(status: &Status, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    gauge(encoder, "watch_events", "1 while edits are found by events", u64::from(status.mode() != Mode::Polling))?;
    gauge(encoder, "watch_folders", "Folders watched", status.watches())?;
    gauge(encoder, "watch_polled", "Workspaces and other files that are polled", status.polled())?;
    gauge(encoder, "watch_problems", "Problems of watching and loading as they stand", status.problems().len() as u64)?;
    let help = "Failures to watch a folder, by reason";
    let mut family = encoder.encode_descriptor("watch_errors", help, None, MetricType::Counter)?;
    for (error, number) in status.watch_errors() {
        ConstCounter::new(number).encode(family.encode_family(&[("reason", error.label())])?)?;
    }
    counter(encoder, "watch_rescans", "Times that events were lost and all was looked at again", status.rescans())?;
    counter(encoder, "watch_sweeps", "Rounds of the safety sweep", status.sweeps())?;
    counter(encoder, "watch_sweep_hits", "Edits that no event had told of", status.sweep_hits())
}

fn reloading(status: &Status, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    counter(encoder, "reload_loads", "Loads, those included that changed nothing", status.loads())?;
    counter(encoder, "reload_failures", "Loads that kept the last good version of a part", status.failed())?;
    counter(encoder, "revisions_published", "Revisions published", status.published())?;
    gauge(encoder, "reload_failing", "Workspaces that have an error now", status.failing())?;
    #[expect(clippy::cast_precision_loss, reason = "a time in milliseconds is far below 2^52")]
    let seconds = ConstGauge::new(status.last_published_ms() as f64 / 1e3);
    let help = "When the newest revision was published, since 1970; 0: never";
    let name = "reload_last_published";
    seconds.encode(encoder.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Gauge)?)?;
    let help = "Time from the first sign of an edit to its being served";
    let lag = encoder.encode_descriptor("reload_lag", help, Some(&Unit::Seconds), MetricType::Histogram)?;
    encode_lag(status, lag)
}

fn encode_lag(status: &Status, mut encoder: MetricEncoder<'_>) -> fmt::Result {
    let (counts, sum) = status.lag();
    let bounds = LAG_BUCKETS.into_iter().chain([f64::MAX]);
    let buckets: Vec<_> = bounds.zip(counts.iter().copied()).collect();
    encoder.encode_histogram::<NoLabelSet>(sum, counts.iter().sum(), &buckets, None)
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, number: u64) -> fmt::Result {
    let number = ConstGauge::new(i64::try_from(number).unwrap_or(i64::MAX));
    number.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
}

fn counter(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, number: u64) -> fmt::Result {
    ConstCounter::new(number).encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)
}

impl Collector for Census {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.workspaces(&mut encoder)?;
        let Some(source) = self.source.get() else { return Ok(()) };
        watching(source.status(), &mut encoder)?;
        reloading(source.status(), &mut encoder)
    }
}

impl fmt::Debug for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Census").finish_non_exhaustive()
    }
}
