//! How a store is doing, for metrics.

use prometheus_client::metrics::{counter::Counter, gauge::Gauge};

use crate::{LOG_TARGET, StoreError};

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
    /// 1 since a read or a write found the files damaged.
    pub damaged: Gauge,
}

impl Status {
    /// Takes note of damaged files, and logs the first.
    pub(crate) fn note(&self, error: &StoreError) {
        if matches!(error, StoreError::Damaged(_)) && self.damaged.set(1) == 0 {
            tracing::error!(target: LOG_TARGET, "{error}: restore a backup; `promptd memory check` lists the faults");
        }
    }
}
