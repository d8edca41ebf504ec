//! How reloading is doing, for health, metrics and the admin pages.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use arc_swap::ArcSwap;
use prometheus_client::metrics::{counter::Counter, gauge::Gauge, histogram::Histogram};

use crate::events::WatchError;

/// Metrics of watching and reloading, and the problems that an operator should see to.
#[derive(Debug)]
pub struct Status {
    /// Folders watched now.
    pub watches: Gauge,
    /// Targets polled now, since their events cannot be had or relied on.
    pub polled: Gauge,
    /// Seconds from one look at a polled target to the next, which an edit of it can take to be found; 0 before it is known.
    pub poll_round: Gauge<f64, AtomicU64>,
    /// What `fs.inotify.max_user_watches` must be at least, for every folder to be watched; 0: it suffices, or nothing is known
    /// yet.
    pub watch_limit_needed: Gauge,
    /// Workspaces known now.
    pub workspaces: Gauge,
    /// Workspaces that have an error now.
    pub failing: Gauge,
    /// Times that events were lost and everything was looked at again.
    pub rescans: Counter,
    /// Full rounds of the sweep.
    pub sweeps: Counter,
    /// Changes that the sweep found and no event had reported; should stay 0 while events can be had.
    pub sweep_hits: Counter,
    /// Loads, including those that changed nothing or were tried again.
    pub loads: Counter,
    /// Loads thrown away, since something changed while they read.
    pub retries: Counter,
    /// Loads that found an error and kept the last good version of a part, or of all.
    pub failures: Counter,
    /// Revisions published.
    pub published: Counter,
    /// When the newest revision was published, in seconds since 1970; 0 before the first.
    pub last_published: Gauge<f64, AtomicU64>,
    /// Seconds from the first sign of an edit until it is served.
    pub lag: Histogram,
    watch_errors: [Counter; WatchError::ALL.len()],
    has_events: AtomicBool,
    problems: ArcSwap<Vec<String>>,
}

/// The upper bounds of the lag histogram's buckets, in seconds.
const LAG_BUCKETS: [f64; 9] = [0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 5.0];

impl Default for Status {
    fn default() -> Self {
        Self {
            watches: Gauge::default(),
            polled: Gauge::default(),
            poll_round: Gauge::default(),
            watch_limit_needed: Gauge::default(),
            workspaces: Gauge::default(),
            failing: Gauge::default(),
            rescans: Counter::default(),
            sweeps: Counter::default(),
            sweep_hits: Counter::default(),
            loads: Counter::default(),
            retries: Counter::default(),
            failures: Counter::default(),
            published: Counter::default(),
            last_published: Gauge::default(),
            lag: Histogram::new(LAG_BUCKETS),
            watch_errors: Default::default(),
            has_events: AtomicBool::default(),
            problems: ArcSwap::default(),
        }
    }
}

/// How edits are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// By events, with a slow sweep as a safety net.
    Events,
    /// By events, and by polling where they cannot be had.
    Mixed,
    /// By polling alone.
    Polling,
}

impl Status {
    /// How edits are found.
    #[must_use]
    pub fn mode(&self) -> Mode {
        match (self.has_events.load(Relaxed), self.polled.get()) {
            (false, _) => Mode::Polling,
            (true, 0) => Mode::Events,
            (true, _) => Mode::Mixed,
        }
    }

    /// How far the start is: how many workspaces are loaded, of how many.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        let known = self.workspaces.get().try_into().unwrap_or_default();
        (self.published.get().min(known), known)
    }

    /// Failures to watch a folder so far, by reason.
    pub fn watch_errors(&self) -> impl Iterator<Item = (WatchError, &Counter)> {
        WatchError::ALL.into_iter().zip(&self.watch_errors)
    }

    /// What an operator should see to: folders whose names are not valid ids, missing roots, watches that failed,
    /// invalid profiles. One sentence each.
    #[must_use]
    pub fn problems(&self) -> Arc<Vec<String>> {
        self.problems.load_full()
    }

    pub(crate) fn set_events(&self, on: bool) {
        self.has_events.store(on, Relaxed);
    }

    pub(crate) fn watch_failed(&self, error: WatchError) {
        for (_, count) in self.watch_errors().filter(|(other, _)| *other == error) {
            count.inc();
        }
    }

    pub(crate) fn set_problems(&self, problems: Vec<String>) {
        self.problems.store(Arc::new(problems));
    }
}
