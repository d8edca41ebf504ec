//! A workspace's place in the store: its newest state, and its newest revisions.

use std::sync::Arc;

use arc_swap::ArcSwap;
use tokio::sync::watch;

use super::{
    state::{Loaded, Pinned, State},
    tightened::tightens,
};

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
}

impl Slot {
    pub(crate) fn new(state: State) -> Self {
        let held = match &state {
            State::Ready(loaded) => vec![Arc::clone(loaded)],
            State::Invalid(_) | State::Gone => Vec::new(),
        };
        let state = Arc::new(state);
        Self {
            current: ArcSwap::new(Arc::clone(&state)),
            held: ArcSwap::from_pointee(held),
            changes: watch::Sender::new(state),
        }
    }

    pub(crate) fn current(&self) -> Arc<State> {
        self.current.load_full()
    }

    pub(crate) fn at(&self, revision: &str) -> Pinned {
        let held = self.held.load();
        let found = held.iter().find(|loaded| loaded.snapshot.revision.as_str() == revision);
        found.map_or(Pinned::Expired, |loaded| Pinned::Held(Arc::clone(loaded)))
    }

    pub(crate) fn revisions(&self) -> Vec<Arc<Loaded>> {
        self.held.load().to_vec()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Arc<State>> {
        self.changes.subscribe()
    }

    /// Revisions that allow what the new one does not are dropped first: once a reader can see the new state, no pin
    /// brings a blocked skill back, and none opens a lock.
    pub(crate) fn publish(&self, state: State, history: History) {
        if let State::Ready(new) = &state {
            let mut bytes = 0;
            let older = self.held.load();
            let older = older
                .iter()
                .filter(|old| old.snapshot.revision != new.snapshot.revision)
                .filter(|old| !tightens(&old.snapshot, &new.snapshot))
                .take(history.revisions.saturating_sub(1))
                .take_while(|old| {
                    bytes += old.snapshot.weight();
                    bytes <= history.bytes
                });
            let held = std::iter::once(new).chain(older).cloned().collect();
            self.held.store(Arc::new(held));
        }
        let state = Arc::new(state);
        self.current.store(Arc::clone(&state));
        self.changes.send_replace(state);
    }

    /// The workspace is gone: its watchers see that.
    pub(crate) fn close(&self) {
        self.changes.send_replace(Arc::new(State::Gone));
    }
}
