//! `WatchWorkspace`: the newest state, whenever the reader asks for it.

use std::sync::Arc;

use tokio::sync::watch;

use super::{auth::Caller, skills::Sight, view};
use promptd_contract::proto;
use promptd_core::id::Id;
use promptd_source::store::{Loaded, Pinned, State, changed_paths};

/// One watch. What it told last is what `changed_paths` is counted from.
pub(super) struct Watch {
    id: Id,
    caller: Caller,
    states: watch::Receiver<Arc<State>>,
    told: Told,
}

/// What the reader holds.
enum Told {
    /// Nothing that is known here.
    Nothing,
    /// A revision.
    Revision(Arc<Loaded>),
    /// A workspace that never loaded well.
    Invalid(Arc<State>),
    /// That the workspace is gone.
    Gone,
}

impl Watch {
    /// `known` is what the store has of the revision that the caller holds.
    pub(super) fn new(
        id: Id,
        caller: Caller,
        states: watch::Receiver<Arc<State>>,
        revision: &str,
        known: Option<Pinned>,
    ) -> Self {
        let told = match known {
            Some(Pinned::Held(loaded)) if !revision.is_empty() => Told::Revision(loaded),
            _ => Told::Nothing,
        };
        Self { id, caller, states, told }
    }

    /// Waits until there is something to tell; `None` once the end has been told.
    pub(super) async fn next(mut self) -> Option<(proto::WatchWorkspaceResponse, Self)> {
        if matches!(self.told, Told::Gone) {
            return None;
        }
        loop {
            let state = Arc::clone(&self.states.borrow_and_update());
            if let Some(response) = self.tell(&state) {
                return Some((response, self));
            }
            // The sender goes only with the workspace, which `Gone` has told.
            self.states.changed().await.ok()?;
        }
    }

    /// What there is to tell of a state, if it is news.
    fn tell(&mut self, state: &Arc<State>) -> Option<proto::WatchWorkspaceResponse> {
        let mut changed = Vec::new();
        match (&**state, &self.told) {
            (State::Ready(now), Told::Revision(told)) if now.snapshot.revision == told.snapshot.revision => {
                return None;
            }
            (State::Invalid(_), Told::Invalid(told)) if Arc::ptr_eq(state, told) => return None,
            (State::Ready(now), Told::Revision(told)) => {
                let sight = Sight { wall: self.caller.skill_wall(), filter: None };
                let seen =
                    |path: &Arc<str>| sight.sees_path(&now.snapshot, path) || sight.sees_path(&told.snapshot, path);
                let paths = changed_paths(&told.snapshot, &now.snapshot);
                changed = paths.iter().filter(|path| seen(path)).map(ToString::to_string).collect();
            }
            _ => {}
        }
        self.told = match &**state {
            State::Ready(loaded) => Told::Revision(Arc::clone(loaded)),
            State::Invalid(_) => Told::Invalid(Arc::clone(state)),
            State::Gone => Told::Gone,
        };
        let deleted = matches!(self.told, Told::Gone);
        let workspace = Some(view::whole(&self.id, state, &self.caller));
        Some(proto::WatchWorkspaceResponse { workspace, changed_paths: changed, deleted })
    }
}
