//! Publishing from inside the service: one publish at a time, checked, and with an audit line whatever becomes of it.

use std::{collections::BTreeMap, fmt, sync::Arc};

use promptd_contract::decode::{PublishBounds, PublishRequest, WorkspaceToPublish};
use promptd_core::{finding::Finding, id::Id};
use promptd_etcd::{
    Client, ErrorKind, FileEntry, MAX_FILE_BYTES, MAX_FILES, MAX_WORKSPACE_BYTES, Options, ReadCredentials,
    canary::{self, End},
    history, is_publishable,
    layout::Prefix,
    publish::{MAX_WORKSPACES, Note, Publication, Trial, publish, return_to},
    review, upload,
};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
};
use tonic::Code;

use super::{audit::Audit, done::Done};
use crate::grpc::pipeline::Error;

/// What one publish can have. All of its files are in memory while it is checked.
pub(super) const BOUNDS: PublishBounds = PublishBounds {
    workspaces: MAX_WORKSPACES,
    files: MAX_FILES,
    file_bytes: MAX_FILE_BYTES,
    bytes: MAX_WORKSPACE_BYTES,
    is_path: is_publishable,
};

/// How many calls use etcd at once, besides a publish: each may hold some revisions' lists of files.
const MAX_CONNECTIONS: usize = 4;

/// Checks workspaces as they will be served once they are published. The error is the first that has errors, with those. It may
/// take long.
pub type CheckPublications = Arc<dyn Fn(&[Publication]) -> Result<(), (Id, Vec<Finding>)> + Send + Sync>;

/// Publishes to etcd.
#[derive(Clone)]
pub struct Publisher(Arc<State>);

#[derive(Clone)]
struct State {
    options: Options,
    credentials: ReadCredentials,
    check: CheckPublications,
    approvals: usize,
    kept_back: Option<Id>,
    connections: Arc<Semaphore>,
    publishing: Arc<Semaphore>,
}

/// A connection to etcd, and its place among those of other calls.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) prefix: Prefix,
    _place: OwnedSemaphorePermit,
}

impl Publisher {
    /// Publishes where these options say, what so many others than its author have approved.
    #[must_use]
    pub fn new(options: Options, credentials: ReadCredentials, check: CheckPublications, approvals: usize) -> Self {
        let (connections, publishing) = (Semaphore::new(MAX_CONNECTIONS), Semaphore::new(1));
        let (connections, publishing) = (Arc::new(connections), Arc::new(publishing));
        Self(Arc::new(State { options, credentials, check, approvals, kept_back: None, connections, publishing }))
    }

    /// The same, except for an id that nobody may publish or read through it: that of the server's own files, which have tokens.
    #[must_use]
    pub fn keeping_back(self, id: Option<Id>) -> Self {
        Self(Arc::new(State { kept_back: id, ..State::clone(&self.0) }))
    }

    /// What nobody may publish or read through it.
    pub(super) fn kept_back(&self) -> Option<&Id> {
        self.0.kept_back.as_ref()
    }

    /// How many others must approve what is published.
    pub(super) fn approvals(&self) -> usize {
        self.0.approvals
    }

    /// A connection of a call's own. Publishing is rare, and so a member that is gone and new credentials do not matter.
    pub(super) async fn connect(&self) -> Result<Connection, Error> {
        self.connect_at(Arc::clone(&self.0.connections)).await
    }

    /// Publishes workspaces whose files were uploaded. What has begun is done whether the caller waits or not.
    pub(super) async fn publish(&self, request: PublishRequest, author: String, audit: Audit) -> Result<Done, Error> {
        let work = async move |publisher: &Self, connection: &Connection| {
            let note = Note { author, message: request.message };
            let trial = request.canary.map(|(share, by)| Trial { share, by });
            let publications = gather(connection, request.workspaces).await?;
            publisher.check_and_publish(connection, &publications, &note, trial).await
        };
        self.alone(work, audit).await
    }

    /// Publishes an earlier revision again, in the same way.
    pub(super) async fn rollback(
        &self,
        id: Id,
        name: String,
        message: String,
        author: String,
        audit: Audit,
    ) -> Result<Done, Error> {
        let work = async move |publisher: &Self, connection: &Connection| {
            let Connection { client, prefix, .. } = connection;
            let returned = return_to(client, prefix, &id, &name).await;
            let (publication, reason) = returned.map_err(|error| failure(&error))?;
            let message = if message.is_empty() { reason } else { message };
            publisher.check_and_publish(connection, &[publication], &Note { author, message }, None).await
        };
        self.alone(work, audit).await
    }

    /// Ends a canary, in the same way.
    pub(super) async fn end_canary(
        &self,
        end: End,
        id: Id,
        message: String,
        author: String,
        audit: Audit,
    ) -> Result<Done, Error> {
        let work = async move |publisher: &Self, Connection { client, prefix, .. }: &Connection| {
            let message = if message.is_empty() { end.reason().to_owned() } else { message };
            let note = Note { author, message };
            let ended = match end {
                End::Promote if publisher.approvals() > 0 => {
                    review::propose_promotion(client, prefix, &id, &note).await.map(Done::from)
                }
                // What is taken away needs nobody's approval.
                End::Promote | End::Abort => {
                    canary::end(client, prefix, end, &id, &note).await.map(|one| Done::Published(vec![one]))
                }
            };
            ended.map_err(|error| failure(&error))
        };
        self.alone(work, audit).await
    }

    /// Does what publishes after all others that do, on a thread of its own: it reads, hashes and checks many files.
    pub(super) async fn alone<W>(&self, work: W, audit: Audit) -> Result<Done, Error>
    where
        W: AsyncFnOnce(&Self, &Connection) -> Result<Done, Error> + Send + 'static,
    {
        let (audit, connection) = audit.admit(self.connect_at(Arc::clone(&self.0.publishing)).await)?;
        let (publisher, runtime) = (self.clone(), Handle::current());
        let task = spawn_blocking(move || {
            let result = runtime.block_on(work(&publisher, &connection));
            audit.ended(&result);
            result
        });
        task.await.unwrap_or(Err(Error::Internal))
    }

    async fn connect_at(&self, places: Arc<Semaphore>) -> Result<Connection, Error> {
        let State { options, credentials, .. } = &*self.0;
        let place = places.acquire_owned().await.map_err(|_| Error::Internal)?;
        let client = Client::connect(options, credentials, 0).await.map_err(|error| failure(&error))?;
        Ok(Connection { client, prefix: options.prefix.clone(), _place: place })
    }

    async fn check_and_publish(
        &self,
        connection: &Connection,
        publications: &[Publication],
        note: &Note,
        trial: Option<Trial>,
    ) -> Result<Done, Error> {
        let Connection { client, prefix, .. } = connection;
        self.check(publications)?;
        let done = if self.approvals() > 0 {
            review::propose(client, prefix, publications, note, trial).await.map(Done::from)
        } else {
            publish(client, prefix, publications, note, trial).await.map(Done::Published)
        };
        done.map_err(|error| failure(&error))
    }

    /// Fails where a workspace would have errors.
    pub(super) fn check(&self, publications: &[Publication]) -> Result<(), Error> {
        (self.0.check)(publications).map_err(|(id, faults)| Error::WorkspaceInvalid { id: id.to_string(), faults })
    }
}

/// The workspaces with the bytes of their files, each of which they have already or was uploaded for them.
async fn gather(connection: &Connection, workspaces: Vec<WorkspaceToPublish>) -> Result<Vec<Publication>, Error> {
    let Connection { client, prefix, .. } = connection;
    let mut publications = Vec::new();
    for WorkspaceToPublish { id, files, base } in workspaces {
        let hashes = files.values().map(|(sha256, _)| *sha256);
        let missing = upload::missing(client, prefix, &id, hashes).await.map_err(|error| failure(&error))?;
        if !missing.is_empty() {
            let first = files.iter().find(|(_, (sha256, _))| missing.contains(sha256)).map(|(path, _)| path.as_str());
            let (count, first) = (missing.len(), first.unwrap_or_default());
            let message = format!("{id}: {count} files must be uploaded first, {first} among them");
            return Err(part(Code::FailedPrecondition, "FILES_MISSING", message));
        }
        let entry = |(path, (sha256, bytes))| (path, FileEntry { sha256, bytes });
        let entries: BTreeMap<String, FileEntry> = files.into_iter().map(entry).collect();
        let files = history::files(client, prefix, &entries).await.map_err(|error| failure(&error))?;
        publications.push(Publication { id, files, base });
    }
    Ok(publications)
}

/// What etcd says, as the service's error. Where etcd is and why it cannot be used is for the log.
pub(super) fn failure(error: &promptd_etcd::Error) -> Error {
    let (code, reason) = match error.kind {
        ErrorKind::Conflict => (Code::Aborted, "PUBLISHED_SINCE"),
        ErrorKind::CanaryRuns => (Code::FailedPrecondition, "CANARY_RUNS"),
        ErrorKind::NoCanary => (Code::FailedPrecondition, "NO_CANARY"),
        ErrorKind::Missing => (Code::NotFound, "PUBLISHED_REVISION_NOT_FOUND"),
        ErrorKind::Invalid => (Code::FailedPrecondition, "PUBLICATION_INVALID"),
        ErrorKind::TooMany => (Code::ResourceExhausted, "TOO_MANY_PROPOSALS"),
        ErrorKind::NoSpace => (Code::ResourceExhausted, "ETCD_FULL"),
        ErrorKind::Away | ErrorKind::Denied | ErrorKind::Refused | ErrorKind::Compacted => {
            (Code::Unavailable, "ETCD_UNAVAILABLE")
        }
    };
    let message = match error.kind {
        ErrorKind::Conflict
        | ErrorKind::CanaryRuns
        | ErrorKind::NoCanary
        | ErrorKind::TooMany
        | ErrorKind::Missing
        | ErrorKind::Invalid => error.to_string(),
        kind => {
            tracing::warn!(%error, "etcd could not be used for a call of AdminService");
            match kind {
                ErrorKind::NoSpace => "etcd has no space left: run `promptd gc`, then compact and defragment it",
                _ => {
                    "etcd does not answer, or refuses the server, whose log says why; `promptd history` says what is published"
                }
            }
            .to_owned()
        }
    };
    part(code, reason, message)
}

pub(super) fn part(code: Code, reason: &'static str, message: String) -> Error {
    Error::Part { code, reason, message, metadata: None }
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("options", &self.0.options).finish_non_exhaustive()
    }
}
