//! Which workspaces extend which, and what is served of those that do.
//!
//! A workspace is loaded by itself. Where it extends others, or others extend it, what its files gave is kept here, and what is
//! served is composed of it: so an edit of a layer reads no file of its heirs, and all of them are served with it at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use promptd_core::{
    finding::Finding,
    id::Id,
    prompt::Prepared,
    workspace::{Layer, Origin, Snapshot, compose},
};

use super::parallel;
use crate::{
    clock,
    load::workspace::{Own, OwnCandidate, no_candidate},
    store::{Candidate, Loaded, State, Store},
};

/// What became of a workspace's own files: the errors say why they gave nothing; `None`: the workspace is gone.
pub(crate) type Outcome = Option<Result<Own, Vec<Finding>>>;

/// What is to be done about changes.
#[derive(Default)]
pub(crate) struct Following {
    /// What is to be served.
    pub(crate) states: Vec<(Id, State)>,
    /// Workspaces that must be loaded for it, since their texts are not held.
    pub(crate) to_load: BTreeSet<Id>,
}

/// All that extend others, and all that are extended.
#[derive(Default)]
pub(crate) struct Layers {
    /// Those that extend others.
    heirs: BTreeMap<Id, Heir>,
    /// Those that are extended, or should be.
    extended: BTreeMap<Id, Extended>,
    /// While the service starts: workspaces are not composed before all layers are there.
    waiting: Option<BTreeSet<Id>>,
}

struct Heir {
    /// What its own files gave, as long as nothing is served that has it.
    own: Option<Own>,
    /// Every layer that it names or has.
    below: BTreeSet<Id>,
}

#[derive(Default)]
struct Extended {
    /// Absent: it is not there.
    layer: Option<(Arc<Layer>, Option<Arc<Origin>>)>,
    heirs: BTreeSet<Id>,
}

impl Layers {
    /// What the workspace's own files gave last; without texts where these are not held.
    pub(crate) fn own(&self, id: &Id, store: &Store) -> Option<Own> {
        self.whole_own(id, store).or_else(|| match store.get(id.as_str()).as_deref() {
            Some(State::Cold(cold)) => Some(own_of(cold.outline.snapshot(), None, None)),
            _ => None,
        })
    }

    /// The same with its texts.
    pub(crate) fn whole_own(&self, id: &Id, store: &Store) -> Option<Own> {
        let of_heir = self.heirs.get(id).and_then(|heir| heir.own.clone());
        let of_layer = || {
            let (layer, origin) = self.extended.get(id)?.layer.as_ref()?;
            Some(own_of(layer.own(), origin.clone(), store.get(id.as_str()).as_deref()))
        };
        of_heir.or_else(of_layer).or_else(|| match store.get(id.as_str()).as_deref() {
            Some(state @ State::Ready(loaded)) => {
                Some(own_of(loaded.snapshot.shared(), loaded.origin.clone(), Some(state)))
            }
            _ => None,
        })
    }

    /// From here to [`started`](Self::started) nothing is composed.
    pub(crate) fn starts(&mut self) {
        self.waiting = Some(BTreeSet::new());
    }

    /// What had to wait for the start.
    pub(crate) fn started(&mut self, store: &Store, threads: usize) -> Following {
        let waiting = self.waiting.take().unwrap_or_default();
        let mut following = Following::default();
        self.compose(waiting, store, threads, &mut following);
        following
    }

    /// Takes in what has become of workspaces, and gives what follows for them and for all that extend them.
    pub(crate) fn take(&mut self, changes: Vec<(Id, Outcome)>, store: &Store, threads: usize) -> Following {
        let (mut following, mut to_compose) = (Following::default(), BTreeSet::new());
        // First who extends whom: a layer that changes now must not be looked for in what is served still.
        for (id, outcome) in &changes {
            match outcome {
                Some(Ok(own)) if extends_any(own) => {
                    self.follow(id, own.clone());
                    to_compose.insert(id.clone());
                }
                _ => self.forget(id),
            }
        }
        for (id, outcome) in changes {
            if self.replace_layer(&id, outcome.as_ref()) {
                to_compose.extend(self.heirs_of(&id));
            }
            match outcome {
                Some(Ok(own)) if !extends_any(&own) => {
                    let candidate = own.candidate.as_deref().map(|OwnCandidate { canary, own }| Candidate {
                        canary: canary.clone(),
                        loaded: loaded(Arc::clone(&own.snapshot), own.origin.clone()),
                    });
                    let state = ready(own.snapshot, own.origin, candidate, store);
                    following.states.push((id, state));
                }
                Some(Err(errors)) => following.states.push((id, State::Invalid(errors.into()))),
                Some(Ok(_)) | None => {}
            }
        }
        match &mut self.waiting {
            Some(waiting) => waiting.extend(to_compose),
            None => self.compose(to_compose, store, threads, &mut following),
        }
        following
    }

    /// Keeps a workspace that is extended as a layer; true if that changes something for its heirs.
    fn replace_layer(&mut self, id: &Id, outcome: Option<&Result<Own, Vec<Finding>>>) -> bool {
        let Some(extended) = self.extended.get_mut(id) else { return false };
        let own = outcome.and_then(|outcome| outcome.as_ref().ok());
        let revision = |own: &Snapshot| own.revision.clone();
        let before = extended.layer.as_ref().map(|(layer, _)| revision(layer.own()));
        if before == own.map(|own| revision(&own.snapshot)) {
            return false;
        }
        extended.layer = own.map(as_layer);
        true
    }

    /// All that extend it, those that extend these included.
    fn heirs_of(&self, id: &Id) -> BTreeSet<Id> {
        let (mut all, mut next) = (BTreeSet::new(), vec![id]);
        while let Some(id) = next.pop() {
            for heir in self.extended.get(id).into_iter().flat_map(|extended| &extended.heirs) {
                if all.insert(heir.clone()) {
                    next.push(heir);
                }
            }
        }
        all
    }

    fn follow(&mut self, id: &Id, own: Own) {
        let named = own.extends().cloned().collect();
        let below = self.heirs.remove(id).map(|heir| heir.below).unwrap_or_default();
        self.heirs.insert(id.clone(), Heir { own: Some(own), below });
        self.relate(id, &named);
    }

    /// It extends none any more.
    fn forget(&mut self, id: &Id) {
        if self.heirs.contains_key(id) {
            self.relate(id, &BTreeSet::new());
            self.heirs.remove(id);
        }
    }

    /// What a workspace extends is this from now on.
    fn relate(&mut self, id: &Id, below: &BTreeSet<Id>) {
        let Some(heir) = self.heirs.get_mut(id).filter(|heir| heir.below != *below) else { return };
        let before = std::mem::replace(&mut heir.below, below.clone());
        for layer in before.difference(below) {
            if let Some(extended) = self.extended.get_mut(layer) {
                extended.heirs.remove(id);
                if extended.heirs.is_empty() {
                    self.extended.remove(layer);
                }
            }
        }
        for layer in below.difference(&before) {
            self.extended.entry(layer.clone()).or_default().heirs.insert(id.clone());
        }
    }

    fn compose(&mut self, ids: BTreeSet<Id>, store: &Store, threads: usize, following: &mut Following) {
        // Whoever needs a layer that must be loaded first is composed when that is there.
        let ids: Vec<Id> = ids.into_iter().filter(|id| self.find_layers(id, store, &mut following.to_load)).collect();
        for (id, state) in parallel::map(threads, &ids, |id| (id.clone(), self.composed(id, store))) {
            let Some((own, state)) = state else {
                following.to_load.insert(id);
                continue;
            };
            let mut below: BTreeSet<Id> = own.extends().cloned().collect();
            if let State::Ready(loaded) = &state {
                let candidate = loaded.candidate.as_ref().map(|candidate| &candidate.loaded);
                let sides = [loaded].into_iter().chain(candidate);
                below.extend(sides.flat_map(|side| &side.snapshot.layers).map(|layer| layer.id().clone()));
                let is_served = own.candidate.is_some() == loaded.candidate.is_some();
                if let Some(heir) = self.heirs.get_mut(&id).filter(|_| is_served) {
                    heir.own = None;
                }
            }
            self.relate(&id, &below);
            following.states.push((id, state));
        }
    }

    /// Makes layers of what a workspace extends, if they are not yet; false: some of them must be loaded first.
    fn find_layers(&mut self, id: &Id, store: &Store, to_load: &mut BTreeSet<Id>) -> bool {
        let mut are_there = true;
        let mut next: Vec<Id> = self.heirs.get(id).into_iter().flat_map(|heir| heir.below.iter().cloned()).collect();
        while let Some(id) = next.pop() {
            if self.extended.get(&id).is_none_or(|extended| extended.layer.is_some()) {
                continue;
            }
            if let Some(own) = self.whole_own(&id, store) {
                next.extend(own.snapshot.manifest.extends.iter().cloned());
                if let Some(extended) = self.extended.get_mut(&id) {
                    extended.layer = Some(as_layer(&own));
                }
            } else if matches!(store.get(id.as_str()).as_deref(), Some(State::Cold(_))) {
                are_there = false;
                to_load.insert(id);
            }
        }
        are_there
    }

    /// What is served of a workspace over its layers, with what its own files gave; `None`: that is not held.
    fn composed(&self, id: &Id, store: &Store) -> Option<(Own, State)> {
        let own = self.whole_own(id, store)?;
        let current = store.get(id.as_str());
        let previous = current.as_deref().and_then(State::snapshot);
        let state = match self.over_layers(&own, previous) {
            Ok((snapshot, origin)) => {
                let served = current.as_deref().and_then(State::candidate);
                let previous = served.map(|candidate| &**candidate.loaded.snapshot.shared()).or(previous);
                match own.candidate.as_deref().map(|candidate| self.candidate(candidate, previous)) {
                    Some(Err(faults)) => {
                        ready(Arc::new(snapshot.with_errors([no_candidate(&faults)])), origin, None, store)
                    }
                    candidate => ready(snapshot, origin, candidate.and_then(Result::ok), store),
                }
            }
            Err(faults) => State::Invalid(faults.into()),
        };
        Some((own, state))
    }

    /// The candidate of a canary, over the same layers as the other side: what they are to all.
    fn candidate(&self, candidate: &OwnCandidate, previous: Option<&Snapshot>) -> Result<Candidate, Vec<Finding>> {
        let (snapshot, origin) = self.over_layers(&candidate.own, previous)?;
        Ok(Candidate { canary: candidate.canary.clone(), loaded: loaded(snapshot, origin) })
    }

    fn over_layers(&self, own: &Own, previous: Option<&Snapshot>) -> Result<Whole, Vec<Finding>> {
        if own.snapshot.manifest.extends.is_empty() {
            return Ok((Arc::clone(&own.snapshot), own.origin.clone()));
        }
        let layer = |id: &Id| self.extended.get(id)?.layer.as_ref();
        let composed = compose(&own.snapshot, previous, &|id| layer(id).map(|(layer, _)| Arc::clone(layer)))?;
        let origins = composed.layers.iter().map(|of| {
            let (layer, origin) = layer(of.id())?;
            origin.as_ref().filter(|_| Arc::ptr_eq(layer, of)).map(Arc::clone)
        });
        let origin = own.origin.as_ref().zip(origins.collect::<Option<Vec<_>>>());
        let origin = origin.map(|(own, layers)| Arc::new(Origin { layers, ..Origin::clone(own) }));
        Ok((Arc::new(composed), origin))
    }
}

/// A snapshot with all of its layers, and what it was loaded from.
type Whole = (Arc<Snapshot>, Option<Arc<Origin>>);

/// Whether a workspace extends others, on either side of a canary.
fn extends_any(own: &Own) -> bool {
    own.extends().next().is_some()
}

/// What the own files gave of a snapshot that is composed, or not; with the candidate that is served beside it.
fn own_of(snapshot: &Arc<Snapshot>, origin: Option<Arc<Origin>>, served: Option<&State>) -> Own {
    let alone = |snapshot: &Arc<Snapshot>| Arc::clone(snapshot.own.as_ref().unwrap_or(snapshot));
    let candidate = served.and_then(State::candidate).map(|Candidate { canary, loaded }| {
        let own = Own { snapshot: alone(loaded.snapshot.shared()), origin: loaded.origin.clone(), candidate: None };
        Arc::new(OwnCandidate { canary: canary.clone(), own })
    });
    Own { snapshot: alone(snapshot), origin, candidate }
}

fn as_layer(own: &Own) -> (Arc<Layer>, Option<Arc<Origin>>) {
    // The layers of a layer are among those of its heirs.
    let alone = |origin: &Arc<Origin>| match origin.layers[..] {
        [] => Arc::clone(origin),
        _ => Arc::new(Origin { layers: Vec::new(), ..Origin::clone(origin) }),
    };
    (Arc::new(Layer::new(Arc::clone(&own.snapshot))), own.origin.as_ref().map(alone))
}

fn loaded(snapshot: Arc<Snapshot>, origin: Option<Arc<Origin>>) -> Arc<Loaded> {
    Arc::new(Loaded { snapshot: snapshot.into(), at: clock::timestamp(), origin, candidate: None })
}

/// One that was only loaded again is as old as it was, and its prompts lose what they lost.
fn ready(snapshot: Arc<Snapshot>, origin: Option<Arc<Origin>>, candidate: Option<Candidate>, store: &Store) -> State {
    let before = store.get(snapshot.id.as_str());
    let (at, snapshot) = match before.as_deref() {
        Some(State::Cold(cold)) if cold.outline.snapshot().revision == snapshot.revision => {
            (cold.at, Prepared::from(snapshot).with_forecast(&cold.forecast))
        }
        _ => (clock::timestamp(), snapshot.into()),
    };
    State::Ready(Arc::new(Loaded { snapshot, at, origin, candidate }))
}

#[cfg(test)]
mod tests {
    use promptd_core::{
        settings::Settings,
        workspace::{Load, MemoryTree, load},
    };

    use super::*;

    fn own(id: &str, files: &[(&str, &str)]) -> (Id, Outcome) {
        let tree = files.iter().fold(MemoryTree::new(), |tree, (path, text)| tree.file(path, text.as_bytes()));
        let id = Id::parse(id).unwrap();
        let snapshot = load(&Load {
            id: &id,
            root: "/srv",
            tree: &tree,
            shared_skills: &[],
            profiles: Arc::default(),
            settings: Arc::new(Settings::default()),
            previous: None,
        });
        (id, Some(Ok(Own::alone(snapshot.unwrap(), None))))
    }

    fn take(layers: &mut Layers, store: &Store, changes: Vec<(Id, Outcome)>) -> BTreeMap<String, State> {
        let Following { states, to_load } = layers.take(changes, store, 1);
        assert!(to_load.is_empty(), "{to_load:?}");
        store.publish_all(states.clone());
        states.into_iter().map(|(id, state)| (id.to_string(), state)).collect()
    }

    fn soul(state: &State) -> &str {
        let State::Ready(loaded) = state else { panic!("{state:?}") };
        &loaded.snapshot.documents["SOUL.md"].text
    }

    /// What is served is older than a layer that comes together with its first heir.
    #[test]
    fn a_layer_and_its_heir_may_change_at_once_in_any_order() {
        for heir in ["a-heir", "z-heir"] {
            let (mut layers, store) = (Layers::default(), Store::default());
            let org = |text: &str| own("org", &[("workspace.yaml", "extendable_by: ['*']"), ("SOUL.md", text)]);
            take(&mut layers, &store, vec![org("one"), own(heir, &[("AGENTS.md", "alone")])]);
            let mut changes = vec![org("two"), own(heir, &[("workspace.yaml", "extends: [org]")])];
            changes.sort_by(|(a, _), (b, _)| a.cmp(b));
            assert_eq!(soul(&take(&mut layers, &store, changes)[heir]), "two");
            assert_eq!(soul(&take(&mut layers, &store, vec![org("three")])[heir]), "three");
        }
    }

    #[test]
    fn only_what_a_change_concerns_is_composed_again() {
        let (mut layers, store) = (Layers::default(), Store::default());
        let open = ("workspace.yaml", "extendable_by: ['*']");
        let changes = vec![
            own("org", &[open]),
            own("other", &[open]),
            own("heir", &[("workspace.yaml", "extends: [org]")]),
            own("plain", &[]),
        ];
        assert_eq!(take(&mut layers, &store, changes).len(), 4);
        let ids = |states: BTreeMap<String, State>| states.into_keys().collect::<Vec<_>>();
        assert_eq!(ids(take(&mut layers, &store, vec![own("org", &[open])])), ["org"], "it is as it was");
        assert_eq!(ids(take(&mut layers, &store, vec![own("other", &[open, ("SOUL.md", "new")])])), ["other"]);
        assert_eq!(ids(take(&mut layers, &store, vec![own("org", &[open, ("SOUL.md", "new")])])), ["heir", "org"]);
        take(&mut layers, &store, vec![own("heir", &[])]);
        assert_eq!(ids(take(&mut layers, &store, vec![own("org", &[open])])), ["org"], "nobody extends it any more");
        assert!(layers.heirs.is_empty() && layers.extended.is_empty());
    }
}
