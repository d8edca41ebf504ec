//! The workspaces as they stand now: the only shared mutable state.
//!
//! `source` publishes, everybody else reads. A read takes no lock: it loads one pointer and has one revision for as
//! long as it holds it. A workspace's newest revisions stay for a while, so that a session can pin its prompt.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::sync::watch;

use promptd_core::{
    finding::Finding,
    id::Id,
    prompt::Prepared,
    workspace::{Skill, Snapshot},
};

/// All workspaces by id.
#[derive(Debug, Default)]
pub struct Store {
    slots: ArcSwap<BTreeMap<Id, Arc<Slot>>>,
    writing: Mutex<()>,
    history: History,
    /// Sent to whenever a workspace comes or goes.
    census: watch::Sender<()>,
}

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
struct Slot {
    current: ArcSwap<State>,
    /// What is still held, the newest first.
    held: ArcSwap<Vec<Arc<Loaded>>>,
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
    pub snapshot: Prepared,
    /// When it was published.
    pub at: Timestamp,
}

/// What has become of a revision.
#[derive(Debug, Clone)]
pub enum Pinned {
    /// It is held.
    Held(Arc<Loaded>),
    /// It is not: it is too old, allowed what is not allowed any more, or never was.
    Expired,
}

impl Store {
    /// An empty store that keeps so much of the past.
    #[must_use]
    pub fn with_history(history: History) -> Self {
        Self { history, ..Self::default() }
    }

    /// How the workspace stands; `None`: there is none.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<Arc<State>> {
        self.slots.load().get(id).map(|slot| slot.current.load_full())
    }

    /// The workspace at a revision seen before; `None`: there is no such workspace.
    #[must_use]
    pub fn at(&self, id: &str, revision: &str) -> Option<Pinned> {
        let slots = self.slots.load();
        let held = slots.get(id)?.held.load();
        let found = held.iter().find(|loaded| loaded.snapshot.revision.as_str() == revision);
        Some(found.map_or(Pinned::Expired, |loaded| Pinned::Held(Arc::clone(loaded))))
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

    /// Follows which workspaces there are: the receiver is told whenever one has come or gone.
    #[must_use]
    pub fn watch_census(&self) -> watch::Receiver<()> {
        self.census.subscribe()
    }

    /// Publishes a workspace's new state; a new id becomes visible with it.
    pub fn publish(&self, id: &Id, state: State) {
        self.publish_all([(id.clone(), state)]);
    }

    /// Publishes many at once: new ids cost one copy of the map for all of them.
    pub fn publish_all(&self, states: impl IntoIterator<Item = (Id, State)>) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let slots = self.slots.load_full();
        let mut added = Vec::new();
        for (id, state) in states {
            if let Some(slot) = slots.get(&id) {
                slot.publish(state, self.history);
            } else {
                added.push((id, Arc::new(Slot::new(state))));
            }
        }
        if !added.is_empty() {
            let mut next = BTreeMap::clone(&slots);
            next.extend(added);
            self.slots.store(Arc::new(next));
            self.census.send_replace(());
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
            self.census.send_replace(());
        }
    }
}

impl Slot {
    fn new(state: State) -> Self {
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

    /// Old revisions that would allow what the new one does not go first: once a reader can see the new state, no pin
    /// brings a blocked skill back, and none opens a lock.
    fn publish(&self, state: State, history: History) {
        if let State::Ready(new) = &state {
            let mut bytes = 0;
            let older = self.held.load();
            let older = older
                .iter()
                .filter(|old| old.snapshot.revision != new.snapshot.revision)
                .filter(|old| !allows_more(&old.snapshot, &new.snapshot))
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
}

/// Whether a turn on `old` could do or show what `new` keeps from it.
fn allows_more(old: &Snapshot, new: &Snapshot) -> bool {
    let unlocks = || new.manifest.locked.iter().any(|lock| !old.manifest.locked.contains(lock));
    let skips_less = || new.manifest.agent.skip_context_files && !old.manifest.agent.skip_context_files;
    let exposes_paths = || old.exposes_paths() && !new.exposes_paths();
    let trusts_more = || old.settings.risks < new.settings.risks;
    unlocks() || skips_less() || exposes_paths() || trusts_more() || shows_more(old, new)
}

/// Whether `old` shows a skill that `new` hides; one that is simply not there any more is not hidden.
fn shows_more(old: &Snapshot, new: &Snapshot) -> bool {
    let hidden = |skill: &Skill| {
        !new.manifest.skills_enabled
            || !new.manifest.skills.admits(&skill.name, &skill.folder_name)
            || new.skills.iter().any(|now| now.name == skill.name && now.folder == skill.folder && !now.is_shown())
    };
    old.skills.iter().filter(|skill| skill.is_shown()).any(hidden)
}

/// The inputs that differ between two revisions, by name, in order.
#[must_use]
pub fn changed_paths(old: &Snapshot, new: &Snapshot) -> Vec<Arc<str>> {
    let changed = new.inputs.iter().filter(|(path, hash)| old.inputs.get(*path) != Some(*hash));
    let removed = old.inputs.iter().filter(|(path, _)| !new.inputs.contains_key(*path));
    let mut paths: Vec<Arc<str>> = changed.chain(removed).map(|(path, _)| Arc::clone(path)).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use promptd_core::workspace::{Load, MemoryTree, load};

    fn loaded(files: &[(&str, &str)]) -> Arc<Loaded> {
        let tree = files.iter().fold(MemoryTree::new(), |tree, (path, text)| tree.file(path, text.as_bytes()));
        let snapshot = load(&Load {
            id: &id(),
            root: "/srv/ws",
            tree: &tree,
            shared_skills: &[],
            profiles: Arc::default(),
            settings: Arc::default(),
            previous: None,
        });
        Arc::new(Loaded { snapshot: snapshot.unwrap().into(), at: Timestamp::UNIX_EPOCH })
    }

    fn id() -> Id {
        Id::parse("ws").unwrap()
    }

    fn agents(version: usize) -> Arc<Loaded> {
        loaded(&[("AGENTS.md", &format!("Version {version}."))])
    }

    fn is_held(store: &Store, loaded: &Loaded) -> bool {
        matches!(store.at("ws", loaded.snapshot.revision.as_str()), Some(Pinned::Held(_)))
    }

    #[test]
    fn the_newest_revisions_stay_assemblable_by_count_and_bytes() {
        let all: Vec<_> = (0..6).map(agents).collect();
        for (history, held) in [
            (History { revisions: 3, bytes: 1 << 20 }, vec![3, 4, 5]),
            (History { revisions: 16, bytes: 19 }, vec![4, 5]),
            (History { revisions: 1, bytes: 0 }, vec![5]),
        ] {
            let store = Store::with_history(history);
            assert!(store.at("ws", "").is_none(), "no such workspace");
            for one in &all {
                store.publish(&id(), State::Ready(Arc::clone(one)));
            }
            let found: Vec<_> = (0..6).filter(|i| is_held(&store, &all[*i])).collect();
            assert_eq!(found, held, "{history:?}");
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
    fn pinning_never_brings_a_blocked_skill_back() {
        let skill = "---\nname: s\ndescription: A skill.\n---\n";
        let files = |manifest| loaded(&[("workspace.yaml", manifest), ("skills/s/SKILL.md", skill)]);
        for (tightened, is_tighter) in [
            ("skills:\n  blocklist: [s]\n", true),
            ("skills:\n  allowlist: []\n", true),
            ("skills:\n  enabled: false\n", true),
            ("skills:\n  blocklist: [other]\n", false),
            ("agent:\n  name: New\n", false),
        ] {
            let store = Store::default();
            let old = files("{}\n");
            store.publish(&id(), State::Ready(Arc::clone(&old)));
            store.publish(&id(), State::Ready(files(tightened)));
            assert_eq!(is_held(&store, &old), !is_tighter, "{tightened}");
        }
        // Hidden by its own front matter counts too; simply removed does not.
        let store = Store::default();
        let old = files("{}\n");
        store.publish(&id(), State::Ready(Arc::clone(&old)));
        store.publish(&id(), State::Ready(loaded(&[("AGENTS.md", "No skills.")])));
        assert!(is_held(&store, &old));
        let hidden = "---\nname: s\ndescription: A skill.\nenabled: false\n---\n";
        store.publish(&id(), State::Ready(loaded(&[("skills/s/SKILL.md", hidden)])));
        assert!(!is_held(&store, &old));
    }

    #[test]
    fn pinning_never_opens_what_has_been_locked_or_hidden_since() {
        let files = |manifest| loaded(&[("workspace.yaml", manifest), ("AGENTS.md", "Rules.")]);
        let held = |before, after| {
            let (store, old) = (Store::default(), files(before));
            store.publish(&id(), State::Ready(Arc::clone(&old)));
            store.publish(&id(), State::Ready(files(after)));
            is_held(&store, &old)
        };
        for (open, tight) in [
            ("{}\n", "locked: [persona]\n"),
            ("locked: [persona]\n", "locked: [persona, ephemeral]\n"),
            ("locked: [persona]\n", "locked: [profile]\n"),
            ("{}\n", "expose_paths: false\n"),
            ("{}\n", "agent: {skip_context_files: true}\n"),
        ] {
            assert!(!held(open, tight), "{tight}");
        }
        assert!(held("locked: [persona]\n", "{}\n"), "what was tighter may stay");
        assert!(held("expose_paths: false\n", "{}\n"));
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

    #[test]
    fn changed_paths_are_those_added_changed_and_removed() {
        let old = loaded(&[("AGENTS.md", "one"), ("SOUL.md", "same"), ("IDENTITY.md", "gone")]);
        let new = loaded(&[("AGENTS.md", "two"), ("SOUL.md", "same"), ("HEARTBEAT.md", "new")]);
        let changed: Vec<_> = changed_paths(&old.snapshot, &new.snapshot);
        let changed: Vec<&str> = changed.iter().map(|path| &**path).collect();
        assert_eq!(changed, ["AGENTS.md", "HEARTBEAT.md", "IDENTITY.md"]);
    }
}
