//! A few targets.

use smallvec::SmallVec;

use super::target::TargetId;

/// A set of targets, for what mostly has one: four of them take no memory of their own, where a tree's smallest node takes
/// 64 bytes, and there is a set for each folder that is watched.
#[derive(Debug, Default)]
pub(super) struct TargetIds(SmallVec<[TargetId; 4]>);

impl TargetIds {
    pub(super) fn insert(&mut self, id: TargetId) {
        if let Err(at) = self.0.binary_search(&id) {
            self.0.insert(at, id);
        }
    }

    pub(super) fn remove(&mut self, id: TargetId) {
        if let Ok(at) = self.0.binary_search(&id) {
            self.0.remove(at);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In order.
    pub(super) fn iter(&self) -> impl Iterator<Item = TargetId> {
        self.0.iter().copied()
    }
}
