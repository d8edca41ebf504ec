//! The state of a workspace.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use promptd_core::{
    canary::Canary,
    finding::Finding,
    id::Id,
    prompt::Prepared,
    workspace::{Layer, Origin, Outline, Snapshot, layer_file},
};

/// The state of a workspace.
#[derive(Debug, Clone)]
pub enum State {
    /// It has a snapshot.
    Ready(Arc<Loaded>),
    /// It has a snapshot that is not loaded: [`Store::loaded`](super::Store::loaded) has it loaded.
    Cold(Arc<Cold>),
    /// It exists and was never valid; the errors say why.
    Invalid(Arc<[Finding]>),
    /// It is gone. Only watchers see this.
    Gone,
}

/// A snapshot and when it was published.
#[derive(Debug)]
pub struct Loaded {
    /// The workspace.
    pub snapshot: Prepared,
    /// When it was published.
    pub at: Timestamp,
    /// What it was loaded from; `None`: that is not kept ([`Options::keep_origins`](crate::Options)), is too much, or does
    /// not give the same snapshot again.
    pub origin: Option<Arc<Origin>>,
    /// What some turns get instead of it.
    pub candidate: Option<Candidate>,
}

impl Loaded {
    /// The revisions that turns get: its own, and behind it the candidate's.
    pub fn live(self: &Arc<Self>) -> impl Iterator<Item = &Arc<Self>> {
        let candidate = self.candidate.as_ref().map(|candidate| &candidate.loaded);
        std::iter::once(self).chain(candidate.filter(|candidate| candidate.snapshot.revision != self.snapshot.revision))
    }
}

/// What some turns get instead of a workspace's newest snapshot.
#[derive(Debug)]
pub struct Candidate {
    /// Which turns.
    pub canary: Canary,
    /// What they get; it has no candidate.
    pub loaded: Arc<Loaded>,
}

/// What is known of a snapshot that is not loaded.
#[derive(Debug)]
pub struct Cold {
    /// All but its texts.
    pub outline: Outline,
    /// What its prompts lose to limits.
    pub forecast: Arc<[Finding]>,
    /// When it was published.
    pub at: Timestamp,
}

/// What has become of a revision.
#[derive(Debug, Clone)]
pub enum Pinned {
    /// It is held.
    Held(Arc<Loaded>),
    /// It is not: it is too old, allowed what is no longer allowed, or never existed.
    Expired,
}

impl State {
    /// What there is to say of its files.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Ready(loaded) => &loaded.snapshot.findings,
            Self::Cold(cold) => &cold.outline.snapshot().findings,
            Self::Invalid(findings) => findings,
            Self::Gone => &[],
        }
    }

    /// What its prompts lose to limits.
    #[must_use]
    pub fn forecast(&self) -> &[Finding] {
        match self {
            Self::Ready(loaded) => loaded.snapshot.forecast(),
            Self::Cold(cold) => &cold.forecast,
            Self::Invalid(_) | Self::Gone => &[],
        }
    }

    /// What it has of its newest snapshot: without texts where that is not loaded.
    pub(crate) fn snapshot(&self) -> Option<&Snapshot> {
        match self {
            Self::Ready(loaded) => Some(&loaded.snapshot),
            Self::Cold(cold) => Some(cold.outline.snapshot()),
            Self::Invalid(_) | Self::Gone => None,
        }
    }

    /// What some turns get instead of its snapshot; none is known where that is not loaded.
    pub(crate) fn candidate(&self) -> Option<&Candidate> {
        match self {
            Self::Ready(loaded) => loaded.candidate.as_ref(),
            Self::Cold(_) | Self::Invalid(_) | Self::Gone => None,
        }
    }

    /// Whether no reader could tell one from the other, except for how long it takes.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let revision = |state: &Self| state.snapshot().map(|snapshot| snapshot.revision.clone());
        let is_cold = |state: &Self| matches!(state, Self::Cold(_));
        let same_candidate = || is_cold(self) || is_cold(other) || self.candidate() == other.candidate();
        revision(self) == revision(other) && self.findings() == other.findings() && same_candidate()
    }
}

/// The inputs that differ between two revisions, by name, in order; those of layers as findings name them.
#[must_use]
pub fn changed_paths(old: &Snapshot, new: &Snapshot) -> Vec<Arc<str>> {
    let mut paths = changed_inputs(&old.inputs, &new.inputs);
    let layer = |of: &Snapshot, id: &Id| of.layers.iter().find(|layer| layer.id() == id).map(Arc::clone);
    let ids: BTreeSet<&Id> = old.layers.iter().chain(&new.layers).map(|layer| layer.id()).collect();
    for id in ids {
        let (before, now) = (layer(old, id), layer(new, id));
        let is_same = before.as_ref().zip(now.as_ref()).is_some_and(|(before, now)| Arc::ptr_eq(before, now));
        if !is_same {
            let inputs = |layer: Option<Arc<Layer>>| layer.map(|layer| layer.own().inputs.clone()).unwrap_or_default();
            let changed = changed_inputs(&inputs(before), &inputs(now));
            paths.extend(changed.iter().map(|path| layer_file(id, path)));
        }
    }
    paths.sort();
    paths
}

fn changed_inputs(old: &BTreeMap<Arc<str>, Arc<str>>, new: &BTreeMap<Arc<str>, Arc<str>>) -> Vec<Arc<str>> {
    let changed = new.iter().filter(|(path, hash)| old.get(*path) != Some(*hash));
    let removed = old.iter().filter(|(path, _)| !new.contains_key(*path));
    changed.chain(removed).map(|(path, _)| Arc::clone(path)).collect()
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        let (one, another) = (&self.loaded.snapshot, &other.loaded.snapshot);
        self.canary == other.canary && one.revision == another.revision && one.findings == another.findings
    }
}

#[cfg(test)]
mod tests {
    use promptd_core::finding::{Code, Place};

    use super::{super::testing::loaded, *};

    /// States of which no two are the same.
    fn states() -> Vec<State> {
        let fault = |message: &str| Finding::new(Code::FileUnreadable, Place::file("AGENTS.md"), message);
        let ready = |text: &str, findings: Vec<Finding>| {
            let mut snapshot = Snapshot::clone(&loaded(&[("AGENTS.md", text)]).snapshot);
            snapshot.findings.extend(findings);
            State::Ready(Arc::new(Loaded {
                snapshot: snapshot.into(),
                at: Timestamp::UNIX_EPOCH,
                origin: None,
                candidate: None,
            }))
        };
        let invalid = |message: &str| State::Invalid([fault(message)].into());
        vec![
            ready("one", vec![]),
            ready("two", vec![]),
            ready("one", vec![fault("a fault")]),
            invalid("a fault"),
            invalid("another"),
            State::Gone,
        ]
    }

    #[test]
    fn states_are_the_same_where_their_revisions_and_findings_are() {
        for (a, one) in states().iter().enumerate() {
            for (b, other) in states().iter().enumerate() {
                assert_eq!(one.is_same(other), a == b, "{a} and {b}");
            }
        }
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
