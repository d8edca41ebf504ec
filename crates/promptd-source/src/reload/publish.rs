//! From what was read to what is served, and to the log.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Instant,
};

use jiff::Timestamp;

use super::{
    Reload,
    target::{Item, Payload, Sink, What, folder_unreadable},
    watches::Subject,
};
use crate::{
    LOG_TARGET,
    events::WatchError,
    load::{files::Contents, profiles},
    store::{Loaded, State, changed_paths},
};
use promptd_core::{
    finding::{Finding, Severity},
    id::Id,
    prompt::{forecast, may_lose},
    workspace::{Entry, EntryKind, ReadError, Snapshot},
};

impl Reload {
    /// Makes what was read what is served; `since`: the first signs of the changes, for the lag.
    pub(crate) fn publish(&mut self, outcomes: Vec<(Subject, Payload)>, since: &BTreeMap<Subject, Instant>) {
        let mut states = Vec::new();
        for (subject, payload) in outcomes {
            let changed = match payload {
                Payload::Workspace(result) => self.loaded(subject, result),
                Payload::Gone(error) => self.gone(subject, error),
                Payload::Root(entries) => {
                    self.list_root(subject, entries);
                    None
                }
                Payload::Files(contents) => {
                    self.hand_over(subject, contents);
                    None
                }
            };
            states.extend(changed.map(|(id, state)| (subject, id, state)));
        }
        // The status first: who sees the new state may ask for it.
        let now = Instant::now();
        for (subject, ..) in &states {
            let lag = since.get(subject).map(|since| now.duration_since(*since));
            self.status.published_after(lag, Timestamp::now().as_millisecond());
        }
        self.take_census();
        self.store.publish_all(states.into_iter().map(|(_, id, state)| (id, state)));
    }

    /// The new state, if it differs from what is served.
    fn loaded(&mut self, subject: Subject, result: Result<Box<Snapshot>, Vec<Finding>>) -> Option<(Id, State)> {
        let id = self.items.get(&subject)?.workspace_id()?.clone();
        let current = self.store.get(id.as_str());
        let state = match (result, current.as_deref()) {
            (Err(findings), Some(State::Ready(_))) => {
                self.keep_last_good(subject, &id, &findings);
                return None;
            }
            (Err(findings), _) => State::Invalid(findings.into()),
            (Ok(snapshot), _) => State::Ready(Arc::new(Loaded { snapshot: (*snapshot).into(), at: Timestamp::now() })),
        };
        self.report(subject, Vec::new());
        let has_error = matches!(state, State::Invalid(_)) || findings(&state).iter().any(Finding::is_error);
        if has_error {
            self.failing.insert(subject)
        } else {
            self.failing.remove(&subject)
        };
        if current.as_deref().is_some_and(|current| is_same(current, &state)) {
            return None;
        }
        if has_error {
            self.status.failed_once();
        }
        log(&id, current.as_deref(), &state);
        Some((id, state))
    }

    /// For what a load cannot say in a snapshot of its own.
    fn keep_last_good(&mut self, subject: Subject, id: &Id, findings: &[Finding]) {
        self.status.failed_once();
        self.failing.insert(subject);
        let problem =
            |finding: &Finding| format!("workspace `{id}`: {}; its last good revision stays", finding.message);
        self.report(subject, findings.iter().map(problem).collect());
    }

    fn gone(&mut self, subject: Subject, error: ReadError) -> Option<(Id, State)> {
        let Item { what: What::Workspace { id, listed, path }, .. } = self.items.get(&subject)? else { return None };
        let (id, listed, path) = (id.clone(), *listed, path.clone());
        let known = self.store.get(id.as_str()).is_some();
        let is_away = !matches!(error, ReadError::Denied | ReadError::Failed(_));
        if is_away && (known || listed) {
            tracing::info!(target: LOG_TARGET, workspace = %id, "the workspace is gone");
            self.store.remove(&id);
            self.failing.remove(&subject);
            if listed {
                self.drop_item(subject);
                self.mark_roots();
            }
            return None;
        }
        if known {
            self.keep_last_good(subject, &id, &[folder_unreadable(error)]);
            return None;
        }
        tracing::error!(target: LOG_TARGET, workspace = %id, path = %path.display(), "the workspace's folder {error}");
        self.failing.insert(subject);
        Some((id, State::Invalid([folder_unreadable(error)].into())))
    }

    /// A root that is not there lists nothing; one that cannot be read keeps what it had.
    fn list_root(&mut self, subject: Subject, entries: Result<Vec<Entry>, ReadError>) {
        let Some(Item { what: What::Root(root), .. }) = self.items.get(&subject) else { return };
        let root = root.clone();
        let mut problems = Vec::new();
        let entries = entries.unwrap_or_else(|error| {
            problems.push(format!("the workspaces folder {} {error}", root.display()));
            Vec::new()
        });
        for entry in entries.into_iter().filter(|entry| !entry.name.starts_with('.')) {
            let path = root.join(&entry.name);
            match (entry.kind, Id::parse(&entry.name)) {
                (EntryKind::Folder, Ok(id)) => problems.extend(self.discover(id, &path)),
                (EntryKind::Folder, Err(invalid)) => {
                    problems.push(format!("{} is no workspace: its name {invalid}", path.display()));
                }
                (EntryKind::Other, Ok(_)) => problems.push(format!("{} leads to no folder", path.display())),
                _ => {}
            }
        }
        // What is no longer listed finds that out by itself.
        let missing: Vec<_> = self
            .items
            .iter()
            .filter(|(_, item)| {
                matches!(&item.what, What::Workspace { path, listed: true, .. }
                    if path.parent() == Some(&root) && !item.trace.holds())
            })
            .map(|(subject, _)| *subject)
            .collect();
        for subject in missing {
            self.mark(subject);
        }
        self.report(subject, problems);
    }

    fn discover(&mut self, id: Id, path: &Path) -> Option<String> {
        let known = self.ids.get(id.as_str()).and_then(|subject| self.items.get(subject)).map(|item| &item.what);
        match known {
            None => {
                self.add(Item::new(What::Workspace { id, path: path.to_path_buf(), listed: true }));
                None
            }
            Some(What::Workspace { path: other, .. }) if other != path => {
                Some(format!("{} is not served: {} has its id", path.display(), other.display()))
            }
            Some(_) => None,
        }
    }

    fn mark_roots(&mut self) {
        self.mark_where(|what| matches!(what, What::Root(_)));
    }

    fn mark_workspaces(&mut self) {
        self.mark_where(|what| matches!(what, What::Workspace { .. }));
    }

    fn mark_where(&mut self, is_meant: impl Fn(&What) -> bool) {
        let meant: Vec<_> =
            self.items.iter().filter(|(_, item)| is_meant(&item.what)).map(|(subject, _)| *subject).collect();
        for subject in meant {
            self.mark(subject);
        }
    }

    fn hand_over(&mut self, subject: Subject, contents: Contents) {
        match self.items.get(&subject).map(|item| &item.what) {
            Some(What::Files(_, Sink::Receivers(sender))) => {
                sender.send_if_modified(|current| {
                    let differs = **current != contents;
                    if differs {
                        *current = Arc::new(contents);
                    }
                    differs
                });
                if sender.is_closed() {
                    self.drop_item(subject);
                }
            }
            Some(What::Files(_, Sink::Profiles)) => {
                let (profiles, findings) = profiles::load(&self.options, &contents, Some(&self.profiles.load()));
                let problem = |f: &Finding| format!("profile at fault: {}: {}", f.place, f.message);
                let problems = findings.iter().map(problem).collect();
                self.report(subject, problems);
                self.profiles.store(Arc::new(profiles));
                self.mark_workspaces();
            }
            _ => {}
        }
    }

    /// Replaces what there is to say about a subject; what is new is logged.
    pub(crate) fn report(&mut self, subject: Subject, problems: Vec<String>) {
        let old = self.problems.remove(&subject).unwrap_or_default();
        if old == problems {
            self.problems.extend((!old.is_empty()).then_some((subject, old)));
            return;
        }
        for problem in problems.iter().filter(|problem| !old.contains(problem)) {
            tracing::warn!(target: LOG_TARGET, "{problem}");
        }
        for problem in old.iter().filter(|problem| !problems.contains(problem)) {
            tracing::info!(target: LOG_TARGET, "no longer: {problem}");
        }
        self.problems.insert(subject, problems);
        self.tell_problems();
    }

    /// Gives all there is to say to the status.
    pub(crate) fn tell_problems(&self) {
        let reasons: BTreeSet<WatchError> = self.unwatched.values().copied().collect();
        let watching = reasons.into_iter().map(|reason| reason.advice().to_owned());
        self.status.set_problems(watching.chain(self.problems.values().flatten().cloned()).collect());
    }

    fn take_census(&self) {
        let served = self.ids.len();
        self.status.set_census(served, self.polled.len(), self.failing.len());
    }
}

fn findings(state: &State) -> &[Finding] {
    match state {
        State::Ready(loaded) => &loaded.snapshot.findings,
        State::Invalid(findings) => findings,
        State::Gone => &[],
    }
}

/// Whether nobody could tell one from the other.
fn is_same(old: &State, new: &State) -> bool {
    let revision = |state: &State| match state {
        State::Ready(loaded) => Some(loaded.snapshot.revision.clone()),
        State::Invalid(_) | State::Gone => None,
    };
    revision(old) == revision(new) && findings(old) == findings(new)
}

/// One line a revision, and one a finding that was not there before.
fn log(id: &Id, before: Option<&State>, now: &State) {
    if let State::Ready(new) = now {
        let changed = match before {
            Some(State::Ready(old)) => changed_paths(&old.snapshot, &new.snapshot),
            _ => Vec::new(),
        };
        let count = |is: Severity| new.snapshot.findings.iter().filter(|finding| finding.severity == is).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        tracing::info!(target: LOG_TARGET, workspace = %id, revision = %new.snapshot.revision, ?changed, errors, warnings, "workspace loaded");
        // What is cut is told of every revision, whatever was told of the one before.
        if may_lose(&new.snapshot) {
            for finding in &forecast(&new.snapshot) {
                tell(id, finding);
            }
        }
    }
    let old: BTreeSet<&Finding> = before.into_iter().flat_map(findings).collect();
    for finding in findings(now).iter().filter(|finding| !old.contains(finding)) {
        tell(id, finding);
    }
}

fn tell(id: &Id, finding: &Finding) {
    let Finding { severity, code, place, message } = finding;
    let code = code.as_str();
    match severity {
        Severity::Error => tracing::error!(target: LOG_TARGET, workspace = %id, code, %place, "{message}"),
        Severity::Warning => tracing::warn!(target: LOG_TARGET, workspace = %id, code, %place, "{message}"),
        Severity::Info => tracing::debug!(target: LOG_TARGET, workspace = %id, code, %place, "{message}"),
    }
}
