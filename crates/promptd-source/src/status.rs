//! How reloading is doing, readable at any time without a lock.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use arc_swap::ArcSwap;

use crate::events::WatchError;

/// Counters and gauges for health, metrics and the admin pages.
#[derive(Debug, Default)]
pub struct Status {
    mode: AtomicU8,
    watches: AtomicU64,
    watch_errors: [AtomicU64; WatchError::ALL.len()],
    polled: AtomicU64,
    workspaces: AtomicU64,
    rescans: AtomicU64,
    sweeps: AtomicU64,
    sweep_hits: AtomicU64,
    loads: AtomicU64,
    retries: AtomicU64,
    published: AtomicU64,
    failed: AtomicU64,
    failing: AtomicU64,
    last_published_ms: AtomicI64,
    lag: Lag,
    problems: ArcSwap<Vec<String>>,
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

/// The upper bounds of the lag histogram's buckets, in seconds; one more bucket has the rest.
pub const LAG_BUCKETS: [f64; 9] = [0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 5.0];

/// How long edits took from their first sign to being served.
#[derive(Debug, Default)]
struct Lag {
    buckets: [AtomicU64; LAG_BUCKETS.len() + 1],
    sum_us: AtomicU64,
}

impl Status {
    /// How edits are found.
    #[must_use]
    pub fn mode(&self) -> Mode {
        match (self.mode.load(Relaxed), self.polled.load(Relaxed)) {
            (0, _) => Mode::Polling,
            (_, 0) => Mode::Events,
            _ => Mode::Mixed,
        }
    }

    /// Folders watched now.
    #[must_use]
    pub fn watches(&self) -> u64 {
        self.watches.load(Relaxed)
    }

    /// Failures to watch a folder so far, by reason.
    pub fn watch_errors(&self) -> impl Iterator<Item = (WatchError, u64)> {
        WatchError::ALL.into_iter().zip(self.watch_errors.iter().map(|count| count.load(Relaxed)))
    }

    /// Workspaces and other things that are polled now, since events cannot be had or relied on.
    #[must_use]
    pub fn polled(&self) -> u64 {
        self.polled.load(Relaxed)
    }

    /// Workspaces known now.
    #[must_use]
    pub fn workspaces(&self) -> u64 {
        self.workspaces.load(Relaxed)
    }

    /// Times that everything was looked at again, since events were lost.
    #[must_use]
    pub fn rescans(&self) -> u64 {
        self.rescans.load(Relaxed)
    }

    /// Full rounds of the sweep.
    #[must_use]
    pub fn sweeps(&self) -> u64 {
        self.sweeps.load(Relaxed)
    }

    /// Changes that the sweep found and no event had told of; should stay 0 while events can be had.
    #[must_use]
    pub fn sweep_hits(&self) -> u64 {
        self.sweep_hits.load(Relaxed)
    }

    /// Loads so far, those included that changed nothing or were tried again.
    #[must_use]
    pub fn loads(&self) -> u64 {
        self.loads.load(Relaxed)
    }

    /// Loads so far that were thrown away, since something moved while they read.
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.retries.load(Relaxed)
    }

    /// Revisions published so far.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.published.load(Relaxed)
    }

    /// Loads so far that found an error and kept the last good version of a part, or of all.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed.load(Relaxed)
    }

    /// Workspaces that have an error now.
    #[must_use]
    pub fn failing(&self) -> u64 {
        self.failing.load(Relaxed)
    }

    /// When the newest revision was published, in milliseconds since 1970; 0 before the first.
    #[must_use]
    pub fn last_published_ms(&self) -> i64 {
        self.last_published_ms.load(Relaxed)
    }

    /// The lag histogram: a count for each of [`LAG_BUCKETS`] and one more, not cumulative, and the sum in seconds.
    #[must_use]
    pub fn lag(&self) -> (Vec<u64>, f64) {
        let counts = self.lag.buckets.iter().map(|count| count.load(Relaxed)).collect();
        (counts, Duration::from_micros(self.lag.sum_us.load(Relaxed)).as_secs_f64())
    }

    /// What an operator should see to: folders whose names are no workspace ids, roots that are missing, watches that
    /// failed, profiles that are invalid. One sentence each.
    #[must_use]
    pub fn problems(&self) -> Arc<Vec<String>> {
        self.problems.load_full()
    }

    pub(crate) fn set_events(&self, on: bool) {
        self.mode.store(u8::from(on), Relaxed);
    }

    pub(crate) fn set_watches(&self, count: usize) {
        self.watches.store(count as u64, Relaxed);
    }

    pub(crate) fn watch_failed(&self, error: WatchError) {
        let index = WatchError::ALL.iter().position(|other| *other == error).unwrap_or(WatchError::ALL.len() - 1);
        self.watch_errors[index].fetch_add(1, Relaxed);
    }

    pub(crate) fn set_census(&self, workspaces: usize, polled: usize, failing: usize) {
        self.workspaces.store(workspaces as u64, Relaxed);
        self.polled.store(polled as u64, Relaxed);
        self.failing.store(failing as u64, Relaxed);
    }

    pub(crate) fn rescanned(&self) {
        self.rescans.fetch_add(1, Relaxed);
    }

    pub(crate) fn swept(&self) {
        self.sweeps.fetch_add(1, Relaxed);
    }

    pub(crate) fn sweep_hit(&self) {
        self.sweep_hits.fetch_add(1, Relaxed);
    }

    pub(crate) fn loaded(&self) {
        self.loads.fetch_add(1, Relaxed);
    }

    pub(crate) fn retried(&self) {
        self.retries.fetch_add(1, Relaxed);
    }

    pub(crate) fn failed_once(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    pub(crate) fn published_after(&self, lag: Option<Duration>, now_ms: i64) {
        self.published.fetch_add(1, Relaxed);
        self.last_published_ms.store(now_ms, Relaxed);
        if let Some(lag) = lag {
            let bucket = LAG_BUCKETS.iter().position(|bound| lag.as_secs_f64() <= *bound);
            self.lag.buckets[bucket.unwrap_or(LAG_BUCKETS.len())].fetch_add(1, Relaxed);
            self.lag.sum_us.fetch_add(u64::try_from(lag.as_micros()).unwrap_or(u64::MAX), Relaxed);
        }
    }

    pub(crate) fn set_problems(&self, problems: Vec<String>) {
        self.problems.store(Arc::new(problems));
    }
}
