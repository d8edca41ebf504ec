//! `WatchSession`: the newest state, whenever the reader is ready for it.

use std::time::Duration;

use futures_util::stream::{self, Stream};
use promptd_memory::{SessionKey, StoreError};
use tokio::sync::watch;
use tonic::Status;

use super::{
    encode,
    memory::{Memory, failure},
};
use crate::grpc::pipeline::Error;
use promptd_contract::proto;

/// One watch.
pub(super) struct Watch {
    memory: Memory,
    key: SessionKey,
    changes: watch::Receiver<()>,
    /// The position that the reader knows.
    known: Option<u64>,
    /// Whether the reader knows that there is a session.
    is_there: bool,
    ended: bool,
    retry: Duration,
}

impl Watch {
    pub(super) fn new(memory: Memory, key: SessionKey, known: Option<u64>, retry: Duration) -> Result<Self, Error> {
        // Before the first look, so that nothing is missed between the two.
        let changes = memory.store()?.watch(&key);
        Ok(Self { memory, key, changes, known, is_there: known.is_some(), ended: false, retry })
    }

    pub(super) fn responses(self) -> impl Stream<Item = Result<proto::WatchSessionResponse, Status>> {
        stream::unfold(self, async |mut watch| {
            let next = if watch.ended { None } else { watch.next().await };
            watch.ended |= !matches!(next, Some(Ok(proto::WatchSessionResponse { deleted: false, .. })));
            next.map(|next| (next.map_err(Status::from), watch))
        })
    }

    /// Waits until there is news; `None`: there will be none.
    async fn next(&mut self) -> Option<Result<proto::WatchSessionResponse, Error>> {
        loop {
            self.changes.mark_unchanged();
            let session = match self.memory.store() {
                Ok(store) => store.session(&self.key).await,
                Err(error) => return Some(Err(error)),
            };
            match session {
                Ok(session) if self.known != Some(session.position) => {
                    (self.known, self.is_there) = (Some(session.position), true);
                    let session = Some(encode::session(&session));
                    return Some(Ok(proto::WatchSessionResponse { session, deleted: false }));
                }
                Err(StoreError::NoSession) if self.is_there => {
                    let session = Some(proto::Session { id: self.key.session.to_string(), ..<_>::default() });
                    return Some(Ok(proto::WatchSessionResponse { session, deleted: true }));
                }
                Ok(_) | Err(StoreError::NoSession) => {}
                Err(error) => return Some(Err(failure(error, Some(&self.key.session), self.retry))),
            }
            self.changes.changed().await.ok()?;
        }
    }
}
