//! The workspaces as they stand now: the only shared mutable state.
//!
//! `source` publishes, everybody else reads. A read takes no lock: it loads one pointer and has one revision for as
//! long as it holds it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::sync::watch;

use crate::{finding::Finding, id::Id, workspace::Snapshot};

/// All workspaces by id.
#[derive(Debug, Default)]
pub struct Store {
    slots: ArcSwap<BTreeMap<Id, Arc<Slot>>>,
    writing: Mutex<()>,
}

/// A workspace's place in the store; outlives its revisions.
#[derive(Debug)]
struct Slot {
    current: ArcSwap<State>,
    changes: watch::Sender<Arc<State>>,
}

/// How a workspace stands.
#[derive(Debug, Clone)]
pub enum State {
    /// It has a snapshot.
    Ready(Arc<Loaded>),
    /// It exists but never loaded well; the errors say why.
    Invalid(Arc<[Finding]>),
    /// It is gone. Only watchers see this.
    Gone,
}

/// A snapshot and when it came.
#[derive(Debug)]
pub struct Loaded {
    /// The workspace.
    pub snapshot: Snapshot,
    /// When it was published.
    pub at: Timestamp,
}

impl Store {
    /// How the workspace stands; `None`: there is none.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<Arc<State>> {
        self.slots.load().get(id).map(|slot| slot.current.load_full())
    }

    /// Every workspace, in id order.
    #[must_use]
    pub fn list(&self) -> Vec<(Id, Arc<State>)> {
        self.slots.load().iter().map(|(id, slot)| (id.clone(), slot.current.load_full())).collect()
    }

    /// Follows a workspace: the receiver holds the newest state, never a queue of them.
    #[must_use]
    pub fn watch(&self, id: &str) -> Option<watch::Receiver<Arc<State>>> {
        self.slots.load().get(id).map(|slot| slot.changes.subscribe())
    }

    /// Publishes a workspace's new state; a new id becomes visible with it.
    pub fn publish(&self, id: &Id, state: State) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let state = Arc::new(state);
        let slots = self.slots.load();
        if let Some(slot) = slots.get(id) {
            slot.current.store(Arc::clone(&state));
            slot.changes.send_replace(state);
        } else {
            let slot = Slot { current: ArcSwap::new(Arc::clone(&state)), changes: watch::Sender::new(state) };
            let mut next = BTreeMap::clone(&slots);
            next.insert(id.clone(), Arc::new(slot));
            self.slots.store(Arc::new(next));
        }
    }

    /// Removes a workspace; its watchers learn that it is gone.
    pub fn remove(&self, id: &Id) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let slots = self.slots.load();
        if let Some(slot) = slots.get(id) {
            let mut next = BTreeMap::clone(&slots);
            next.remove(id);
            self.slots.store(Arc::new(next));
            slot.changes.send_replace(Arc::new(State::Gone));
        }
    }
}
