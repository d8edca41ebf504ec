//! How a store is doing, for metrics.

use prometheus_client::metrics::{counter::Counter, gauge::Gauge};

/// Counts of a store. They say nothing of who wrote what.
#[derive(Debug, Default, Clone)]
pub struct Status {
    /// Messages stored.
    pub appended: Counter,
    /// Transactions that stored something: each is synced to the disk once.
    pub commits: Counter,
    /// Sessions removed, by callers or for their age or size.
    pub removed: Counter,
    /// What the store takes of the disk, in bytes, without what is free in its files.
    pub bytes: Gauge,
    /// 1 while nothing can be stored.
    pub failing: Gauge,
}
