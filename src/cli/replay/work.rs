//! Requests in parallel, revision by revision.

use std::{
    collections::BTreeMap,
    io::{IsTerminal as _, Write as _},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use promptd_core::{digest::Digest, text::thousands};
use promptd_record::RequestFile;

use crate::cli::counted;

/// The most requests that a thread takes at a time.
const UNIT: usize = 64;
/// How often progress is shown.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// What is made of a revision, once, while requests of it are assembled; the error has every fault for which it cannot be.
pub(super) type Made<R> = Result<R, Vec<String>>;

/// Applies `each` to every request with what `make` makes of its revision, on so many threads; the results in the order of the
/// requests.
pub(super) fn for_each<R: Send + Sync, T: Send>(
    requests: &[RequestFile],
    jobs: usize,
    make: impl Fn(Digest) -> Made<R> + Sync,
    each: impl Fn(&Made<R>, &RequestFile) -> T + Sync,
) -> Vec<T> {
    let mut by_revision: BTreeMap<Digest, Vec<usize>> = BTreeMap::new();
    for (index, request) in requests.iter().enumerate() {
        by_revision.entry(request.revision).or_default().push(index);
    }
    let units: Vec<(&Digest, &[usize])> =
        by_revision.iter().flat_map(|(revision, all)| all.chunks(UNIT).map(move |unit| (revision, unit))).collect();
    let held: BTreeMap<&Digest, Mutex<Weak<Made<R>>>> =
        by_revision.keys().map(|revision| (revision, Mutex::new(Weak::new()))).collect();
    let revision = |sha256: &Digest| {
        let Some(held) = held.get(sha256) else { return Arc::new(make(*sha256)) };
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        held.upgrade().unwrap_or_else(|| {
            let revision = Arc::new(make(*sha256));
            *held = Arc::downgrade(&revision);
            revision
        })
    };
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut results = Vec::new();
        while let Some((sha256, unit)) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
            let revision = revision(sha256);
            for index in *unit {
                results.push((*index, each(&revision, &requests[*index])));
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
        results
    };
    let mut results = thread::scope(|scope| {
        let (ended, end) = mpsc::channel::<()>();
        let progress = scope.spawn(|| show_progress(&done, requests.len(), end));
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        // A thread that panics has printed why; its results are missing, which is seen below.
        let results: Vec<_> = threads.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect();
        drop(ended);
        let _ = progress.join();
        results
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Shows how far it is, on a terminal, until the sender is dropped.
#[expect(clippy::needless_pass_by_value, reason = "a receiver is no longer heard once it is dropped")]
fn show_progress(done: &AtomicUsize, all: usize, end: Receiver<()>) {
    let mut err = std::io::stderr();
    if !err.is_terminal() {
        return;
    }
    let mut shown = false;
    while end.recv_timeout(PROGRESS_INTERVAL) == Err(RecvTimeoutError::Timeout) {
        let done = thousands(done.load(Ordering::Relaxed) as u64);
        let _ = write!(err, "\rreplayed {done} of {}", counted(all as u64, "request")).and_then(|()| err.flush());
        shown = true;
    }
    if shown {
        let _ = write!(err, "\r\u{1b}[K").and_then(|()| err.flush());
    }
}
