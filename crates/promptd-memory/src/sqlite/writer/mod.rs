//! The thread that writes. What waits is done in one transaction, so that many writers share one sync of the disk.

mod task;

use std::{
    collections::VecDeque,
    iter,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rusqlite::Connection;

pub(super) use self::task::After;
use self::task::{Forking, Job, Task};
use super::{
    chores::{self, Keep, Step},
    connection,
    folder::{Folder, Lock},
    gate::Gate,
    sessions::Fork,
    words,
};
use crate::{Answer, LOG_TARGET, SessionKey, Status, StoreError, clock, watchers::Watchers};

/// The most writes that wait.
const MAX_WAITING: usize = 1_024;
/// The most writes of one transaction.
const BATCH: usize = 128;
/// After so many writes of one transaction the index of words is merged by another step: each write is a part of its own there.
const WRITES_PER_MERGE: usize = 16;
/// How often what is kept is looked through.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// The most bytes of the log before it is cut off. SQLite begins it again by itself, but not while there is always somebody who reads.
const MAX_LOG: u64 = 16 << 20;
/// How often the log is tried to be cut while somebody reads it.
const SCRUB_INTERVAL: Duration = Duration::from_millis(20);

/// The thread, from outside.
pub(super) struct Writer {
    /// `None` while it is dropped.
    queue: Option<SyncSender<Box<dyn Task>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(
        folder: &Folder,
        lock: Lock,
        keep: Keep,
        status: Arc<Status>,
        watchers: Arc<Watchers>,
        gate: Arc<Gate>,
    ) -> Result<Self, StoreError> {
        let connection = connection::writing(&folder.database())?;
        // Forks that an earlier process did not finish.
        chores::give_up_forks(&connection)?;
        let (queue, tasks) = sync_channel(MAX_WAITING);
        let thread = Thread {
            connection,
            folder: folder.clone(),
            _lock: lock,
            keep,
            status,
            watchers,
            gate,
            waiting: Vec::new(),
            forks: VecDeque::new(),
            has_chores: true,
            must_merge: true,
            must_scrub: true,
            next_sweep: clock::now(),
        };
        let spawned = thread::Builder::new().name("memory-write".into()).spawn(move || thread.run(&tasks));
        let thread = spawned.map_err(|error| StoreError::Failed(error.to_string()))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Does work in a transaction. It is done again where the transaction fails for the work of others.
    pub(super) fn run<T: Send + 'static>(
        &self,
        session: &SessionKey,
        work: impl FnMut(&Connection) -> Result<(T, After), StoreError> + Send + 'static,
    ) -> Answer<T> {
        self.job(Some(session.clone()), work)
    }

    /// The same, of no session that somebody could watch.
    pub(super) fn run_apart<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Answer<T> {
        self.job(None, move |connection| Ok((work(connection)?, After::Nothing)))
    }

    /// The same, of a session or of none.
    pub(super) fn job<T: Send + 'static>(
        &self,
        session: Option<SessionKey>,
        work: impl FnMut(&Connection) -> Result<(T, After), StoreError> + Send + 'static,
    ) -> Answer<T> {
        let (reply, answer) = Answer::new();
        self.hand_over(Job { session, work, outcome: Err(StoreError::Busy), reply });
        answer
    }

    /// Begins a copy to a session, does it little by little, and answers with what `end` then finds.
    pub(super) fn fork<T: Send + 'static>(
        &self,
        session: &SessionKey,
        begin: impl FnMut(&Connection) -> Result<Fork, StoreError> + Send + 'static,
        end: impl FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Answer<T> {
        let (reply, answer) = Answer::new();
        self.hand_over(Forking { session: session.clone(), begin, end, outcome: Err(StoreError::Busy), reply });
        answer
    }

    /// Lets the database have at most so many pages.
    #[cfg(test)]
    pub(super) fn limit_pages(&self, pages: u32) -> Answer<()> {
        // Of no effect within the transaction that sets it.
        self.run_apart(move |connection| Ok(connection.pragma_update(None, "max_page_count", pages)?))
    }

    fn hand_over(&self, task: impl Task + 'static) {
        let Some(queue) = &self.queue else { return };
        if let Err(TrySendError::Full(task) | TrySendError::Disconnected(task)) = queue.try_send(Box::new(task)) {
            task.answer();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Thread {
    connection: Connection,
    folder: Folder,
    _lock: Lock,
    keep: Keep,
    status: Arc<Status>,
    watchers: Arc<Watchers>,
    /// What searches wait at.
    gate: Arc<Gate>,
    /// Writes that are on the disk, and what they wait for.
    waiting: Vec<(After, Box<dyn Task>)>,
    forks: VecDeque<Fork>,
    /// Whether sessions may be there that are to be removed.
    has_chores: bool,
    /// Whether the index of words may have parts to merge.
    must_merge: bool,
    /// Whether the log may have what was removed.
    must_scrub: bool,
    next_sweep: Instant,
}

impl Thread {
    fn run(mut self, tasks: &Receiver<Box<dyn Task>>) {
        loop {
            let first = match self.next(tasks) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let batch: Vec<_> = first.into_iter().chain(iter::from_fn(|| tasks.try_recv().ok())).take(BATCH).collect();
            let written = batch.len();
            if written > 0 {
                self.write(batch);
            }
            self.sweep();
            self.work_on();
            self.merge(1 + written / WRITES_PER_MERGE);
            self.scrub();
        }
    }

    /// The next write; `None`, or a timeout: there is other work.
    fn next(&self, tasks: &Receiver<Box<dyn Task>>) -> Result<Option<Box<dyn Task>>, RecvTimeoutError> {
        if self.has_chores || self.must_merge || !self.forks.is_empty() {
            return match tasks.try_recv() {
                Ok(task) => Ok(Some(task)),
                Err(TryRecvError::Empty) => Ok(None),
                Err(TryRecvError::Disconnected) => Err(RecvTimeoutError::Disconnected),
            };
        }
        let until_sweep = self.next_sweep.saturating_duration_since(clock::now());
        let most = if self.must_scrub || self.log_is_large() { SCRUB_INTERVAL.min(until_sweep) } else { until_sweep };
        tasks.recv_timeout(most).map(Some)
    }

    /// Writes a batch in one transaction. Where that fails, each by itself: a write that is too large must fail no other.
    fn write(&mut self, mut batch: Vec<Box<dyn Task>>) {
        batch.retain(|task| task.is_wanted());
        if batch.is_empty() {
            return;
        }
        match self.transaction(&mut batch) {
            Ok(afters) => self.committed(batch, afters),
            Err(_) if batch.len() > 1 => batch.into_iter().for_each(|task| self.write(vec![task])),
            Err(error) => {
                self.report(Some(&error));
                for mut task in batch {
                    task.fail(error.clone());
                    answer(task, &self.status);
                }
            }
        }
    }

    /// Does all of them and commits; gives what follows each, `None` where it failed by itself.
    fn transaction(&self, batch: &mut [Box<dyn Task>]) -> Result<Vec<Option<After>>, StoreError> {
        let transaction = self.connection.unchecked_transaction()?;
        let mut afters = Vec::with_capacity(batch.len());
        for task in batch {
            transaction.prepare_cached("SAVEPOINT task")?.execute([])?;
            let after = task.run(&transaction);
            // SQLite ends the whole transaction where the disk is full.
            if transaction.is_autocommit() {
                return Err(StoreError::Full);
            }
            if after.is_none() {
                transaction.prepare_cached("ROLLBACK TO task")?.execute([])?;
            }
            transaction.prepare_cached("RELEASE task")?.execute([])?;
            afters.push(after);
        }
        transaction.commit()?;
        Ok(afters)
    }

    fn committed(&mut self, batch: Vec<Box<dyn Task>>, afters: Vec<Option<After>>) {
        self.report(None);
        self.status.commits.inc();
        self.must_merge = true;
        for (task, after) in batch.into_iter().zip(afters) {
            let after = after.unwrap_or(After::Nothing);
            if after != After::Nothing {
                task.session().into_iter().for_each(|session| self.watchers.changed(session));
            }
            match &after {
                After::Nothing | After::Stored(_) => {
                    if let After::Stored(count) = after {
                        self.status.appended.inc_by(count);
                    }
                    answer(task, &self.status);
                    continue;
                }
                After::Scrubbed => self.must_scrub = true,
                After::Removed(_) => self.has_chores = true,
                After::Forked(fork) => self.forks.push_back(fork.clone()),
            }
            self.waiting.push((after, task));
        }
    }

    /// Looks for sessions that are too old or too many.
    fn sweep(&mut self) {
        let now = clock::now();
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = now + SWEEP_INTERVAL;
        let swept = chores::sweep(&self.connection, &self.keep, clock::milliseconds());
        match swept {
            Ok(swept) => {
                self.status.bytes.set(swept.bytes);
                // Also what could not be removed before.
                self.has_chores |= swept.is_removing;
                self.must_scrub |= swept.has_removed;
                for session in &swept.hidden {
                    self.watchers.changed(session);
                }
            }
            Err(error) => self.report(Some(&error)),
        }
    }

    /// One step of copying and one of removing, so that neither they nor a write wait for long.
    fn work_on(&mut self) {
        if let Some(fork) = self.forks.pop_front() {
            match chores::copy_some(&self.connection, &fork) {
                Ok(Step::More(next)) => self.forks.push_back(next),
                Ok(Step::Done) => self.finish(|after| matches!(after, After::Forked(of) if of.key == fork.key), None),
                Err(error) => {
                    self.has_chores = true;
                    let failed = chores::give_up_fork(&self.connection, fork.key).err().unwrap_or(error);
                    self.finish(|after| matches!(after, After::Forked(of) if of.key == fork.key), Some(&failed));
                }
            }
        }
        if self.has_chores {
            match chores::remove_some(&self.connection) {
                Ok(chores::Removing::Nothing) => self.has_chores = false,
                Ok(chores::Removing::Some) => {}
                Ok(chores::Removing::Session(key)) => {
                    self.status.removed.inc();
                    self.must_scrub = true;
                    for (after, _) in &mut self.waiting {
                        if *after == After::Removed(key) {
                            *after = After::Scrubbed;
                        }
                    }
                    // There may be more to remove for its size.
                    self.next_sweep = clock::now();
                }
                Err(error) => {
                    // It is tried again at the next sweep.
                    self.has_chores = false;
                    self.report(Some(&error));
                    self.finish(|after| matches!(after, After::Removed(_)), Some(&error));
                }
            }
        }
    }

    /// At most so many steps of merging the index of words, so that no write waits for long. What fails is tried after the next
    /// write, and keeps nothing from being stored.
    fn merge(&mut self, steps: usize) {
        self.must_merge |= self.has_chores || !self.forks.is_empty();
        for _ in 0..steps {
            let merged = if self.must_merge { words::merge_some(&self.connection) } else { Ok(false) };
            self.must_merge = merged.unwrap_or_else(|error| {
                self.status.note(&error);
                false
            });
        }
    }

    fn log_is_large(&self) -> bool {
        self.folder.log_bytes() > MAX_LOG
    }

    /// Cuts the log off, with the text that was removed or because it is long, unless somebody reads it now; searches that come
    /// meanwhile wait.
    fn scrub(&mut self) {
        let has_rested = || !self.has_chores && self.forks.is_empty();
        let is_awaited = || self.waiting.iter().any(|(after, _)| *after == After::Scrubbed);
        let scrubs = self.must_scrub && (is_awaited() || has_rested());
        if !scrubs && !self.log_is_large() {
            return self.gate.open();
        }
        self.gate.close();
        let error = match chores::cut_log(&self.connection) {
            Ok(true) => None,
            Ok(false) => return self.gate.open_if_idle(),
            Err(error) => Some(error),
        };
        self.gate.open();
        if scrubs {
            self.must_scrub = false;
            if let Some(error) = &error {
                self.report(Some(error));
            }
            self.finish(|after| *after == After::Scrubbed, error.as_ref());
        }
    }

    /// Answers those that wait for something.
    fn finish(&mut self, is_done: impl Fn(&After) -> bool, error: Option<&StoreError>) {
        for (_, mut task) in self.waiting.extract_if(.., |(after, _)| is_done(after)) {
            match error {
                Some(error) => task.fail(error.clone()),
                None => task.end(&self.connection),
            }
            task.session().into_iter().for_each(|session| self.watchers.changed(session));
            answer(task, &self.status);
        }
    }

    /// Says in the log and in the metrics when writing begins to fail, or to work again.
    fn report(&self, error: Option<&StoreError>) {
        if let Some(error) = error {
            self.status.note(error);
        }
        let was_failing = self.status.failing.get() == 1;
        match error {
            None if was_failing => {
                self.status.failing.set(0);
                tracing::info!(target: LOG_TARGET, "conversations are stored again");
            }
            Some(error) if !was_failing => {
                self.status.failing.set(1);
                tracing::error!(target: LOG_TARGET, "conversations are not stored until this is fixed: {error}");
            }
            _ => {}
        }
    }
}

fn answer(task: Box<dyn Task>, status: &Status) {
    if let Some(error) = task.error() {
        status.note(error);
    }
    task.answer();
}
