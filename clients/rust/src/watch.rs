//! A workspace's states as they come, over broken connections too.

use std::time::Duration;

use tokio::time::sleep;
use tonic::{Code, Streaming};

use crate::{Error, Promptd, calls::method, proto, retry};

/// So that a server which is started again is followed within a second.
const MAX_RECONNECT: Duration = Duration::from_millis(400);

/// The states of a workspace: the current one at once, then one after each change.
#[derive(Debug)]
pub struct Watch {
    client: Promptd,
    request: proto::WatchWorkspaceRequest,
    stream: Option<(Streaming<proto::WatchWorkspaceResponse>, String)>,
    failures: u32,
    is_over: bool,
}

impl Watch {
    /// The next state; `None` once the workspace is gone. A connection that breaks is opened again, for as long as it takes, and
    /// nothing is missed; an error is one that lasts, and the last thing that comes.
    pub async fn next(&mut self) -> Option<Result<proto::WatchWorkspaceResponse, Error>> {
        while !self.is_over {
            let error = match self.receive().await {
                Ok(Some(state)) => {
                    self.failures = 0;
                    self.is_over = state.deleted;
                    let revision = state.workspace.as_ref().map(|workspace| workspace.revision.clone());
                    self.request.known_revision = revision.unwrap_or_default();
                    return Some(Ok(state));
                }
                Ok(None) => Error::own(Code::Unavailable, "the stream ended"),
                Err(error) => error,
            };
            self.stream = None;
            if error.code != Code::Unavailable {
                self.is_over = true;
                return Some(Err(error));
            }
            self.failures += 1;
            if self.failures == 1 {
                tracing::warn!(workspace = self.request.workspace_id, %error, "a watch is opened again");
            }
            sleep(retry::backoff(self.failures, &error, MAX_RECONNECT)).await;
        }
        None
    }

    async fn receive(&mut self) -> Result<Option<proto::WatchWorkspaceResponse>, Error> {
        const PATH: &str = method!("WorkspaceService", "WatchWorkspace");
        let (stream, address) = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(self.client.stream(PATH, self.request.clone()).await?),
        };
        stream.message().await.map_err(|status| Error::of(&status, address))
    }
}

impl Promptd {
    /// Follows a workspace.
    pub fn watch(&self, workspace: &str) -> Watch {
        let request = proto::WatchWorkspaceRequest { workspace_id: workspace.into(), ..Default::default() };
        Watch { client: self.clone(), request, stream: None, failures: 0, is_over: false }
    }
}
