//! Which workspaces stay loaded where not all may: the setting `workspaces.resident`.
//!
//! Time is counted in misses: each makes room for itself, so two uses between the same misses are of the same age. A use writes
//! its time into the workspace's slot and waits for nobody; the row learns of it when it comes to that workspace.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use prometheus_client::metrics::{counter::Counter, gauge::Gauge, histogram::Histogram};
use promptd_core::id::Id;

use super::slot::Slot;

/// How long a workspace stays loaded after a call has named one of its older revisions.
pub(crate) const PINNED_FOR: Duration = Duration::from_secs(600);

/// What is loaded, and how much of it calls find loaded.
#[derive(Debug)]
pub struct ResidentStatus {
    /// Bytes of text loaded now, older revisions included, as `revisions.bytes` counts them.
    pub bytes: Gauge,
    /// Workspaces loaded now.
    pub workspaces: Gauge,
    /// Calls that found their workspace loaded.
    pub hits: Counter,
    /// Calls that waited until it was.
    pub misses: Counter,
    /// Workspaces that were unloaded.
    pub evictions: Counter,
    /// Seconds that those calls waited.
    pub wait: Histogram,
}

/// The upper bounds of the wait histogram's buckets, in seconds.
const WAIT_BUCKETS: [f64; 10] = [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.5, 5.0];

impl Default for ResidentStatus {
    fn default() -> Self {
        Self {
            bytes: Gauge::default(),
            workspaces: Gauge::default(),
            hits: Counter::default(),
            misses: Counter::default(),
            evictions: Counter::default(),
            wait: Histogram::new(WAIT_BUCKETS),
        }
    }
}

/// How many of the row are looked at for each change: what must stay can be a long row.
const LOOKED_AT: usize = 1_000;

/// What is loaded, in the order of its last use.
#[derive(Debug, Default)]
pub(crate) struct Row {
    /// The one that was not used for longest is first.
    order: BTreeSet<(u64, Id)>,
    loaded: BTreeMap<Id, Place>,
    bytes: usize,
}

/// A workspace's place in the row.
#[derive(Debug)]
struct Place {
    slot: Arc<Slot>,
    bytes: usize,
    /// The use that its place in the order is for.
    used: u64,
}

impl Row {
    /// Takes in that a workspace has a new state. What no call has used is the first to go.
    pub(crate) fn update(&mut self, id: &Id, slot: &Arc<Slot>) {
        let Some(bytes) = slot.weight() else { return self.remove(id) };
        self.bytes += bytes;
        if let Some(place) = self.loaded.get_mut(id) {
            self.bytes -= std::mem::replace(&mut place.bytes, bytes);
        } else {
            let used = slot.last_use();
            self.loaded.insert(id.clone(), Place { slot: Arc::clone(slot), bytes, used });
            self.order.insert((used, id.clone()));
        }
    }

    /// A workspace is loaded no more.
    pub(crate) fn remove(&mut self, id: &Id) {
        if let Some(place) = self.loaded.remove(id) {
            self.bytes -= place.bytes;
            self.order.remove(&(place.used, id.clone()));
        }
    }

    /// Unloads what was not used for longest, as long as more than `limit` bytes are loaded. `now`: the time that what must
    /// stay is as good as used at.
    pub(crate) fn trim(&mut self, limit: usize, now: u64, status: &ResidentStatus) {
        let mut kept = Vec::new();
        for _ in 0..LOOKED_AT {
            if self.bytes <= limit {
                break;
            }
            let Some((stood_for, id)) = self.order.pop_first() else { break };
            let Some(place) = self.loaded.get_mut(&id) else { continue };
            let used = place.slot.last_use();
            if used > stood_for {
                place.used = used;
                self.order.insert((used, id));
            } else if place.slot.evict() {
                self.bytes -= place.bytes;
                self.loaded.remove(&id);
                status.evictions.inc();
            } else {
                place.used = now;
                kept.push((now, id));
            }
        }
        self.order.extend(kept);
        status.bytes.set(i64::try_from(self.bytes).unwrap_or(i64::MAX));
        status.workspaces.set(i64::try_from(self.loaded.len()).unwrap_or(i64::MAX));
    }
}
