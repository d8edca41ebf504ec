//! From what was read to what is served.

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
    sync::Arc,
    time::Instant,
};

use arc_swap::ArcSwap;
use promptd_core::{
    finding::Finding,
    id::Id,
    profile::ProfileSet,
    workspace::{Entry, EntryKind, ReadError},
};

use super::{
    layers::{Following, Layers, Outcome},
    log::{log_change, log_heirs},
    target::{Content, Kind, TargetId},
    targets::Targets,
};
use crate::{
    LOG_TARGET, clock,
    external::External,
    load::{
        files::Contents,
        profiles,
        walk::is_failure,
        workspace::{Loading, Own, folder_unreadable},
    },
    options::Options,
    status::Status,
    store::{State, Store},
};

/// A target's content that is to be served.
pub(crate) struct Publication {
    pub(crate) target: TargetId,
    pub(crate) content: Content,
    /// The first sign of the change, for the lag; absent at the start.
    pub(crate) since: Option<Instant>,
}

/// Where everything that is served goes.
pub(crate) struct Publisher {
    pub(crate) options: Options,
    pub(crate) store: Arc<Store>,
    pub(crate) status: Arc<Status>,
    pub(crate) profiles: Arc<ArcSwap<ProfileSet>>,
    pub(crate) external: Option<Arc<dyn External>>,
    pub(crate) layers: Layers,
}

impl Publisher {
    pub(crate) fn new(
        options: Options,
        store: Arc<Store>,
        status: Arc<Status>,
        profiles: Arc<ArcSwap<ProfileSet>>,
        external: Option<Arc<dyn External>>,
    ) -> Self {
        Self { options, store, status, profiles, external, layers: Layers::default() }
    }

    /// Makes what was read what is served.
    pub(crate) fn publish(&mut self, targets: &mut Targets, publications: Vec<Publication>) {
        let (mut read, mut since_of) = (Vec::new(), BTreeMap::new());
        let now = clock::now();
        for Publication { target, content, since } in publications {
            match content {
                Content::Workspace(loading) => {
                    if let Some((id, outcome)) = self.workspace(targets, target, loading, now) {
                        since_of.insert(id.clone(), since);
                        read.push((id, outcome));
                    }
                }
                Content::Root(entries) => discover_workspaces(targets, target, entries, now),
                Content::Externals(ids) => discover_externals(targets, target, ids, now),
                Content::Files(contents) => self.files(targets, target, contents, now),
            }
        }
        let following = self.layers.take(read, &self.store, self.options.load_threads);
        self.serve(targets, following, &since_of);
    }

    /// What had to wait until all workspaces were loaded is served too.
    pub(crate) fn started(&mut self, targets: &mut Targets) {
        let following = self.layers.started(&self.store, self.options.load_threads);
        let since_of = following.states.iter().map(|(id, _)| (id.clone(), None)).collect();
        self.serve(targets, following, &since_of);
    }

    /// Serves the states that differ from those before. `since_of` has the workspaces that were loaded; the others follow from
    /// these.
    fn serve(&self, targets: &mut Targets, following: Following, since_of: &BTreeMap<Id, Option<Instant>>) {
        let now = clock::now();
        for id in &following.to_load {
            targets.mark_one(id.as_str(), now);
        }
        let of_layers = since_of.values().flatten().min().copied();
        let (mut changed, mut replaced) = (Vec::new(), Vec::new());
        for (id, state) in following.states {
            let before = self.store.get(id.as_str());
            let has_error = matches!(state, State::Invalid(_)) || state.findings().iter().any(Finding::is_error);
            if let Some(target) = targets.number_of(id.as_str()) {
                targets.set_failing(target, has_error);
            }
            if before.as_deref().is_some_and(|before| before.is_same(&state)) {
                if matches!(before.as_deref(), Some(State::Cold(_))) {
                    changed.push((id, state));
                }
                continue;
            }
            if has_error {
                self.status.failures.inc();
            }
            // The status first: a reader of the new state may ask for it.
            self.status.published.inc();
            if let Some(since) = since_of.get(&id).copied().unwrap_or(of_layers) {
                self.status.lag.observe(now.duration_since(since).as_secs_f64());
            }
            replaced.push((id.clone(), before));
            changed.push((id, state));
        }
        if !replaced.is_empty() {
            self.status.last_published.set(clock::timestamp().as_duration().as_secs_f64());
        }
        self.store.publish_all(changed);
        // Once it is served: whoever reads that a workspace is loaded finds it so, and no caller waits for the log.
        let (loaded, heirs): (Vec<_>, Vec<_>) = replaced.iter().partition(|(id, _)| since_of.contains_key(id));
        for (id, before) in loaded {
            if let Some(state) = self.store.get(id.as_str()) {
                log_change(id, before.as_deref(), &state);
            }
        }
        let heirs =
            heirs.into_iter().filter_map(|(id, before)| Some((id, before.as_deref(), self.store.get(id.as_str())?)));
        log_heirs(heirs);
    }

    /// What a workspace's own files gave, or with the errors what they gave last.
    fn workspace(
        &self,
        targets: &mut Targets,
        target: TargetId,
        loading: Loading,
        now: Instant,
    ) -> Option<(Id, Outcome)> {
        let workspace = targets.get(target)?;
        let (id, listed) = (workspace.workspace_id()?.clone(), workspace.is_listed());
        let own = match loading {
            Loading::Loaded(own) => Ok(own),
            Loading::Unopened(error) if !is_failure(error) && (self.store.get(id.as_str()).is_some() || listed) => {
                self.remove(targets, target, &id, listed, now);
                return Some((id, None));
            }
            Loading::Unopened(error) => self.without_load(&id, vec![folder_unreadable(error)]),
            Loading::Invalid(errors) => self.without_load(&id, errors),
        };
        targets.set_problems(target, Vec::new());
        Some((id, Some(own)))
    }

    /// The last good version, with the errors, where there is no new one.
    fn without_load(&self, id: &Id, errors: Vec<Finding>) -> Result<Own, Vec<Finding>> {
        let Some(own) = self.layers.whole_own(id, &self.store) else { return Err(errors) };
        let kept = |error: Finding| Finding {
            message: format!("{}; the last good version stays in use", error.message),
            ..error
        };
        // A canary is beside what was published last, which this is not.
        Ok(Own { candidate: None, ..own }.with_errors(errors.into_iter().map(kept)))
    }

    fn remove(&self, targets: &mut Targets, target: TargetId, id: &Id, listed: bool, now: Instant) {
        tracing::info!(target: LOG_TARGET, workspace = %id, "the workspace is gone");
        self.store.remove(id);
        targets.set_failing(target, false);
        if listed {
            targets.remove(target);
            // Another of its id may be served now.
            targets.mark(|target| matches!(target.kind, Kind::Root(_) | Kind::Externals), now);
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
                targets.mark(|target| target.workspace_id().is_some(), now);
            }
            _ => {}
        }
    }
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
        Some(Kind::External(_)) => Some(format!("{} is not served: a published workspace has its id", path.display())),
        Some(_) => None,
    }
}

/// Follows the workspaces that are not folders. One that is no longer there is found to be gone by its own load.
fn discover_externals(targets: &mut Targets, target: TargetId, ids: Vec<Id>, now: Instant) {
    let mut problems = Vec::new();
    for id in ids {
        match targets.of_workspace(id.as_str()).map(|target| &target.kind) {
            None => _ = targets.add(Kind::External(id), now),
            Some(Kind::Workspace { path, .. }) => {
                problems.push(format!("the published workspace {id} is not served: {} has its id", path.display()));
            }
            Some(_) => {}
        }
    }
    targets.set_problems(target, problems);
}
