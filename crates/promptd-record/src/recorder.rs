//! The running recording: calls hand over copies, and one thread writes them.

use std::{
    collections::VecDeque,
    io, iter,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, SyncSender},
    },
    thread,
    time::{Duration, Instant},
};

use promptd_core::{digest::Digest, prompt::Prepared, workspace::Origin};
use prost::Message as _;

use crate::{
    Bounds, LOG_TARGET, Status, clock,
    disk::Disk,
    ephemeral,
    folder::{Folder, FolderError, Locked},
    origin,
    redact::Redaction,
    request::{self, Answered, Copy},
    sample::Share,
    status::Drop,
};

/// The most requests that wait to be written.
pub const MAX_QUEUED: usize = 4_096;
/// The most bytes of requests that wait to be written.
pub const MAX_QUEUED_BYTES: usize = 64 << 20;
/// The most requests that are written while the folder is locked.
const BATCH: usize = 64;
/// How often the folder is swept, at most.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// How often a folder that cannot be written to is looked at, where there are no calls.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// Sweeping takes at most one part in so many of the time.
const SWEEP_SHARE: u32 = 50;
/// How many revisions the thread keeps ready for assembling.
const MAX_READY: usize = 64;

/// What is recorded, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The folder.
    pub dir: PathBuf,
    /// Of all calls.
    pub sample: Share,
    /// How much is kept.
    pub bounds: Bounds,
    /// What of a turn is left out.
    pub redaction: Redaction,
}

/// The running recording.
pub struct Recorder {
    queue: SyncSender<Box<Call>>,
    room: Room,
    progress: Arc<Progress>,
    status: Arc<Status>,
    sample: Share,
    calls: AtomicU64,
}

/// How much may wait.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    pub(crate) calls: usize,
    /// Of the requests.
    pub(crate) bytes: usize,
}

struct Call {
    copy: Copy,
    answered: Answered,
    origin: Arc<Origin>,
}

/// What was handed over, and what of it the thread is done with.
#[derive(Default)]
struct Progress {
    /// The bytes of the calls that it is not done with.
    bytes: AtomicUsize,
    handed_over: AtomicU64,
    done: Mutex<u64>,
    changed: Condvar,
}

impl Recorder {
    /// Starts the thread. It makes the folder, now or when that becomes possible.
    pub fn start(options: Options) -> io::Result<Self> {
        Self::start_on(options, Disk::default(), Room { calls: MAX_QUEUED, bytes: MAX_QUEUED_BYTES })
    }

    pub(crate) fn start_on(options: Options, disk: Disk, room: Room) -> io::Result<Self> {
        let (queue, calls) = mpsc::sync_channel(room.calls);
        let (progress, status) = (Arc::new(Progress::default()), Arc::new(Status::default()));
        let sample = options.sample;
        let writer = Writer {
            options,
            disk,
            status: Arc::clone(&status),
            progress: Arc::clone(&progress),
            folder: None,
            ready: VecDeque::new(),
            bytes: 0,
            next_sweep: clock::now(),
            number: 0,
        };
        thread::Builder::new().name("record".into()).spawn(move || writer.run(&calls))?;
        Ok(Self { queue, room, progress, status, sample, calls: AtomicU64::new(0) })
    }

    /// Whether the next call is one of those that are recorded. It depends on how many there were before, and on nothing that
    /// a caller sends.
    #[must_use]
    pub fn takes_next(&self) -> bool {
        self.sample.takes(self.calls.fetch_add(1, Ordering::Relaxed))
    }

    /// Hands a call over. Never waits: where too much is waiting already, it is dropped and counted.
    pub fn record(&self, copy: Copy, answered: Answered, origin: Option<&Arc<Origin>>) {
        let Some(origin) = origin else { return self.status.dropped(Drop::Unrepeatable) };
        let bytes = copy.bytes();
        let call = Box::new(Call { copy, answered, origin: Arc::clone(origin) });
        let waiting = self.progress.bytes.fetch_add(bytes, Ordering::AcqRel);
        if waiting.saturating_add(bytes) > self.room.bytes || self.queue.try_send(call).is_err() {
            self.progress.bytes.fetch_sub(bytes, Ordering::AcqRel);
            return self.status.dropped(Drop::QueueFull);
        }
        self.progress.handed_over.fetch_add(1, Ordering::AcqRel);
    }

    /// How it is doing.
    #[must_use]
    pub fn status(&self) -> &Arc<Status> {
        &self.status
    }

    /// Waits until everything handed over so far is written or dropped, or for as long as the limit; says whether it is.
    pub fn flush(&self, limit: Duration) -> bool {
        let Progress { handed_over, done, changed, .. } = &*self.progress;
        let target = handed_over.load(Ordering::Acquire);
        let done = done.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(done, limit, |done| *done < target);
        waited.is_ok_and(|(_, waited)| !waited.timed_out())
    }
}

/// The thread.
struct Writer {
    options: Options,
    disk: Disk,
    status: Arc<Status>,
    progress: Arc<Progress>,
    folder: Option<Folder>,
    /// The revisions that were recorded last, the newest first.
    ready: VecDeque<Ready>,
    /// What the folder takes of the disk, as far as this process knows.
    bytes: u64,
    next_sweep: Instant,
    number: u64,
}

impl Progress {
    fn finished(&self, batch: &[Box<Call>]) {
        self.bytes.fetch_sub(batch.iter().map(|call| call.copy.bytes()).sum(), Ordering::AcqRel);
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) += batch.len() as u64;
        self.changed.notify_all();
    }
}

/// A revision, ready for assembling.
struct Ready {
    origin: Arc<Origin>,
    /// Without its ephemeral prompt.
    bare: Origin,
    /// Its file; `None`: not written yet.
    sha256: Option<Digest>,
    /// Loaded from that; `None`: it cannot be.
    prepared: Option<Arc<Prepared>>,
    without_ephemeral: bool,
}

impl Writer {
    fn run(mut self, calls: &Receiver<Box<Call>>) {
        self.look_after();
        loop {
            let first = match calls.recv_timeout(self.next_sweep.saturating_duration_since(clock::now())) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => {
                    self.look_after();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let more = iter::from_fn(|| calls.try_recv().ok()).take(BATCH - 1);
            let batch: Vec<_> = iter::once(first).chain(more).collect();
            let written = self.write(&batch);
            let lost = written.as_ref().err().map_or(0, |(_, lost)| *lost);
            self.status.dropped_many(Drop::WriteFailed, lost as u64);
            self.report(written.map_err(|(error, _)| error));
            // Only now: what is being written is held too.
            self.progress.finished(&batch);
        }
    }

    /// Sweeps the folder, which is opened again if it could not be written to.
    fn look_after(&mut self) {
        let done = self.opened().and_then(|folder| self.sweep(&folder));
        self.report(done);
    }

    /// Reports when writing begins to fail, or to work again.
    fn report(&mut self, done: Result<(), FolderError>) {
        let folder = self.options.dir.display();
        match done {
            Ok(()) if self.status.works() => {
                tracing::info!(target: LOG_TARGET, %folder, "requests are recorded again");
            }
            Ok(()) => {}
            Err(error) => {
                // Whatever is there now is looked at again.
                self.folder = None;
                self.next_sweep = clock::now() + RETRY_INTERVAL;
                if self.status.fails() {
                    tracing::error!(target: LOG_TARGET, "requests are not recorded until this is fixed: {error}");
                }
            }
        }
    }

    fn opened(&mut self) -> Result<Folder, FolderError> {
        if let Some(folder) = &self.folder {
            return Ok(folder.clone());
        }
        let folder = Folder::create_on(&self.options.dir, self.disk.clone())?;
        self.folder = Some(folder.clone());
        // Another process may have written to it.
        self.next_sweep = clock::now();
        Ok(folder)
    }

    /// Writes a batch; an error comes with how many were not written.
    fn write(&mut self, batch: &[Box<Call>]) -> Result<(), (FolderError, usize)> {
        let dir = self.options.dir.clone();
        let failed = |error: io::Error, lost: usize| (FolderError::Failed(dir.clone(), error), lost);
        let folder = self.opened().map_err(|error| (error, batch.len()))?;
        let locked = folder.lock().map_err(|error| failed(error, batch.len()))?;
        for (index, call) in batch.iter().enumerate() {
            self.write_one(&locked, call).map_err(|error| failed(error, batch.len() - index))?;
        }
        drop(locked);
        self.status.bytes.set(i64::try_from(self.bytes).unwrap_or(i64::MAX));
        if clock::now() >= self.next_sweep || self.bytes > self.options.bounds.max_bytes {
            self.sweep(&folder).map_err(|error| (error, 0))?;
        }
        Ok(())
    }

    fn write_one(&mut self, locked: &Locked<'_>, call: &Call) -> io::Result<()> {
        let mut ready = self.ready(&call.origin);
        let Some(prepared) = ready.prepared.clone() else {
            self.ready.push_front(ready);
            self.status.dropped(Drop::Unrepeatable);
            return Ok(());
        };
        self.number += 1;
        let (redaction, without_ephemeral) = (&self.options.redaction, ready.without_ephemeral);
        let to_stored =
            || request::to_stored(&call.copy, &call.answered, &prepared, without_ephemeral, redaction, self.number);
        // A bug that one request brings out must not end the recording.
        let stored = catch_unwind(AssertUnwindSafe(to_stored)).unwrap_or_else(|_| Err("it panics".to_owned()));
        let written = match stored {
            Err(why) => {
                tracing::debug!(target: LOG_TARGET, "a request is not recorded: {why}");
                self.status.dropped(Drop::Unrepeatable);
                Ok(())
            }
            Ok(stored) => self.put(locked, &mut ready, &stored.encode_to_vec(), stored.at),
        };
        self.ready.push_front(ready);
        written
    }

    fn put(&mut self, locked: &Locked<'_>, ready: &mut Ready, request: &[u8], at: i64) -> io::Result<()> {
        let revision = match ready.sha256 {
            // Another process, or a sweep of this one, may have removed it.
            Some(sha256) if locked.has_revision(sha256)? => sha256,
            _ => {
                let (sha256, took) = origin::store(locked, &ready.bare)?;
                self.bytes += took;
                ready.sha256 = Some(sha256);
                sha256
            }
        };
        self.bytes += locked.put_request(revision, u64::try_from(at).unwrap_or_default(), request)?;
        self.status.written.inc();
        Ok(())
    }

    /// Takes the revision out of those that are ready, or makes it ready.
    fn ready(&mut self, origin: &Arc<Origin>) -> Ready {
        if let Some(index) = self.ready.iter().position(|ready| Arc::ptr_eq(&ready.origin, origin))
            && let Some(ready) = self.ready.remove(index)
        {
            return ready;
        }
        self.ready.truncate(MAX_READY - 1);
        let (bare, without_ephemeral) = ephemeral::without(origin);
        let prepared = bare.load().ok().map(|snapshot| Arc::new(snapshot.into()));
        Ready { origin: Arc::clone(origin), bare, sha256: None, prepared, without_ephemeral }
    }

    fn sweep(&mut self, folder: &Folder) -> Result<(), FolderError> {
        let began = clock::now();
        let swept = folder.sweep(&self.options.bounds, clock::timestamp());
        let swept = swept.map_err(|error| FolderError::Failed(self.options.dir.clone(), error))?;
        let ended = clock::now();
        self.next_sweep = ended + SWEEP_INTERVAL.max((ended - began) * SWEEP_SHARE);
        self.bytes = swept.bytes;
        self.status.removed.inc_by(swept.removed);
        self.status.bytes.set(i64::try_from(swept.bytes).unwrap_or(i64::MAX));
        Ok(())
    }
}
