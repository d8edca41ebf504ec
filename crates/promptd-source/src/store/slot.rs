//! A workspace's place in the store: its newest state, and its newest revisions.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed},
};

use arc_swap::ArcSwap;
use promptd_core::workspace::Outline;
use tokio::sync::watch;

use super::{
    resident::PINNED_FOR,
    state::{Cold, Loaded, Pinned, State},
    tightened::tightens,
};
use crate::clock;

/// How much of the past stays assemblable, for each workspace. The newest revision always does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct History {
    /// The most revisions, the newest included.
    pub revisions: usize,
    /// The most bytes of all but the newest.
    pub bytes: usize,
}

impl Default for History {
    fn default() -> Self {
        Self { revisions: 16, bytes: 64 << 20 }
    }
}

/// A workspace's place in the store; outlives its revisions.
#[derive(Debug)]
pub(crate) struct Slot {
    current: ArcSwap<State>,
    /// What is still held, the newest first.
    held: ArcSwap<Vec<Arc<Loaded>>>,
    changes: watch::Sender<Arc<State>>,
    /// When a call last used it, in misses.
    used: AtomicU64,
    /// It is to be loaded, since a call needs it.
    asked: AtomicBool,
    /// When a call last named an older revision, in seconds since 1970.
    pinned: AtomicI64,
}

impl Slot {
    pub(crate) fn new(state: State) -> Self {
        let held = match &state {
            State::Ready(loaded) => loaded.live().cloned().collect(),
            State::Cold(_) | State::Invalid(_) | State::Gone => Vec::new(),
        };
        let state = Arc::new(state);
        Self {
            current: ArcSwap::new(Arc::clone(&state)),
            held: ArcSwap::from_pointee(held),
            changes: watch::Sender::new(state),
            used: AtomicU64::default(),
            asked: AtomicBool::default(),
            pinned: AtomicI64::new(i64::MIN),
        }
    }

    pub(crate) fn current(&self) -> Arc<State> {
        self.current.load_full()
    }

    pub(crate) fn at(&self, revision: &str) -> Pinned {
        let held = self.held.load();
        let found = held.iter().enumerate().find(|(_, loaded)| loaded.snapshot.revision.as_str() == revision);
        let Some((age, loaded)) = found else { return Pinned::Expired };
        if age > 0 {
            self.pinned.store(clock::timestamp().as_second(), Relaxed);
        }
        Pinned::Held(Arc::clone(loaded))
    }

    pub(crate) fn revisions(&self) -> Vec<Arc<Loaded>> {
        self.held.load().to_vec()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Arc<State>> {
        self.changes.subscribe()
    }

    /// Revisions that allow what the new one does not are dropped first: once a reader can see the new state, no pin
    /// brings a blocked skill back, and none opens a lock. While a canary runs that is judged by the stable side; the candidate is
    /// held whatever it allows, and not counted.
    pub(crate) fn publish(&self, state: State, history: History) {
        if let State::Ready(new) = &state {
            let mut bytes = 0;
            let older = self.held.load();
            let older = older
                .iter()
                .filter(|old| new.live().all(|live| live.snapshot.revision != old.snapshot.revision))
                .filter(|old| !tightens(&old.snapshot, &new.snapshot))
                .take(history.revisions.saturating_sub(1))
                .take_while(|old| {
                    bytes += old.snapshot.weight();
                    bytes <= history.bytes
                });
            let held = new.live().chain(older).cloned().collect();
            self.held.store(Arc::new(held));
        }
        self.asked.store(false, Relaxed);
        let state = Arc::new(state);
        self.current.store(Arc::clone(&state));
        self.changes.send_replace(state);
    }

    /// How many bytes of text are loaded; `None`: no snapshot is.
    pub(crate) fn weight(&self) -> Option<usize> {
        let held = self.held.load();
        (!held.is_empty()).then(|| held.iter().map(|loaded| loaded.snapshot.weight()).sum())
    }

    /// A call uses it.
    pub(crate) fn touch(&self, now: u64) {
        // Not written where it says so already: all calls would write to the same memory.
        if self.last_use() != now {
            self.used.store(now, Relaxed);
        }
    }

    /// When a call last used it; 0: none has.
    pub(crate) fn last_use(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// A call needs it loaded; true for the first that says so.
    pub(crate) fn ask(&self) -> bool {
        !self.asked.swap(true, Relaxed)
    }

    /// Unloads it, with its older revisions; false: it stays, since somebody follows it, a call has named an older revision
    /// lately, or it has what is no longer on the disk.
    pub(crate) fn evict(&self) -> bool {
        let state = self.current();
        let State::Ready(loaded) = &*state else { return false };
        let pinned_for = clock::timestamp().as_second().saturating_sub(self.pinned.load(Relaxed));
        let is_pinned = u64::try_from(pinned_for).is_ok_and(|seconds| seconds < PINNED_FOR.as_secs());
        // Somebody follows it, or waits for it.
        let is_behind = loaded.live().any(|live| live.snapshot.is_behind());
        if self.changes.receiver_count() > 0 || is_pinned || is_behind {
            return false;
        }
        let outline = Outline::of(&loaded.snapshot);
        let forecast = loaded.snapshot.forecast().into();
        let cold = Arc::new(State::Cold(Arc::new(Cold { outline, forecast, at: loaded.at })));
        self.asked.store(false, Relaxed);
        self.held.store(Arc::default());
        self.current.store(Arc::clone(&cold));
        // It is not news: whoever came to follow it meanwhile asks for it to be loaded.
        self.changes.send_if_modified(|state| {
            *state = cold;
            false
        });
        true
    }

    /// The workspace is gone: its watchers see that.
    pub(crate) fn close(&self) {
        self.changes.send_replace(Arc::new(State::Gone));
    }
}
