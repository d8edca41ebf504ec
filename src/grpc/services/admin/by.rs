//! Who publishes, and from where.

use promptd_core::id::Id;
use promptd_etcd::proposal::Proposal;
use tonic::{Code, Request};

use super::publisher::Publisher;
use crate::grpc::{
    pipeline::{Error, auth::Caller},
    transport::{Ends, Peer},
};

/// The author of what is published where no token is needed.
const WITHOUT_TOKEN: &str = "loopback";

/// The caller of an administrative call.
pub(super) struct By {
    caller: Caller,
    /// What nobody may publish or read here, whatever their token says.
    kept_back: Option<Id>,
    ends: Option<Ends>,
    /// A browser sends it for a page.
    is_page: bool,
}

impl By {
    pub(super) fn of<T>(request: &Request<T>, publisher: &Publisher) -> Self {
        Self {
            caller: Caller::of(request),
            kept_back: publisher.kept_back().cloned(),
            ends: request.extensions().get::<Peer>().and_then(Peer::ends),
            is_page: request.metadata().contains_key("origin"),
        }
    }

    /// Fails where they may not publish the workspace.
    pub(super) fn must_publish(&self, id: &Id) -> Result<(), Error> {
        if self.kept_back.as_ref() == Some(id) {
            let message = "these are the server's own files: publish them with the credentials of etcd, `--to etcd://HOST:PORT/PREFIX`";
            let (code, reason) = (Code::PermissionDenied, "PUBLISH_FORBIDDEN");
            return Err(Error::Part { code, reason, message: message.to_owned(), metadata: None });
        }
        // Of the pages of a browser on this machine nobody knows who sends them.
        let is_local = self.ends.is_some_and(Ends::are_loopback) && !self.is_page;
        self.caller.must_publish(id, is_local)
    }

    /// Fails where they may not publish each workspace of a proposal.
    pub(super) fn must_publish_all(&self, proposal: &Proposal) -> Result<(), Error> {
        proposal.workspaces.keys().try_for_each(|id| self.must_publish(id))
    }

    /// The workspace that a request names, if they may publish it.
    pub(super) fn workspace(&self, raw: &str) -> Result<Id, Error> {
        let id = Id::parse(raw).map_err(|invalid| Error::invalid("workspace_id", invalid.to_string()))?;
        self.must_publish(&id)?;
        Ok(id)
    }

    /// What the history says who it was.
    pub(super) fn author(&self) -> String {
        self.caller.name().unwrap_or(WITHOUT_TOKEN).to_owned()
    }

    /// The address that the call comes from.
    pub(super) fn address(&self) -> String {
        self.ends.map_or_else(|| "this process".to_owned(), |ends| ends.remote.to_string())
    }
}
