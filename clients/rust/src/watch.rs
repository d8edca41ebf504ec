//! States as they come, of a workspace or of a stored session, over broken connections too.

use std::{fmt::Debug, time::Duration};

use prost::Message;
use tokio::time::sleep;
use tonic::{Code, Streaming};

use crate::{Error, Promptd, calls::method, proto, retry};

/// So that a server which is started again is followed within a second.
const MAX_RECONNECT: Duration = Duration::from_millis(400);

/// The states of a workspace or of a session: the current one at once, then one after each change.
#[derive(Debug)]
pub struct Watch<S: State = proto::WatchWorkspaceResponse> {
    client: Promptd,
    request: S::Request,
    stream: Option<(Streaming<S>, String)>,
    failures: u32,
    is_over: bool,
}

/// What can be watched.
pub trait State: Message + Default + Debug + 'static {
    /// What asks for it.
    type Request: Message + Clone + Debug + 'static;
    /// The method.
    const PATH: &'static str;

    /// Says in the next request what is known by now.
    fn note(&self, request: &mut Self::Request);
    /// Whether what is watched is gone.
    fn is_last(&self) -> bool;
}

impl State for proto::WatchWorkspaceResponse {
    type Request = proto::WatchWorkspaceRequest;
    const PATH: &'static str = method!("WorkspaceService", "WatchWorkspace");

    fn note(&self, request: &mut Self::Request) {
        request.known_revision = self.workspace.as_ref().map(|one| one.revision.clone()).unwrap_or_default();
    }

    fn is_last(&self) -> bool {
        self.deleted
    }
}

impl State for proto::WatchSessionResponse {
    type Request = proto::WatchSessionRequest;
    const PATH: &'static str = method!("SessionService", "WatchSession");

    fn note(&self, request: &mut Self::Request) {
        request.known_position = self.session.as_ref().map(|one| one.position);
    }

    fn is_last(&self) -> bool {
        self.deleted
    }
}

impl<S: State> Watch<S> {
    pub(crate) fn new(client: &Promptd, request: S::Request) -> Self {
        Self { client: client.clone(), request, stream: None, failures: 0, is_over: false }
    }

    /// The next state; `None` once what is watched is gone. A connection that breaks is opened again, for as long as it takes, and
    /// nothing is missed; an error is one that lasts, and the last thing that comes.
    pub async fn next(&mut self) -> Option<Result<S, Error>> {
        while !self.is_over {
            let error = match self.receive().await {
                Ok(Some(state)) => {
                    self.failures = 0;
                    self.is_over = state.is_last();
                    state.note(&mut self.request);
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
                tracing::warn!(watch = ?self.request, %error, "a watch is opened again");
            }
            sleep(retry::backoff(self.failures, &error, MAX_RECONNECT)).await;
        }
        None
    }

    async fn receive(&mut self) -> Result<Option<S>, Error> {
        let (stream, address) = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(self.client.stream(S::PATH, self.request.clone()).await?),
        };
        stream.message().await.map_err(|status| Error::of(&status, address))
    }
}

impl Promptd {
    /// Follows a workspace.
    pub fn watch(&self, workspace: &str) -> Watch {
        let request = proto::WatchWorkspaceRequest { workspace_id: workspace.into(), ..Default::default() };
        Watch::new(self, request)
    }
}
