//! The reload loop: events in, revisions out.
//!
//! One thread owns everything here. An event or the sweep makes a target pending; [`debounce`] decides when it is loaded
//! and when what was read is believed. Until then the last good version stays.

mod debounce;
mod layers;
mod log;
mod parallel;
mod publish;
mod sweep;
mod target;
mod target_ids;
mod targets;
mod watches;

pub(crate) use self::{publish::Publisher, target::Kind};

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::Duration,
};

use promptd_core::{id::Id, settings::Settings};

use self::{
    debounce::{Decision, Losses},
    publish::Publication,
    sweep::Round,
    target::{Content, Target, TargetId},
    targets::Targets,
    watches::Watches,
};
use crate::{
    LOG_TARGET, clock,
    events::{Event, WatchError, Watcher},
    external::ExternalWorkspace,
    load::{
        read_set::ReadSet,
        workspace::{Inputs, Loading, Own},
    },
    store::State,
};

/// How many are loaded in one go, so that what a call waits for is not behind a long row of others. What was published together
/// is loaded together, however many these are.
const AT_ONCE: usize = 50;

/// What the loop receives.
pub(crate) enum Message {
    Event(Event),
    /// A call needs a workspace that is not loaded.
    Wanted(Id),
    /// New settings: everything is loaded again with them.
    Settings(Arc<Settings>),
    /// More to follow.
    Follow(Box<Kind>),
    /// Workspaces that are not folders have changed.
    Changed(Vec<Id>),
    /// Everything is looked at again.
    Rescan,
    Stop,
}

/// The loop's state.
pub(crate) struct Reload {
    settings: Arc<Settings>,
    targets: Targets,
    sweep: Round,
    polling: Round,
    /// The limit of watches that the log last asked for.
    limit_asked_for: Option<u64>,
    publisher: Publisher,
    /// Workspaces that calls wait for.
    wanted: BTreeSet<TargetId>,
    inbox: Receiver<Message>,
    stopped: bool,
}

impl Reload {
    /// Nothing is followed yet. Without a watcher nothing is watched; the error is why, if one was wanted.
    pub(crate) fn new(
        publisher: Publisher,
        watcher: Result<Box<dyn Watcher>, Option<WatchError>>,
        inbox: Receiver<Message>,
    ) -> Self {
        let folders = Watches::new(watcher, Arc::clone(&publisher.status));
        Self {
            settings: Arc::new(publisher.options.settings.clone()),
            targets: Targets::new(folders, publisher.options.watch, Arc::clone(&publisher.status)),
            sweep: Round::new(clock::now()),
            polling: Round::new(clock::now()),
            limit_asked_for: None,
            publisher,
            wanted: BTreeSet::new(),
            inbox,
            stopped: false,
        }
    }

    /// Begins to follow something.
    pub(crate) fn follow(&mut self, kind: Kind) {
        self.targets.add(kind, clock::now());
    }

    /// Loads everything for the first time. In batches, since what is published takes less memory than what was loaded.
    pub(crate) fn start(&mut self) {
        const BATCH: usize = 500;
        const LOGGED_EVERY: Duration = Duration::from_secs(1);
        let mut logged = clock::now();
        self.publisher.layers.starts();
        // Roots first: they add workspaces.
        for workspaces in [false, true] {
            let targets = self.targets.find(|target| target.workspace_id().is_some() == workspaces);
            for batch in targets.chunks(BATCH) {
                self.start_with(batch);
                if clock::now().duration_since(logged) >= LOGGED_EVERY {
                    logged = clock::now();
                    let (loaded, known) = self.publisher.status.progress();
                    tracing::info!(target: LOG_TARGET, loaded, known, "loading workspaces");
                }
            }
        }
        self.publisher.started(&mut self.targets);
        (self.sweep, self.polling) = (Round::new(clock::now()), Round::new(clock::now()));
    }

    fn start_with(&mut self, targets: &[TargetId]) {
        let mut publications = Vec::new();
        for (target, (read_set, content)) in self.load(targets) {
            let quiet_for = read_set.quiet_for();
            let current = self.targets.watch(target, read_set);
            let failed = self.has_failures(target);
            self.apply(target, &debounce::Event::Started { current, failed, quiet_for });
            publications.push(Publication { target, content, since: None });
        }
        self.publisher.publish(&mut self.targets, publications);
    }

    /// Runs until it is stopped, or no sender is left.
    pub(crate) fn run(mut self) {
        while !self.stopped {
            let due = if self.polls() { self.sweep.due().min(self.polling.due()) } else { self.sweep.due() };
            let due = self.targets.next_due().map_or(due, |next| next.min(due));
            // More of it than one go takes.
            let due = if self.wanted.iter().any(|id| self.is_at_rest(*id)) { clock::now() } else { due };
            match self.inbox.recv_timeout(due.saturating_duration_since(clock::now())) {
                Ok(message) => self.receive(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.receive_all();
            self.load_wanted();
            self.load_due();
            self.look_around();
        }
    }

    /// Takes in the messages so far, but not without end: loads must get their turn in any flood of events.
    fn receive_all(&mut self) {
        const MOST: usize = 10_000;
        for _ in 0..MOST {
            let Ok(message) = self.inbox.try_recv() else { return };
            self.receive(message);
        }
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Event(Event::Changed { path, change }) => self.targets.file_event(&path, change, clock::now()),
            Message::Event(Event::Lost) => {
                self.publisher.status.rescans.inc();
                tracing::warn!(target: LOG_TARGET, "file events were lost: looking at everything again");
                self.mark_all();
            }
            Message::Wanted(id) => self.wanted.extend(self.targets.number_of(id.as_str())),
            Message::Changed(ids) => self.targets.externals_changed(&ids, clock::now()),
            Message::Rescan => self.mark_all(),
            Message::Settings(settings) => {
                self.settings = settings;
                self.mark_all();
            }
            Message::Follow(kind) => self.follow(*kind),
            Message::Stop => self.stopped = true,
        }
    }

    fn mark_all(&mut self) {
        self.targets.mark(|_| true, clock::now());
    }

    fn apply(&mut self, target: TargetId, event: &debounce::Event<'_>) -> Decision {
        self.targets.apply(target, event, clock::now())
    }

    /// Loads what calls wait for. What has changed since it was last loaded, or while it is read, is waited for as after every
    /// change.
    fn load_wanted(&mut self) {
        let is_cold = |target: &Target| {
            let state = target.workspace_id().and_then(|id| self.publisher.store.get(id.as_str()));
            matches!(state.as_deref(), Some(State::Cold(_)))
        };
        self.wanted.retain(|id| self.targets.get(*id).is_some_and(is_cold));
        let at_rest: Vec<_> = self.wanted.iter().copied().filter(|id| self.is_at_rest(*id)).take(AT_ONCE).collect();
        let mut publications = Vec::new();
        for (target, (read_set, content)) in self.load(&at_rest) {
            let is_same = |target: &Target| target.read_set.is_same(&read_set) && read_set.is_current();
            if !self.is_at_rest(target) {
                // It has changed too.
                publications.extend(self.assessed(target, read_set, content));
            } else if self.targets.get(target).is_some_and(is_same) {
                self.wanted.remove(&target);
                publications.push(Publication { target, content, since: None });
            } else {
                self.apply(target, &debounce::Event::Marked);
            }
        }
        self.publisher.publish(&mut self.targets, publications);
    }

    fn is_at_rest(&self, id: TargetId) -> bool {
        self.targets.get(id).is_some_and(|target| !target.debounce.is_pending())
    }

    /// Loads what is due, not all of it at once: first what calls wait for.
    fn load_due(&mut self) {
        let now = clock::now();
        let is_due =
            |id: &TargetId| self.targets.get(*id).is_some_and(|target| target.scheduled.is_some_and(|due| due <= now));
        let wanted = self.wanted.iter().copied().filter(is_due);
        let others = self.targets.due(now).filter(|id| !self.wanted.contains(id));
        let due: Vec<_> = wanted.chain(others).take(AT_ONCE).collect();
        let mut ready = Vec::new();
        for target in due {
            let quiet_for = self.targets.get(target).and_then(|target| target.read_set.quiet_for_now());
            match self.apply(target, &debounce::Event::Due { quiet_for }) {
                Decision::Load => ready.push(target),
                Decision::Look => self.look_again(target),
                _ => {}
            }
        }
        let mut publications = Vec::new();
        for (target, (read_set, content)) in self.load(&ready) {
            publications.extend(self.assessed(target, read_set, content));
        }
        self.publisher.publish(&mut self.targets, publications);
    }

    /// What was read, if it is to be served.
    fn assessed(&mut self, target: TargetId, read_set: ReadSet, content: Content) -> Option<Publication> {
        match self.assess(target, read_set, &content) {
            Decision::Publish { since, reported } => {
                if !reported && self.targets.get(target).is_some_and(|target| !target.polled) {
                    self.publisher.status.sweep_hits.inc();
                }
                return Some(Publication { target, content, since: Some(since) });
            }
            Decision::Retry => _ = self.publisher.status.retries.inc(),
            _ => {}
        }
        None
    }

    /// Whether what was read is served; until then the target stays pending.
    fn assess(&mut self, id: TargetId, read_set: ReadSet, content: &Content) -> Decision {
        let now = clock::now();
        let Some(target) = self.targets.get_mut(id) else { return Decision::Wait };
        let served = target.workspace_id().is_some_and(|id| self.publisher.store.get(id.as_str()).is_some());
        let Target { read_set: before, before_failures, debounce, .. } = target;
        let losses = match content {
            Content::Workspace(Loading::Unopened(_)) if served => Losses::Root,
            _ => {
                let known = iter::once(&*before).chain(&*before_failures);
                Losses::Files(known.flat_map(|known| known.losses_in(&read_set)).collect())
            }
        };
        let (current, quiet_for) = (read_set.is_current(), read_set.quiet_for());
        let decision = debounce.apply(&debounce::Event::Read { current, quiet_for, losses }, now);
        self.targets.reschedule(id);
        if decision != Decision::Watch {
            return decision;
        }
        let current = self.targets.watch(id, read_set);
        let failed = self.has_failures(id);
        self.apply(id, &debounce::Event::Watched { current, failed })
    }

    /// Loads targets. Where workspaces that are not folders are among them, all others of these that have changed are loaded too.
    fn load(&mut self, targets: &[TargetId]) -> Vec<(TargetId, (ReadSet, Content))> {
        let externals = self.read_externals(targets);
        let given: BTreeSet<_> = targets.iter().collect();
        let also = externals.keys().filter(|id| !given.contains(id));
        let targets: Vec<_> = targets.iter().chain(also).filter_map(|id| Some((*id, self.targets.get(*id)?))).collect();
        let Publisher { options, store, status, profiles, external, layers } = &self.publisher;
        let profiles = profiles.load_full();
        let settings = &self.settings;
        parallel::map(options.load_threads, &targets, |(id, target)| {
            status.loads.inc();
            let previous = target.workspace_id().and_then(|id| layers.own(id, store));
            let previous: Option<&Own> = previous.as_ref();
            let inputs = Inputs {
                options,
                settings,
                profiles: &profiles,
                previous: previous.map(|own| &*own.snapshot),
                previous_origin: previous.and_then(|own| own.origin.as_ref()),
                external: external.as_deref(),
            };
            (*id, target.load(externals.get(id).cloned().flatten(), &inputs))
        })
    }

    /// The workspaces that are not folders, of these targets and all that have changed, at one moment; `None`: it does not exist.
    /// Those that have changed are to be loaded.
    fn read_externals(&mut self, targets: &[TargetId]) -> BTreeMap<TargetId, Option<ExternalWorkspace>> {
        let Some(external) = self.publisher.external.clone() else { return BTreeMap::new() };
        let wanted = targets.iter().filter_map(|id| Some((self.targets.get(*id)?.external_id()?.clone(), *id)));
        let wanted: BTreeMap<Id, TargetId> = wanted.collect();
        if wanted.is_empty() {
            return BTreeMap::new();
        }
        let ids: Vec<Id> = wanted.keys().cloned().collect();
        let (mut read, now) = (BTreeMap::new(), clock::now());
        for (id, workspace) in external.read(&ids) {
            let known = wanted.get(&id).copied();
            let number = known.or_else(|| self.targets.external_changed(&id, workspace.is_some(), now));
            read.extend(number.map(|number| (number, workspace)));
        }
        read
    }

    fn has_failures(&self, id: TargetId) -> bool {
        self.targets.get(id).is_some_and(Target::has_failures)
    }
}

#[cfg(test)]
mod tests;
