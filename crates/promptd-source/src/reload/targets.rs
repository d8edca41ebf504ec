//! All that is followed: each target with its state, and the folders watched for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Instant,
};

use prometheus_client::metrics::gauge::Gauge;
use promptd_core::id::Id;

use super::{
    debounce::Event,
    target::{Kind, Target, TargetId},
    watches::Watches,
};
use crate::{
    LOG_TARGET, disk,
    events::{Change, WatchError},
    load::read_set::ReadSet,
    options::WatchMode,
    status::Status,
};

/// Every target by its number.
pub(crate) struct Targets {
    map: BTreeMap<TargetId, Target>,
    workspaces: BTreeMap<Id, TargetId>,
    next: TargetId,
    watches: Watches,
    mode: WatchMode,
    status: Arc<Status>,
}

impl Targets {
    pub(crate) fn new(watches: Watches, mode: WatchMode, status: Arc<Status>) -> Self {
        Self { map: BTreeMap::new(), workspaces: BTreeMap::new(), next: TargetId::default(), watches, mode, status }
    }

    pub(crate) fn get(&self, id: TargetId) -> Option<&Target> {
        self.map.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: TargetId) -> Option<&mut Target> {
        self.map.get_mut(&id)
    }

    /// The target of a workspace.
    pub(crate) fn of_workspace(&self, id: &str) -> Option<&Target> {
        self.map.get(self.workspaces.get(id)?)
    }

    /// The number of a workspace's target.
    pub(crate) fn number_of(&self, id: &str) -> Option<TargetId> {
        self.workspaces.get(id).copied()
    }

    /// The first target from `id` on.
    pub(crate) fn from(&self, id: TargetId) -> Option<TargetId> {
        self.map.range(id..).next().map(|(id, _)| *id)
    }

    pub(crate) fn find(&self, wanted: impl Fn(&Target) -> bool) -> Vec<TargetId> {
        self.map.iter().filter(|(_, target)| wanted(target)).map(|(id, _)| *id).collect()
    }

    /// Begins to follow something; it is due at once.
    pub(crate) fn add(&mut self, kind: Kind, now: Instant) {
        let id = self.next;
        self.next = id.next();
        let target = Target::new(kind, now);
        if let Some(workspace) = target.workspace_id() {
            self.workspaces.insert(workspace.clone(), id);
            self.count_workspaces();
        }
        self.map.insert(id, target);
    }

    /// Stops following it.
    pub(crate) fn remove(&mut self, id: TargetId) {
        self.set_polled(id, false);
        self.set_failing(id, false);
        let Some(target) = self.map.remove(&id) else { return };
        let _ = self.watches.follow(id, &target.read_set, &ReadSet::default());
        if let Some(workspace) = target.workspace_id() {
            self.workspaces.remove(workspace);
            self.count_workspaces();
        }
        self.show_problems();
    }

    /// When the next target is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.map.values().filter_map(|target| target.debounce.due()).min()
    }

    pub(crate) fn due(&self, now: Instant) -> Vec<TargetId> {
        self.find(|target| target.debounce.due().is_some_and(|due| due <= now))
    }

    /// Targets that may have changed are to be loaded.
    pub(crate) fn mark(&mut self, changed: impl Fn(&Target) -> bool, now: Instant) {
        for target in self.map.values_mut().filter(|target| changed(target)) {
            target.apply(&Event::Marked, now);
        }
    }

    /// A file event.
    pub(crate) fn file_event(&mut self, path: &Path, change: Change, now: Instant) {
        if change == Change::Removed {
            for id in self.watches.forget(path) {
                if let Some(target) = self.map.get_mut(&id) {
                    target.apply(&Event::Marked, now);
                }
            }
        }
        let renamed = matches!(change, Change::Created | Change::Removed);
        // An empty file that was created is about to be written; a link is complete at once.
        let is_begun =
            change == Change::Created && disk::stat(path).is_ok_and(|meta| meta.is_file() && meta.len() == 0);
        let change = if is_begun { Change::Written } else { change };
        for id in self.watches.concerned(path) {
            if let Some(target) = self.map.get_mut(&id) {
                let is_input = target.read_set.is_touched_by(path, renamed);
                let event = if is_input { Event::Input(path, change) } else { Event::Other(path, change) };
                target.apply(&event, now);
            }
        }
    }

    /// Takes over what a load has read, and watches it; true if nothing changed before it was watched.
    pub(crate) fn watch(&mut self, id: TargetId, read_set: ReadSet) -> bool {
        let Some(target) = self.map.get_mut(&id) else { return false };
        let watched = self.watches.follow(id, &target.read_set, &read_set);
        target.has_read(read_set);
        let is_current = target.read_set.is_current();
        self.rely_on_events(id, watched);
        is_current
    }

    /// Tries again to watch what could not be watched.
    pub(crate) fn watch_again(&mut self, id: TargetId) {
        if let (WatchMode::Auto, Some(target)) = (self.mode, self.map.get(&id).filter(|target| target.polled)) {
            let watched = self.watches.follow(id, &target.read_set, &target.read_set);
            self.rely_on_events(id, watched);
        }
    }

    /// Polls a target where its events cannot be had.
    fn rely_on_events(&mut self, id: TargetId, watched: Result<(), WatchError>) {
        let Some(target) = self.map.get_mut(&id) else { return };
        let polled = match (self.mode, watched) {
            (WatchMode::Poll, _) | (WatchMode::Auto, Err(_)) => true,
            (WatchMode::Auto, Ok(())) => target.sends_no_events(),
            (WatchMode::Events, _) => false,
        };
        let before = std::mem::replace(&mut target.watch_error, watched.err());
        self.set_polled(id, polled);
        if let Err(error) = watched
            && before != Some(error)
            && self.map.iter().all(|(other, target)| *other == id || target.watch_error != Some(error))
        {
            tracing::warn!(target: LOG_TARGET, "{}", error.advice());
        }
        if watched.err() != before {
            self.show_problems();
        }
    }

    fn set_polled(&mut self, id: TargetId, on: bool) {
        if let Some(target) = self.map.get_mut(&id) {
            set(&mut target.polled, on, &self.status.polled);
        }
    }

    pub(crate) fn set_failing(&mut self, id: TargetId, on: bool) {
        if let Some(target) = self.map.get_mut(&id) {
            set(&mut target.failing, on, &self.status.failing);
        }
    }

    /// Replaces a target's problems; what is new is logged.
    pub(crate) fn set_problems(&mut self, id: TargetId, problems: Vec<String>) {
        let Some(target) = self.map.get_mut(&id).filter(|target| target.problems != problems) else { return };
        for problem in problems.iter().filter(|problem| !target.problems.contains(problem)) {
            tracing::warn!(target: LOG_TARGET, "{problem}");
        }
        for problem in target.problems.iter().filter(|problem| !problems.contains(problem)) {
            tracing::info!(target: LOG_TARGET, "no longer: {problem}");
        }
        target.problems = problems;
        self.show_problems();
    }

    fn show_problems(&self) {
        let watching: BTreeSet<WatchError> = self.map.values().filter_map(|target| target.watch_error).collect();
        let watching = watching.into_iter().map(|error| error.advice().to_owned());
        let others = self.map.values().flat_map(|target| &target.problems).cloned();
        self.status.set_problems(watching.chain(others).collect());
    }

    fn count_workspaces(&self) {
        self.status.workspaces.set(i64::try_from(self.workspaces.len()).unwrap_or(i64::MAX));
    }
}

/// Sets a target's flag, and keeps the count of those that have it.
fn set(flag: &mut bool, on: bool, count: &Gauge) {
    match (std::mem::replace(flag, on), on) {
        (false, true) => _ = count.inc(),
        (true, false) => _ = count.dec(),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
