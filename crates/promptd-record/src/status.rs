//! How recording is doing, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
};

/// Counts since the start, and what is true now.
#[derive(Debug)]
pub struct Status {
    /// Requests written.
    pub written: Counter,
    /// Requests removed again, being too old or too many.
    pub removed: Counter,
    /// What the folder takes of the disk, in bytes.
    pub bytes: Gauge,
    /// 1 while requests cannot be written.
    pub failing: Gauge<u64, AtomicU64>,
    /// Requests that were not recorded, by reason.
    pub dropped: Family<DropLabels, Counter>,
}

/// The labels of [`Status::dropped`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct DropLabels {
    reason: &'static str,
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
    const ALL: [Self; 3] = [Self::QueueFull, Self::WriteFailed, Self::Unrepeatable];

    fn labels(self) -> DropLabels {
        let reason = match self {
            Self::QueueFull => "queue_full",
            Self::WriteFailed => "write_failed",
            Self::Unrepeatable => "unrepeatable",
        };
        DropLabels { reason }
    }
}

impl Default for Status {
    fn default() -> Self {
        let dropped = Family::<DropLabels, Counter>::default();
        for why in Drop::ALL {
            // A series from the start on, also where nothing is dropped.
            let _ = dropped.get_or_create(&why.labels());
        }
        let (written, removed) = (Counter::default(), Counter::default());
        Self { written, removed, bytes: Gauge::default(), failing: Gauge::default(), dropped }
    }
}

impl Status {
    /// How many requests were not recorded for this reason.
    #[must_use]
    pub fn drops(&self, why: Drop) -> u64 {
        self.dropped.get_or_create(&why.labels()).get()
    }

    pub(crate) fn dropped(&self, why: Drop) {
        self.dropped_many(why, 1);
    }

    pub(crate) fn dropped_many(&self, why: Drop, count: u64) {
        self.dropped.get_or_create(&why.labels()).inc_by(count);
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
