//! The folders being watched, and for which targets.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{target::TargetId, target_ids::TargetIds};
use crate::{
    disk,
    events::{WatchError, Watcher},
    load::{
        probe::{Inode, is_absence},
        read_set::ReadSet,
        walk::is_at_or_below,
    },
    status::Status,
};

/// All watches of the process, by one watcher.
pub(crate) struct Watches {
    /// Where there is none, nothing is watched; the error is why, if one was wanted.
    watcher: Result<Box<dyn Watcher>, Option<WatchError>>,
    /// By canonical path, in the order of its bytes, so that a folder's subtree is in one range.
    folders: BTreeMap<OsString, Watch>,
    /// Targets by the paths that lead to their folder. Apart from the targets of [`Watch`], since one folder can hold ten
    /// thousand workspaces and an event in it concerns one.
    outer: HashMap<PathBuf, TargetIds>,
    /// The system allows no more, as far as is known.
    used_up: bool,
    status: Arc<Status>,
}

#[derive(Default)]
struct Watch {
    /// The folder that is watched; absent: none is, or its watch is no longer trusted.
    watched: Option<Inode>,
    targets: TargetIds,
    /// How many targets have it on the way to their folder.
    outer: u32,
}

impl Watches {
    pub(crate) fn new(watcher: Result<Box<dyn Watcher>, Option<WatchError>>, status: Arc<Status>) -> Self {
        status.set_events(watcher.is_ok());
        Self { watcher, folders: BTreeMap::new(), outer: HashMap::new(), used_up: false, status }
    }

    /// Watches what `next` has for a target, and releases what only `last` had. The error is the first reason why events
    /// cannot be relied on for this target.
    pub(crate) fn follow(&mut self, target: TargetId, last: &ReadSet, next: &ReadSet) -> Result<(), WatchError> {
        let (old, new) = (last.folders(), next.folders());
        for (folder, outer_only) in &new {
            if old.get(folder) != Some(outer_only) {
                let watch = self.folders.entry(folder.into()).or_default();
                if *outer_only { watch.outer += 1 } else { watch.targets.insert(target) }
            }
        }
        for path in next.outer_paths() {
            self.outer.entry(path.to_path_buf()).or_default().insert(target);
        }
        let mut result = Ok(());
        for folder in new.keys() {
            if let Err(error) = self.ensure(folder) {
                result = result.and(Err(error));
            }
        }
        for (folder, outer_only) in &old {
            if new.get(folder) != Some(outer_only) {
                self.release(folder, target, *outer_only);
            }
        }
        let kept: BTreeSet<&Path> = next.outer_paths().collect();
        for path in last.outer_paths().filter(|path| !kept.contains(path)) {
            if let Some(targets) = self.outer.get_mut(path) {
                targets.remove(target);
                if targets.is_empty() {
                    self.outer.remove(path);
                }
            }
        }
        result
    }

    /// Makes sure that the folder that is there now is the one watched.
    fn ensure(&mut self, folder: &Path) -> Result<(), WatchError> {
        let Some(watch) = self.folders.get_mut(folder.as_os_str()) else { return Ok(()) };
        let meta = match disk::stat(folder) {
            Ok(meta) => meta,
            // Gone: the read set is no longer current, and that is found.
            Err(error) if is_absence(&error) => return Ok(()),
            Err(_) => {
                self.status.watch_failed(WatchError::Other);
                return Err(WatchError::Other);
            }
        };
        let there = Some(Inode::of(&meta));
        let watcher = match &mut self.watcher {
            Ok(watcher) => watcher,
            Err(reason) => return reason.map_or(Ok(()), Err),
        };
        if watch.watched != there {
            if watch.watched.take().is_some() {
                self.status.watches.dec();
                watcher.unwatch(folder);
                self.used_up = false;
            }
            if self.used_up {
                return Err(WatchError::WatchLimit);
            }
            match watcher.watch(folder) {
                Ok(()) => {
                    self.status.watches.inc();
                    watch.watched = there;
                }
                Err(WatchError::Missing) => {}
                Err(error) => {
                    self.used_up |= error == WatchError::WatchLimit;
                    self.status.watch_failed(error);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Whether the system allows no more, as far as is known.
    pub(crate) fn are_used_up(&self) -> bool {
        self.used_up
    }

    /// Finds out anew, the next time that a watch is needed.
    pub(crate) fn try_again(&mut self) {
        self.used_up = false;
    }

    /// What the system's limit must be at least, for all folders to be watched; `None`: it suffices, or is not known.
    pub(crate) fn limit_needed(&self) -> Option<u64> {
        let watched = u64::try_from(self.status.watches.get()).unwrap_or_default();
        let missing = (self.folders.len() as u64).saturating_sub(watched);
        let limit = disk::watch_limit().filter(|_| self.used_up && missing > 0)?;
        Some(limit + missing)
    }

    fn release(&mut self, folder: &Path, target: TargetId, outer_only: bool) {
        let Some(watch) = self.folders.get_mut(folder.as_os_str()) else { return };
        if outer_only {
            watch.outer -= 1;
        } else {
            watch.targets.remove(target);
        }
        if watch.outer == 0 && watch.targets.is_empty() {
            let was_watched = watch.watched.is_some();
            self.folders.remove(folder.as_os_str());
            if let (true, Ok(watcher)) = (was_watched, &mut self.watcher) {
                self.status.watches.dec();
                watcher.unwatch(folder);
                self.used_up = false;
            }
        }
    }

    /// The targets that a change at `path` may concern.
    pub(crate) fn concerned(&self, path: &Path) -> BTreeSet<TargetId> {
        let of =
            |folder: &Path| self.folders.get(folder.as_os_str()).into_iter().flat_map(|watch| watch.targets.iter());
        let outer = self.outer.get(path).into_iter().flat_map(TargetIds::iter);
        path.parent().into_iter().flat_map(of).chain(of(path)).chain(outer).collect()
    }

    /// Stops trusting every watch at and below `path`, since its folder may be elsewhere now, and gives the targets that
    /// had one.
    pub(crate) fn forget(&mut self, path: &Path) -> BTreeSet<TargetId> {
        let mut targets = BTreeSet::new();
        // What begins with the path and a byte up to `/`: the byte behind that is `0`.
        let [from, mut to] = [path, path].map(|path| path.as_os_str().to_owned());
        to.push("0");
        let near = self.folders.range_mut(from..to).map(|(folder, watch)| (Path::new(folder), watch));
        for (folder, watch) in near.filter(|(folder, _)| is_at_or_below(folder, path)) {
            if watch.watched.take().is_some() {
                self.status.watches.dec();
                targets.extend(watch.targets.iter());
                if let Ok(watcher) = &mut self.watcher {
                    watcher.unwatch(folder);
                    self.used_up = false;
                }
            }
        }
        targets
    }
}

#[cfg(test)]
mod tests;
