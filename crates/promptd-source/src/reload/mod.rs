//! The reload loop: hints in, revisions out.
//!
//! One thread owns everything here. A hint or the sweep makes a subject *pending*; when it is due it is loaded, and
//! what was read counts only if nothing moved meanwhile, the files have rested, and no file looks as if it were in
//! the middle of a save. Otherwise the last good revision stays and the subject is loaded again.

mod debounce;
mod publish;
mod sweep;
pub(crate) mod target;
mod watches;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;

use self::{
    debounce::{DOUBT, GONE, Pending, REST},
    sweep::Sweep,
    target::{Item, Payload, Reading, Sources},
    watches::{Subject, Watches},
};
use crate::{
    LOG_TARGET,
    events::{Change, Feed, Hint, WatchError},
    load::read_set::{Lost, Trace},
    options::{Options, WatchMode},
    status::Status,
    store::Store,
};
use promptd_core::{id::Id, profile::ProfileSet, settings::Settings};

/// What the loop is told.
pub(crate) enum Message {
    Hint(Hint),
    /// New settings: everything is loaded again with them.
    Settings(Arc<Settings>),
    /// More files to follow.
    Follow(Box<Item>),
    /// Everything is looked at again.
    Rescan,
    Stop,
}

/// The loop's state.
pub(crate) struct Reload {
    pub(crate) options: Options,
    pub(crate) settings: Arc<Settings>,
    pub(crate) store: Arc<Store>,
    pub(crate) status: Arc<Status>,
    pub(crate) profiles: Arc<ArcSwap<ProfileSet>>,
    pub(crate) watches: Watches,
    pub(crate) items: BTreeMap<Subject, Item>,
    pub(crate) ids: BTreeMap<Id, Subject>,
    pub(crate) pending: BTreeMap<Subject, Pending>,
    /// What events cannot be relied on for.
    pub(crate) polled: BTreeSet<Subject>,
    /// Workspaces that have an error now.
    pub(crate) failing: BTreeSet<Subject>,
    pub(crate) problems: BTreeMap<Subject, Vec<String>>,
    /// Why events cannot be had, for whom.
    pub(crate) unwatched: BTreeMap<Subject, WatchError>,
    next_subject: Subject,
    inbox: Receiver<Message>,
    stopped: bool,
}

impl Reload {
    pub(crate) fn new(
        options: Options,
        store: Arc<Store>,
        status: Arc<Status>,
        profiles: Arc<ArcSwap<ProfileSet>>,
        feed: Result<Box<dyn Feed>, Option<WatchError>>,
        inbox: Receiver<Message>,
    ) -> Self {
        status.set_events(feed.is_ok());
        Self {
            settings: Arc::new(options.settings.clone()),
            options,
            store,
            status,
            profiles,
            watches: Watches::new(feed),
            items: BTreeMap::new(),
            ids: BTreeMap::new(),
            pending: BTreeMap::new(),
            polled: BTreeSet::new(),
            failing: BTreeSet::new(),
            problems: BTreeMap::new(),
            unwatched: BTreeMap::new(),
            next_subject: 0,
            inbox,
            stopped: false,
        }
    }

    /// Runs until told to stop, or until nobody is left to tell.
    pub(crate) fn run(mut self) {
        let mut sweep = Sweep::new(Instant::now());
        while !self.stopped {
            let due = self.pending.values().map(|pending| pending.due).chain([sweep.due(&self)]).min();
            let wait = due.map_or(Duration::ZERO, |due| due.saturating_duration_since(Instant::now()));
            match self.inbox.recv_timeout(wait) {
                Ok(message) => self.hear(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.hear_all();
            self.load_due();
            sweep.run(&mut self);
        }
    }

    /// Takes in what has been said so far, but not for ever: loads must come to their turn in any flood of events.
    pub(crate) fn hear_all(&mut self) {
        const AT_ONCE: usize = 10_000;
        for _ in 0..AT_ONCE {
            let Ok(message) = self.inbox.try_recv() else { return };
            self.hear(message);
        }
    }

    fn hear(&mut self, message: Message) {
        match message {
            Message::Hint(Hint::Changed { path, change }) => self.hear_change(&path, change),
            Message::Hint(Hint::Lost) => {
                self.status.rescanned();
                tracing::warn!(target: LOG_TARGET, "file events were lost: looking at everything again");
                self.mark_all();
            }
            Message::Rescan => self.mark_all(),
            Message::Settings(settings) => {
                self.settings = settings;
                self.mark_all();
            }
            Message::Follow(item) => self.add(*item),
            Message::Stop => self.stopped = true,
        }
    }

    fn hear_change(&mut self, path: &Path, change: Change) {
        if change == Change::Went {
            for subject in self.watches.forget(path) {
                self.mark(subject);
            }
        }
        let names = matches!(change, Change::Appeared | Change::Went);
        // A file made empty is about to be written; a link just appears.
        let is_begun = change == Change::Appeared
            && fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() == 0);
        let change = if is_begun { Change::Written } else { change };
        for subject in self.watches.concerned(path) {
            if self.items.get(&subject).is_some_and(|item| item.trace.concerns(path, names)) {
                self.mark(subject).happened(path, change, Instant::now());
            } else if let (Change::Closed, Some(pending)) = (change, self.pending.get_mut(&subject)) {
                // No input yet, but perhaps what is waited for.
                pending.happened(path, change, Instant::now());
            }
        }
    }

    /// Makes a subject pending, or puts its load off for as long as its events go on.
    pub(crate) fn mark(&mut self, subject: Subject) -> &mut Pending {
        let now = Instant::now();
        let pending = self.pending.entry(subject).or_insert_with(|| Pending::now(now));
        pending.heard(now);
        pending
    }

    pub(crate) fn mark_all(&mut self) {
        let all: Vec<_> = self.items.keys().copied().collect();
        for subject in all {
            self.mark(subject);
        }
    }

    /// Begins to follow something; it is loaded at the next turn.
    pub(crate) fn add(&mut self, item: Item) {
        let subject = self.next_subject;
        self.next_subject += 1;
        if let Some(id) = item.workspace_id() {
            self.ids.insert(id.clone(), subject);
        }
        self.items.insert(subject, item);
        self.pending.insert(subject, Pending::now(Instant::now()));
    }

    /// Ends it.
    pub(crate) fn drop_item(&mut self, subject: Subject) {
        if let Some(item) = self.items.remove(&subject) {
            let _ = self.watches.follow(subject, &item.trace, &Trace::default(), &self.status);
            if let Some(id) = item.workspace_id() {
                self.ids.remove(id);
            }
        }
        self.pending.remove(&subject);
        self.polled.remove(&subject);
        self.failing.remove(&subject);
        self.problems.remove(&subject);
        self.unwatched.remove(&subject);
    }

    /// Loads everything for the first time: nothing is served yet, so nothing waits for files to rest.
    pub(crate) fn load_first(&mut self) {
        // Roots first: they add workspaces.
        for workspaces in [false, true] {
            let subjects: Vec<_> =
                self.pending.keys().copied().filter(|s| self.items[s].workspace_id().is_some() == workspaces).collect();
            let mut outcomes = Vec::new();
            for (subject, Reading { trace, payload }) in self.read_all(&subjects) {
                self.pending.remove(&subject);
                let rested = trace.rested().is_none_or(|age| age >= REST);
                if !self.adopt(subject, trace) || !rested {
                    self.mark(subject);
                }
                outcomes.push((subject, payload));
            }
            self.publish(outcomes, &BTreeMap::new());
        }
    }

    fn load_due(&mut self) {
        let now = Instant::now();
        let due: Vec<Subject> =
            self.pending.iter().filter(|(_, pending)| pending.due <= now).map(|(subject, _)| *subject).collect();
        // Files that have not rested are not worth a load.
        let ready: Vec<Subject> = due
            .into_iter()
            .filter(|subject| {
                let age = self.items.get(subject).and_then(|item| item.trace.rests_now());
                let is_closed = self.pending.get_mut(subject).is_some_and(|pending| pending.wait_for_close(now));
                is_closed && self.wait_for_rest(*subject, age)
            })
            .collect();
        let mut outcomes = Vec::new();
        let mut since = BTreeMap::new();
        for (subject, reading) in self.read_all(&ready) {
            if let Some(payload) = self.judge(subject, reading) {
                since.extend(self.pending.remove(&subject).map(|pending| (subject, pending.since)));
                outcomes.push((subject, payload));
            }
        }
        self.publish(outcomes, &since);
    }

    /// Whether what was read may be served; if not, it is pending still.
    fn judge(&mut self, subject: Subject, Reading { trace, payload }: Reading) -> Option<Payload> {
        let now = Instant::now();
        if !trace.holds() {
            return self.retry(subject, now);
        }
        if !self.wait_for_rest(subject, trace.rested()) {
            return None;
        }
        let (item, pending) = (self.items.get(&subject)?, self.pending.get_mut(&subject)?);
        let is_gone = matches!(payload, Payload::Gone(_));
        let served = item.workspace_id().is_some_and(|id| self.store.get(id.as_str()).is_some());
        let lost: Vec<(&Path, Lost)> =
            if is_gone && served { vec![(Path::new("/"), Lost::Gone)] } else { item.trace.lost_in(&trace).collect() };
        let believed_after = if is_gone { GONE } else { DOUBT };
        if let Some(due) = pending.doubt(&lost, now, believed_after) {
            pending.due = due;
            return None;
        }
        if self.adopt(subject, trace) { Some(payload) } else { self.retry(subject, now) }
    }

    fn retry(&mut self, subject: Subject, now: Instant) -> Option<Payload> {
        let pending = self.pending.get_mut(&subject)?;
        pending.try_again(now);
        self.status.retried();
        None
    }

    /// Whether files of that age have rested long enough; if not, the subject is due when they will have.
    fn wait_for_rest(&mut self, subject: Subject, age: Option<Duration>) -> bool {
        let (Some(pending), Some(age)) = (self.pending.get_mut(&subject), age) else { return true };
        pending.wait_for_rest(age, Instant::now())
    }

    /// Takes over a load's trace and watches what it names; true if nothing moved before it was watched.
    fn adopt(&mut self, subject: Subject, trace: Trace) -> bool {
        let Some(item) = self.items.get_mut(&subject) else { return false };
        let watched = self.watches.follow(subject, &item.trace, &trace, &self.status);
        item.trace = trace;
        let holds = item.trace.holds();
        self.rely_on_events(subject, watched);
        holds
    }

    /// Polls what events cannot be had for.
    pub(crate) fn rely_on_events(&mut self, subject: Subject, watched: Result<(), WatchError>) {
        let polls = match (self.options.watch, watched) {
            (WatchMode::Poll, _) | (WatchMode::Auto, Err(_)) => true,
            (WatchMode::Auto, Ok(())) => self.items.get(&subject).is_some_and(Item::on_silent_file_system),
            (WatchMode::Events, _) => false,
        };
        if polls {
            self.polled.insert(subject);
        } else {
            self.polled.remove(&subject);
        }
        let before = self.unwatched.get(&subject).copied();
        if watched.err() != before {
            if let Err(error) = watched {
                let is_new = self.unwatched.values().all(|known| *known != error);
                self.unwatched.insert(subject, error);
                if is_new {
                    tracing::warn!(target: LOG_TARGET, "{}", error.advice());
                }
            } else {
                self.unwatched.remove(&subject);
            }
            self.tell_problems();
        }
    }

    /// Reads several subjects, in parallel where there are many.
    fn read_all(&self, subjects: &[Subject]) -> Vec<(Subject, Reading)> {
        const WORTH_A_THREAD: usize = 4;
        let sources = Sources {
            options: &self.options,
            settings: &self.settings,
            profiles: &self.profiles.load_full(),
            store: &self.store,
            status: &self.status,
        };
        let items: Vec<_> = subjects.iter().filter_map(|s| self.items.get(s).map(|item| (*s, item))).collect();
        let threads = self.options.load_threads.min(items.len() / WORTH_A_THREAD).max(1);
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            while let Some((subject, item)) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                done.push((*subject, item.read(&sources)));
            }
            done
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut done = work();
            for other in others {
                match other.join() {
                    Ok(more) => done.extend(more),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            done
        })
    }
}
