//! From what was read to what is served.

use std::{collections::HashSet, path::Path, sync::Arc, time::Instant};

use arc_swap::ArcSwap;
use promptd_core::{
    finding::Finding,
    id::Id,
    profile::ProfileSet,
    workspace::{Entry, EntryKind, Origin, ReadError, Snapshot},
};

use super::{
    log::log_change,
    target::{Content, Kind, TargetId},
    targets::Targets,
};
use crate::{
    LOG_TARGET, clock,
    load::{
        files::Contents,
        profiles,
        walk::is_failure,
        workspace::{Loading, folder_unreadable},
    },
    options::Options,
    status::Status,
    store::{Loaded, State, Store},
};

/// A target's content that is to be served.
pub(crate) struct Publication {
    pub(crate) target: TargetId,
    pub(crate) content: Content,
    /// The first sign of the change, for the lag; absent at the start.
    pub(crate) since: Option<Instant>,
}

/// A workspace's new state, and the one that it replaces.
struct Change {
    id: Id,
    before: Option<Arc<State>>,
    state: State,
    /// It is the revision that was known; it was not loaded.
    is_known: bool,
}

/// Where everything that is served goes.
pub(crate) struct Publisher {
    pub(crate) options: Options,
    pub(crate) store: Arc<Store>,
    pub(crate) status: Arc<Status>,
    pub(crate) profiles: Arc<ArcSwap<ProfileSet>>,
}

impl Publisher {
    /// Makes what was read what is served.
    pub(crate) fn publish(&self, targets: &mut Targets, publications: Vec<Publication>) {
        let (mut states, mut replaced) = (Vec::new(), Vec::new());
        let now = clock::now();
        for Publication { target, content, since } in publications {
            let changed = match content {
                Content::Workspace(loading) => self.workspace(targets, target, loading, now),
                Content::Root(entries) => {
                    discover_workspaces(targets, target, entries, now);
                    None
                }
                Content::Files(contents) => {
                    self.files(targets, target, contents, now);
                    None
                }
            };
            if let Some(Change { id, before, state, is_known }) = changed {
                if !is_known {
                    // The status first: a reader of the new state may ask for it.
                    self.status.published.inc();
                    if let Some(since) = since {
                        self.status.lag.observe(now.duration_since(since).as_secs_f64());
                    }
                    replaced.push((id.clone(), before));
                }
                states.push((id, state));
            }
        }
        if !replaced.is_empty() {
            self.status.last_published.set(clock::timestamp().as_duration().as_secs_f64());
        }
        self.store.publish_all(states);
        // Once it is served: whoever reads that a workspace is loaded finds it so, and no caller waits for the log.
        for (id, before) in replaced {
            if let Some(state) = self.store.get(id.as_str()) {
                log_change(&id, before.as_deref(), &state);
            }
        }
    }

    /// The state that is served and the new one, if they differ.
    fn workspace(&self, targets: &mut Targets, target: TargetId, loading: Loading, now: Instant) -> Option<Change> {
        let Kind::Workspace { id, listed, .. } = &targets.get(target)?.kind else { return None };
        let (id, listed) = (id.clone(), *listed);
        let current = self.store.get(id.as_str());
        let ready = |snapshot: Snapshot, origin: Option<Arc<Origin>>| {
            let at = match current.as_deref() {
                Some(State::Cold(cold)) if cold.outline.snapshot().revision == snapshot.revision => cold.at,
                _ => clock::timestamp(),
            };
            State::Ready(Arc::new(Loaded { snapshot: snapshot.into(), at, origin }))
        };
        let state = match loading {
            Loading::Loaded(snapshot, origin) => ready(*snapshot, origin),
            Loading::Unopened(error) if !is_failure(error) && (current.is_some() || listed) => {
                self.remove(targets, target, &id, listed, now);
                return None;
            }
            Loading::Unopened(error) => without_load(current.as_deref(), vec![folder_unreadable(error)], ready),
            Loading::Invalid(errors) => without_load(current.as_deref(), errors, ready),
        };
        targets.set_problems(target, Vec::new());
        let has_error = matches!(state, State::Invalid(_)) || state.findings().iter().any(Finding::is_error);
        targets.set_failing(target, has_error);
        let is_known = current.as_deref().is_some_and(|current| current.is_same(&state));
        if is_known && !matches!(current.as_deref(), Some(State::Cold(_))) {
            return None;
        }
        if has_error && !is_known {
            self.status.failures.inc();
        }
        Some(Change { id, before: current, state, is_known })
    }

    fn remove(&self, targets: &mut Targets, target: TargetId, id: &Id, listed: bool, now: Instant) {
        tracing::info!(target: LOG_TARGET, workspace = %id, "the workspace is gone");
        self.store.remove(id);
        targets.set_failing(target, false);
        if listed {
            targets.remove(target);
            targets.mark(|target| matches!(target.kind, Kind::Root(_)), now);
        }
    }

    fn files(&self, targets: &mut Targets, target: TargetId, contents: Contents, now: Instant) {
        match targets.get(target).map(|target| &target.kind) {
            Some(Kind::Files(_, receivers)) => {
                receivers.send_if_modified(|current| {
                    let differs = **current != contents;
                    if differs {
                        *current = Arc::new(contents);
                    }
                    differs
                });
                if receivers.is_closed() {
                    targets.remove(target);
                }
            }
            Some(Kind::Profiles(_)) => {
                let (profiles, findings) = profiles::load(&self.options, &contents, Some(&self.profiles.load()));
                let problem = |f: &Finding| format!("invalid profile: {f}");
                targets.set_problems(target, findings.iter().map(problem).collect());
                self.profiles.store(Arc::new(profiles));
                targets.mark(|target| matches!(target.kind, Kind::Workspace { .. }), now);
            }
            _ => {}
        }
    }
}

/// The state where there is no new snapshot: the last good one, with the errors.
fn without_load(
    current: Option<&State>,
    errors: Vec<Finding>,
    ready: impl Fn(Snapshot, Option<Arc<Origin>>) -> State,
) -> State {
    let Some(State::Ready(last_good)) = current else { return State::Invalid(errors.into()) };
    let kept =
        |error: Finding| Finding { message: format!("{}; the last good version stays in use", error.message), ..error };
    // Errors change no text of a prompt.
    ready(last_good.snapshot.with_errors(errors.into_iter().map(kept)), last_good.origin.clone())
}

/// Follows the workspaces that a root lists. A root that does not exist lists nothing; one that cannot be read keeps
/// what it had.
fn discover_workspaces(targets: &mut Targets, target: TargetId, entries: Result<Vec<Entry>, ReadError>, now: Instant) {
    let Some(Kind::Root(root)) = targets.get(target).map(|target| &target.kind) else { return };
    let root = root.clone();
    let (mut problems, mut listed) = (Vec::new(), HashSet::new());
    let entries = entries.unwrap_or_else(|error| {
        problems.push(format!("the workspaces folder {} {error}", root.display()));
        Vec::new()
    });
    for entry in entries.into_iter().filter(|entry| !entry.name.starts_with('.')) {
        let path = root.join(&entry.name);
        match (entry.kind, Id::parse(&entry.name)) {
            (EntryKind::Folder, Ok(id)) => {
                problems.extend(discover(targets, id, &path, now));
                listed.insert(path);
            }
            (EntryKind::Folder, Err(invalid)) => {
                problems.push(format!("{} is not a workspace: its name {invalid}", path.display()));
            }
            (EntryKind::Other, Ok(_)) => problems.push(format!("{} does not lead to a folder", path.display())),
            _ => {}
        }
    }
    // A workspace that is no longer listed is found to be gone by its own load.
    targets.mark(
        |target| {
            matches!(&target.kind, Kind::Workspace { path, listed: true, .. }
                if path.parent() == Some(&root) && !listed.contains(path) && !target.read_set.is_current())
        },
        now,
    );
    targets.set_problems(target, problems);
}

fn discover(targets: &mut Targets, id: Id, path: &Path, now: Instant) -> Option<String> {
    match targets.of_workspace(id.as_str()).map(|target| &target.kind) {
        None => {
            targets.add(Kind::Workspace { id, path: path.to_path_buf(), listed: true }, now);
            None
        }
        Some(Kind::Workspace { path: other, .. }) if other != path => {
            Some(format!("{} is not served: {} has its id", path.display(), other.display()))
        }
        Some(_) => None,
    }
}
