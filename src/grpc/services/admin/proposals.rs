//! Proposals: what waits until others approve it, or someone rejects it.

use promptd_core::id::Id;
use promptd_etcd::{
    ErrorKind, history,
    proposal::{Action, Proposal},
    publish::Publication,
    review::{self, Open, Outcome},
};
use tonic::Code;

use super::{
    audit::Audit,
    by::By,
    done::Done,
    publisher::{Connection, Publisher, failure, part},
};
use crate::grpc::pipeline::Error;

/// How often a proposal is read again that someone else has changed meanwhile.
const TRIES: usize = 8;

impl Publisher {
    /// The open proposals of a workspace that the caller may approve or reject.
    pub(super) async fn proposals(&self, id: &Id, by: &By) -> Result<Vec<Proposal>, Error> {
        let Connection { client, prefix, .. } = &self.connect().await?;
        let mut open = review::list(client, prefix, id).await.map_err(|error| failure(&error))?;
        open.retain(|proposal| by.must_publish_all(proposal).is_ok());
        Ok(open)
    }

    /// Approves a proposal in the caller's name. With the last approval that is needed it is checked again, and published.
    pub(super) async fn approve(&self, id: Id, name: String, by: By, audit: Audit) -> Result<Done, Error> {
        let work = async move |publisher: &Self, connection: &Connection| {
            let Connection { client, prefix, .. } = connection;
            let (approver, needed) = (by.author(), publisher.approvals());
            for _ in 0..TRIES {
                let open = find(connection, &id, &name, &by).await?;
                if open.proposal.author == approver {
                    let message = format!("the proposal is by {approver}, and so needs the approval of others");
                    return Err(part(Code::PermissionDenied, "OWN_PROPOSAL", message));
                }
                if open.is_last(&approver, needed) {
                    publisher.check(&proposed(connection, &open.proposal).await?)?;
                }
                let outcome = open.approve(client, prefix, &approver, needed).await;
                match outcome.map_err(|error| failure(&error))? {
                    Some(Outcome::Published(all)) => return Ok(Done::Published(all)),
                    Some(Outcome::Waits(proposal)) => return Ok(Done::Approved(proposal)),
                    None => {}
                }
            }
            Err(changed(&id))
        };
        self.alone(work, audit).await
    }

    /// Rejects a proposal, also the caller's own.
    pub(super) async fn reject(&self, id: Id, name: String, by: By, audit: Audit) -> Result<Done, Error> {
        let work = async move |_: &Self, connection: &Connection| {
            for _ in 0..TRIES {
                let open = find(connection, &id, &name, &by).await?;
                let rejected = open.reject(&connection.client, &connection.prefix).await;
                if rejected.map_err(|error| failure(&error))? {
                    return Ok(Done::Rejected(open.proposal));
                }
            }
            Err(changed(&id))
        };
        self.alone(work, audit).await
    }
}

/// An open proposal, where the caller may publish each of its workspaces.
async fn find(connection: &Connection, id: &Id, name: &str, by: &By) -> Result<Open, Error> {
    let found = review::find(&connection.client, &connection.prefix, id, name).await;
    let open = found.map_err(|error| match error.kind {
        ErrorKind::Missing => part(Code::NotFound, "PROPOSAL_NOT_FOUND", error.to_string()),
        _ => failure(&error),
    })?;
    by.must_publish_all(&open.proposal)?;
    Ok(open)
}

/// What a proposal would publish, with the bytes of its files; nothing where it is in use already.
async fn proposed(connection: &Connection, proposal: &Proposal) -> Result<Vec<Publication>, Error> {
    let Connection { client, prefix, .. } = connection;
    let mut publications = Vec::new();
    if proposal.action == Action::Promote {
        return Ok(publications);
    }
    for (id, one) in &proposal.workspaces {
        let files = history::files(client, prefix, &one.files).await.map_err(|error| failure(&error))?;
        publications.push(Publication { id: id.clone(), files, base: one.base });
    }
    Ok(publications)
}

fn changed(id: &Id) -> Error {
    let message = format!("{id}: others approve the proposal at the same time: try again");
    part(Code::Aborted, "PUBLISHED_SINCE", message)
}
