//! `WatchWorkspace`: the newest state, whenever the reader is ready for it.

use std::sync::Arc;

use futures_util::stream::{self, Stream};
use tokio::sync::watch;
use tonic::Status;

use super::{backend::workspace_view, revisions::visible_changes};
use crate::grpc::pipeline::auth::Caller;
use promptd_contract::proto;
use promptd_core::id::Id;
use promptd_source::store::{Loaded, State, Store};

/// One watch.
pub(super) struct Watch {
    pub(super) id: Id,
    pub(super) caller: Caller,
    pub(super) store: Arc<Store>,
    pub(super) states: watch::Receiver<Arc<State>>,
    pub(super) sent: Sent,
}

/// What the caller has: `changed_paths` are those that differ from it.
pub(super) enum Sent {
    /// Nothing, or a revision that is no longer held.
    Nothing,
    Revision(Arc<Loaded>),
    /// A workspace that never loaded well.
    Invalid(Arc<State>),
    Gone,
}

impl Watch {
    /// The responses. Each is made when the reader is ready for it, so that a slow reader gets the newest state and
    /// nothing is queued.
    pub(super) fn responses(self) -> impl Stream<Item = Result<proto::WatchWorkspaceResponse, Status>> {
        stream::unfold(self, Self::next)
    }

    /// Waits until there is news; `None` after `Gone` was sent.
    async fn next(mut self) -> Option<(Result<proto::WatchWorkspaceResponse, Status>, Self)> {
        if matches!(self.sent, Sent::Gone) {
            return None;
        }
        loop {
            let state = Arc::clone(&self.states.borrow_and_update());
            if matches!(*state, State::Cold(_)) {
                // It was unloaded just before it was followed.
                self.store.wake(self.id.as_str());
            } else if let Some(response) = self.news(&state) {
                return Some((Ok(response), self));
            }
            // The sender is dropped only after it has sent `Gone`.
            self.states.changed().await.ok()?;
        }
    }

    /// The response for a state, if it differs from what was sent.
    fn news(&mut self, state: &Arc<State>) -> Option<proto::WatchWorkspaceResponse> {
        let mut changed = Vec::new();
        match (&**state, &self.sent) {
            (State::Ready(new), Sent::Revision(old)) if new.snapshot.revision == old.snapshot.revision => {
                return None;
            }
            (State::Invalid(_), Sent::Invalid(old)) if Arc::ptr_eq(state, old) => return None,
            (State::Ready(new), Sent::Revision(old)) => {
                changed = visible_changes(&old.snapshot, &new.snapshot, self.caller.skill_access(None));
            }
            _ => {}
        }
        self.sent = match &**state {
            State::Ready(loaded) => Sent::Revision(Arc::clone(loaded)),
            State::Cold(_) => return None,
            State::Invalid(_) => Sent::Invalid(Arc::clone(state)),
            State::Gone => Sent::Gone,
        };
        let deleted = matches!(self.sent, Sent::Gone);
        let workspace = Some(workspace_view(&self.id, state, &self.caller));
        Some(proto::WatchWorkspaceResponse { workspace, changed_paths: changed, deleted })
    }
}
