//! How recording is doing, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::metrics::{counter::Counter, gauge::Gauge};

/// Counts since the start, and what is true now.
#[derive(Debug, Default)]
pub struct Status {
    /// Requests written.
    pub written: Counter,
    /// Requests removed again, being too old or too many.
    pub removed: Counter,
    /// What the folder takes of the disk, in bytes.
    pub bytes: Gauge,
    /// 1 while requests cannot be written.
    pub failing: Gauge<u64, AtomicU64>,
    dropped: [Counter; 3],
}

/// Why a request was not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drop {
    /// Too much was waiting to be written.
    QueueFull,
    /// The folder cannot be written to.
    WriteFailed,
    /// It would not give the same prompt again: what its revision was loaded from is too large, is not kept, or the rest of
    /// a redacted turn has no prompt.
    Unrepeatable,
}

impl Drop {
    /// Each with its label.
    pub const ALL: [(&'static str, Self); 3] =
        [("queue_full", Self::QueueFull), ("write_failed", Self::WriteFailed), ("unrepeatable", Self::Unrepeatable)];
}

impl Status {
    /// How many requests were not recorded for this reason.
    #[must_use]
    pub fn drops(&self, why: Drop) -> &Counter {
        &self.dropped[why as usize]
    }

    pub(crate) fn dropped(&self, why: Drop) {
        self.dropped_many(why, 1);
    }

    pub(crate) fn dropped_many(&self, why: Drop, count: u64) {
        self.drops(why).inc_by(count);
    }

    /// Writing works; whether it did not before.
    pub(crate) fn works(&self) -> bool {
        self.failing.inner().swap(0, Ordering::AcqRel) == 1
    }

    /// Writing fails; whether it did not before.
    pub(crate) fn fails(&self) -> bool {
        self.failing.inner().swap(1, Ordering::AcqRel) == 0
    }
}
