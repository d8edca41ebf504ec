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
    debounce::{Decision, Event},
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
    /// In boxes, since a map that grows at its end is half empty.
    map: BTreeMap<TargetId, Box<Target>>,
    workspaces: BTreeMap<Id, TargetId>,
    /// Those that are due at some time, the next one first.
    agenda: BTreeSet<(Instant, TargetId)>,
    polled: BTreeSet<TargetId>,
    /// Those that an operator should see to.
    troubled: BTreeSet<TargetId>,
    /// How many are not watched, by reason.
    unwatched: BTreeMap<WatchError, usize>,
    next: TargetId,
    watches: Watches,
    mode: WatchMode,
    status: Arc<Status>,
}

impl Targets {
    pub(crate) fn new(watches: Watches, mode: WatchMode, status: Arc<Status>) -> Self {
        Self {
            map: BTreeMap::new(),
            workspaces: BTreeMap::new(),
            agenda: BTreeSet::new(),
            polled: BTreeSet::new(),
            troubled: BTreeSet::new(),
            unwatched: BTreeMap::new(),
            next: TargetId::default(),
            watches,
            mode,
            status,
        }
    }

    pub(crate) fn get(&self, id: TargetId) -> Option<&Target> {
        self.map.get(&id).map(|target| &**target)
    }

    pub(crate) fn get_mut(&mut self, id: TargetId) -> Option<&mut Target> {
        self.map.get_mut(&id).map(|target| &mut **target)
    }

    /// The target of a workspace.
    pub(crate) fn of_workspace(&self, id: &str) -> Option<&Target> {
        self.get(*self.workspaces.get(id)?)
    }

    /// The number of a workspace's target.
    pub(crate) fn number_of(&self, id: &str) -> Option<TargetId> {
        self.workspaces.get(id).copied()
    }

    /// The first target from `id` on that is polled, or that is not.
    pub(crate) fn from(&self, id: TargetId, polled: bool) -> Option<TargetId> {
        if polled {
            return self.polled.range(id..).next().copied();
        }
        self.map.range(id..).find(|(_, target)| !target.polled).map(|(id, _)| *id)
    }

    pub(crate) fn find(&self, wanted: impl Fn(&Target) -> bool) -> Vec<TargetId> {
        self.map.iter().filter(|(_, target)| wanted(target)).map(|(id, _)| *id).collect()
    }

    /// Begins to follow something; it is due at once.
    pub(crate) fn add(&mut self, kind: Kind, now: Instant) -> TargetId {
        let id = self.next;
        self.next = id.next();
        let target = Target::new(kind, now);
        if let Some(workspace) = target.workspace_id() {
            self.workspaces.insert(workspace.clone(), id);
            self.count_workspaces();
        }
        self.map.insert(id, Box::new(target));
        self.reschedule(id);
        id
    }

    /// Stops following it.
    pub(crate) fn remove(&mut self, id: TargetId) {
        self.set_polled(id, false);
        self.set_failing(id, false);
        self.set_watch_error(id, None);
        let Some(target) = self.map.remove(&id) else { return };
        if let Some(due) = target.scheduled {
            self.agenda.remove(&(due, id));
        }
        let _ = self.watches.follow(id, &target.read_set, &ReadSet::default());
        if let Some(workspace) = target.workspace_id() {
            self.workspaces.remove(workspace);
            self.count_workspaces();
        }
        if self.troubled.remove(&id) {
            self.show_problems();
        }
    }

    /// When the next target is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.agenda.first().map(|(due, _)| *due)
    }

    /// Those that are due, the longest first.
    pub(crate) fn due(&self, now: Instant) -> impl Iterator<Item = TargetId> {
        self.agenda.iter().take_while(move |(due, _)| *due <= now).map(|(_, id)| *id)
    }

    /// What an event means for a target.
    pub(crate) fn apply(&mut self, id: TargetId, event: &Event<'_>, now: Instant) -> Decision {
        let Some(target) = self.map.get_mut(&id) else { return Decision::Wait };
        let decision = target.debounce.apply(event, now);
        self.reschedule(id);
        decision
    }

    /// Puts a target where it belongs on the agenda.
    pub(crate) fn reschedule(&mut self, id: TargetId) {
        let Some(target) = self.map.get_mut(&id) else { return };
        let due = target.debounce.due();
        let before = std::mem::replace(&mut target.scheduled, due);
        if before != due {
            if let Some(before) = before {
                self.agenda.remove(&(before, id));
            }
            self.agenda.extend(due.map(|due| (due, id)));
        }
    }

    /// Targets that may have changed are to be loaded.
    pub(crate) fn mark(&mut self, changed: impl Fn(&Target) -> bool, now: Instant) {
        for id in self.find(changed) {
            self.apply(id, &Event::Marked, now);
        }
    }

    /// A workspace is to be loaded.
    pub(crate) fn mark_one(&mut self, workspace: &str, now: Instant) {
        if let Some(id) = self.number_of(workspace) {
            self.apply(id, &Event::Marked, now);
        }
    }

    /// A file event.
    pub(crate) fn file_event(&mut self, path: &Path, change: Change, now: Instant) {
        if change == Change::Removed {
            for id in self.watches.forget(path) {
                self.apply(id, &Event::Marked, now);
            }
        }
        let renamed = matches!(change, Change::Created | Change::Removed);
        // An empty file that was created is about to be written; a link is complete at once.
        let is_begun =
            change == Change::Created && disk::stat(path).is_ok_and(|meta| meta.is_file() && meta.len() == 0);
        let change = if is_begun { Change::Written } else { change };
        for id in self.watches.concerned(path) {
            let is_input = self.map.get(&id).is_some_and(|target| target.read_set.is_touched_by(path, renamed));
            let event = if is_input { Event::Input(path, change) } else { Event::Other(path, change) };
            self.apply(id, &event, now);
        }
    }

    /// Workspaces that are not folders have changed; where one is new, which there are is looked at.
    pub(crate) fn externals_changed(&mut self, ids: &[Id], now: Instant) {
        let mut has_new = false;
        for id in ids {
            match self.of_external(id) {
                Some(number) => _ = self.apply(number, &Event::Added, now),
                None => has_new = true,
            }
        }
        if has_new {
            self.list_externals(now);
        }
    }

    /// The target of a workspace that is not a folder and has changed, to be loaded at once. One that is new is followed from now on;
    /// `None`: it does not exist, or a folder with its id is served.
    pub(crate) fn external_changed(&mut self, id: &Id, exists: bool, now: Instant) -> Option<TargetId> {
        if let Some(number) = self.of_external(id) {
            self.apply(number, &Event::Added, now);
            return Some(number);
        }
        if self.number_of(id.as_str()).is_some() {
            self.list_externals(now);
            return None;
        }
        exists.then(|| self.add(Kind::External(id.clone()), now))
    }

    /// The target of a workspace that is followed and is not a folder.
    fn of_external(&self, id: &Id) -> Option<TargetId> {
        let is_external = |id: &TargetId| self.get(*id).is_some_and(|target| target.external_id().is_some());
        self.number_of(id.as_str()).filter(is_external)
    }

    fn list_externals(&mut self, now: Instant) {
        for list in self.find(|target| matches!(target.kind, Kind::Externals)) {
            self.apply(list, &Event::Added, now);
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

    /// Tries again to watch what could not be watched; not while no more can be.
    pub(crate) fn watch_again(&mut self, id: TargetId) {
        if let (WatchMode::Auto, false, Some(target)) = (self.mode, self.watches.are_used_up(), self.map.get(&id))
            && target.polled
        {
            let watched = self.watches.follow(id, &target.read_set, &target.read_set);
            self.rely_on_events(id, watched);
        }
    }

    /// Whether the system allows no more watches.
    pub(crate) fn are_watches_used_up(&self) -> bool {
        self.watches.are_used_up()
    }

    /// Finds out anew whether the system allows more watches, the next time that one is needed.
    pub(crate) fn try_watches(&mut self) {
        self.watches.try_again();
    }

    /// What the system's limit on watches must be at least, for all folders to be watched; `None`: it suffices.
    pub(crate) fn limit_needed(&self) -> Option<u64> {
        self.watches.limit_needed()
    }

    /// Polls a target where its events cannot be had.
    fn rely_on_events(&mut self, id: TargetId, watched: Result<(), WatchError>) {
        let Some(target) = self.map.get(&id) else { return };
        let polled = match (self.mode, watched) {
            (WatchMode::Poll, _) | (WatchMode::Auto, Err(_)) => true,
            (WatchMode::Auto, Ok(())) => target.sends_no_events(),
            (WatchMode::Events, _) => false,
        };
        self.set_polled(id, polled);
        self.set_watch_error(id, watched.err());
    }

    /// Why a target is not watched; the first of each reason is logged.
    fn set_watch_error(&mut self, id: TargetId, error: Option<WatchError>) {
        let Some(target) = self.map.get_mut(&id) else { return };
        let before = std::mem::replace(&mut target.watch_error, error);
        if before == error {
            return;
        }
        let mut is_news = false;
        if let Some(error) = error {
            let count = self.unwatched.entry(error).or_default();
            *count += 1;
            if *count == 1 {
                is_news = true;
                tracing::warn!(target: LOG_TARGET, "{}", error.advice());
            }
        }
        if let Some(before) = before
            && let Some(count) = self.unwatched.get_mut(&before)
        {
            *count -= 1;
            if *count == 0 {
                is_news = true;
                self.unwatched.remove(&before);
            }
        }
        if is_news {
            self.show_problems();
        }
    }

    fn set_polled(&mut self, id: TargetId, on: bool) {
        if let Some(target) = self.map.get_mut(&id) {
            set(&mut target.polled, on, &self.status.polled);
            set_member(&mut self.polled, id, on);
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
        set_member(&mut self.troubled, id, !problems.is_empty());
        target.problems = problems;
        self.show_problems();
    }

    fn show_problems(&self) {
        let watching = self.unwatched.keys().map(|error| error.advice().to_owned());
        let troubled = self.troubled.iter().filter_map(|id| self.map.get(id));
        let others = troubled.flat_map(|target| &target.problems).cloned();
        self.status.set_problems(watching.chain(others).collect());
    }

    fn count_workspaces(&self) {
        self.status.workspaces.set(i64::try_from(self.workspaces.len()).unwrap_or(i64::MAX));
    }
}

fn set_member(set: &mut BTreeSet<TargetId>, id: TargetId, is_member: bool) {
    if is_member {
        set.insert(id);
    } else {
        set.remove(&id);
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
