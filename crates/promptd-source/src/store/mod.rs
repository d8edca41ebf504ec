//! The workspaces as they are now: the only shared mutable state.
//!
//! The reload loop publishes, everybody else reads. A read takes no lock: it loads one pointer and has one revision for as
//! long as it holds it. A workspace's newest revisions stay for a while, so that a session can pin its prompt.
//!
//! Where not all workspaces may stay loaded, those that calls use do, and the others are loaded again when one is called: see
//! [`resident`].

mod resident;
mod slot;
mod state;
mod tightened;

pub use resident::ResidentStatus;
pub use slot::History;
pub use state::{Candidate, Cold, Loaded, Pinned, State, changed_paths};

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use arc_swap::ArcSwap;
use promptd_core::id::Id;
use tokio::sync::watch;

use self::{resident::Row, slot::Slot};
use crate::clock;

/// All workspaces by id.
#[derive(Debug, Default)]
pub struct Store {
    slots: ArcSwap<BTreeMap<Id, Arc<Slot>>>,
    /// Held by who writes.
    row: Mutex<Row>,
    history: History,
    /// The most bytes that stay loaded; absent: all do.
    limit: Option<usize>,
    resident: ResidentStatus,
    loader: Loader,
    /// Sent to whenever a workspace is added or removed.
    ids: watch::Sender<()>,
}

impl Store {
    /// An empty store that keeps so much of the past.
    #[must_use]
    pub fn with_history(history: History) -> Self {
        Self { history, ..Self::default() }
    }

    /// Of which only so many bytes of text stay loaded, those that calls used last; `None`: all do.
    #[must_use]
    pub fn with_resident(self, limit: Option<usize>) -> Self {
        Self { limit, ..self }
    }

    /// The workspace's state, for a call that needs its texts: where it is not loaded, it is waited for until it is. `None`: it
    /// does not exist.
    pub async fn loaded(&self, id: &str) -> Option<Arc<State>> {
        let (id, slot) = match self.used(id)? {
            Used::Loaded(state) => return Some(state),
            Used::Cold(id, slot) => (id, slot),
        };
        let began = clock::now();
        let state = self.woken(&id, &slot).await;
        self.resident.wait.observe((clock::now() - began).as_secs_f64());
        state
    }

    fn used(&self, id: &str) -> Option<Used> {
        let slots = self.slots.load();
        let (id, slot) = slots.get_key_value(id)?;
        let state = slot.current();
        if self.limit.is_some() {
            if matches!(*state, State::Cold(_)) {
                slot.touch(self.resident.misses.inc() + 1);
                return Some(Used::Cold(id.clone(), Arc::clone(slot)));
            }
            slot.touch(self.resident.misses.get());
            self.resident.hits.inc();
        }
        Some(Used::Loaded(state))
    }

    async fn woken(&self, id: &Id, slot: &Slot) -> Option<Arc<State>> {
        // While it is followed it stays loaded.
        let mut states = slot.watch();
        loop {
            let state = Arc::clone(&states.borrow_and_update());
            match *state {
                State::Cold(_) => self.want(id, slot),
                State::Gone => return None,
                _ => return Some(state),
            }
            states.changed().await.ok()?;
        }
    }

    /// Has a workspace that is not loaded be loaded, and does not wait for it: who follows it sees that.
    pub fn wake(&self, id: &str) {
        if let Some((id, slot)) = self.slots.load().get_key_value(id)
            && matches!(*slot.current(), State::Cold(_))
        {
            self.want(id, slot);
        }
    }

    fn want(&self, id: &Id, slot: &Slot) {
        if slot.ask() {
            self.loader.load(id);
        }
    }

    /// Who loads a workspace that is not, by its id; the first one counts.
    pub(crate) fn set_loader(&self, load: impl Fn(&Id) + Send + Sync + 'static) {
        _ = self.loader.0.set(Box::new(load));
    }

    /// What is loaded, and how much of it calls find loaded; all zero where all workspaces are.
    #[must_use]
    pub fn resident(&self) -> &ResidentStatus {
        &self.resident
    }

    /// The workspace's state; `None`: it does not exist.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<Arc<State>> {
        self.slots.load().get(id).map(|slot| slot.current())
    }

    /// The workspace at a revision seen before; `None`: the workspace does not exist.
    #[must_use]
    pub fn at(&self, id: &str, revision: &str) -> Option<Pinned> {
        self.slots.load().get(id).map(|slot| slot.at(revision))
    }

    /// The workspace's revisions that [`at`](Self::at) finds, the newest first; `None`: the workspace does not exist.
    #[must_use]
    pub fn revisions(&self, id: &str) -> Option<Vec<Arc<Loaded>>> {
        self.slots.load().get(id).map(|slot| slot.revisions())
    }

    /// Every workspace, in id order.
    #[must_use]
    pub fn list(&self) -> Vec<(Id, Arc<State>)> {
        self.slots.load().iter().map(|(id, slot)| (id.clone(), slot.current())).collect()
    }

    /// Follows a workspace: the receiver holds the newest state, never a queue of them.
    #[must_use]
    pub fn watch(&self, id: &str) -> Option<watch::Receiver<Arc<State>>> {
        self.slots.load().get(id).map(|slot| slot.watch())
    }

    /// Follows which workspaces exist: the receiver is notified whenever one is added or removed.
    #[must_use]
    pub fn watch_ids(&self) -> watch::Receiver<()> {
        self.ids.subscribe()
    }

    /// Publishes a workspace's new state; a new id becomes visible with it.
    pub fn publish(&self, id: &Id, state: State) {
        self.publish_all([(id.clone(), state)]);
    }

    /// Publishes many at once: new ids cost one copy of the map for all of them.
    pub fn publish_all(&self, states: impl IntoIterator<Item = (Id, State)>) {
        let mut row = self.row.lock().unwrap_or_else(PoisonError::into_inner);
        let slots = self.slots.load_full();
        let mut added = Vec::new();
        for (id, state) in states {
            if let Some(slot) = slots.get(&id) {
                slot.publish(state, self.history);
                self.count(&mut row, &id, slot);
            } else {
                let slot = Arc::new(Slot::new(state));
                self.count(&mut row, &id, &slot);
                added.push((id, slot));
            }
        }
        if !added.is_empty() {
            let mut next = BTreeMap::clone(&slots);
            next.extend(added);
            self.slots.store(Arc::new(next));
            self.ids.send_replace(());
        }
        if let Some(limit) = self.limit {
            row.trim(limit, self.resident.misses.get(), &self.resident);
        }
    }

    fn count(&self, row: &mut Row, id: &Id, slot: &Arc<Slot>) {
        if self.limit.is_some() {
            row.update(id, slot);
        }
    }

    /// Removes a workspace; its watchers see that it is gone.
    pub fn remove(&self, id: &Id) {
        let mut row = self.row.lock().unwrap_or_else(PoisonError::into_inner);
        row.remove(id);
        let slots = self.slots.load();
        if let Some(slot) = slots.get(id) {
            let mut next = BTreeMap::clone(&slots);
            next.remove(id);
            self.slots.store(Arc::new(next));
            slot.close();
            self.ids.send_replace(());
        }
    }
}

/// A workspace that a call uses.
enum Used {
    Loaded(Arc<State>),
    Cold(Id, Arc<Slot>),
}

/// Who loads a workspace that is not.
#[derive(Default)]
struct Loader(OnceLock<Load>);

type Load = Box<dyn Fn(&Id) + Send + Sync>;

impl Loader {
    fn load(&self, id: &Id) {
        if let Some(load) = self.0.get() {
            load(id);
        }
    }
}

impl fmt::Debug for Loader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Loader")
    }
}

#[cfg(test)]
pub(crate) mod testing;

#[cfg(test)]
mod tests {
    use super::{
        testing::{agents, id, is_held},
        *,
    };

    #[test]
    fn the_newest_revisions_stay_assemblable_by_count_and_bytes() {
        let all: Vec<_> = (0..6).map(agents).collect();
        for (history, held) in [
            (History { revisions: 3, bytes: 1 << 20 }, vec![3, 4, 5]),
            (History { revisions: 16, bytes: 19 }, vec![4, 5]),
            (History { revisions: 1, bytes: 0 }, vec![5]),
        ] {
            let store = Store::with_history(history);
            assert!(store.at("ws", "").is_none() && store.revisions("ws").is_none(), "no such workspace");
            for one in &all {
                store.publish(&id(), State::Ready(Arc::clone(one)));
            }
            let found: Vec<_> = (0..6).filter(|i| is_held(&store, &all[*i])).collect();
            assert_eq!(found, held, "{history:?}");
            let listed = store.revisions("ws").unwrap();
            let newest_first = held.iter().rev().map(|i| &all[*i]);
            assert!(listed.iter().zip(newest_first).all(|(one, other)| Arc::ptr_eq(one, other)), "{history:?}");
            assert_eq!(listed.len(), held.len(), "{history:?}");
        }
    }

    #[test]
    fn a_revision_that_comes_back_is_held_once() {
        let store = Store::with_history(History { revisions: 2, bytes: 1 << 20 });
        let (a, b) = (agents(1), agents(2));
        for one in [&a, &b, &agents(1), &b] {
            store.publish(&id(), State::Ready(Arc::clone(one)));
        }
        assert!(is_held(&store, &a) && is_held(&store, &b));
    }

    #[test]
    fn watchers_get_the_newest_state_and_the_end() {
        let store = Store::default();
        store.publish(&id(), State::Ready(agents(1)));
        let mut states = store.watch("ws").unwrap();
        for version in 2..=4 {
            store.publish(&id(), State::Ready(agents(version)));
        }
        let newest = agents(4).snapshot.revision.clone();
        assert!(matches!(&**states.borrow_and_update(), State::Ready(loaded) if loaded.snapshot.revision == newest));
        assert!(!states.has_changed().unwrap(), "no queue");
        store.remove(&id());
        assert!(matches!(**states.borrow_and_update(), State::Gone));
        assert!(states.has_changed().is_err(), "nothing comes after");
        assert!(store.get("ws").is_none() && store.watch("ws").is_none());
    }
}
