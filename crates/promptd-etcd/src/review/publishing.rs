//! What publishes a proposal, as long as what it was made from is live.

use promptd_core::{digest::Digest, id::Id};

use crate::{
    canary,
    client::Client,
    error::{Error, ErrorKind},
    layout::Prefix,
    proposal::{Action, Proposal, Proposed},
    publish::{Flip, Head, Next, Note, conflict, heads, lost_race, must_be_newest},
};

/// The transaction, and what it was made from.
pub(super) struct Publishing {
    pub(super) flip: Flip,
    pub(super) made_from: MadeFrom,
}

/// What must not have changed until the transaction.
pub(super) enum MadeFrom {
    /// The newest states of workspaces.
    Newest(Vec<Next>),
    /// The canary of a workspace.
    CanaryOf(Id),
}

impl Publishing {
    /// Fails where something else is live.
    pub(super) async fn of(client: &Client, prefix: &Prefix, proposal: &Proposal) -> Result<Self, Error> {
        let note = Note { author: proposal.author.clone(), message: proposal.message.clone() };
        let trial = match proposal.action {
            Action::Promote => return Self::of_promotion(client, prefix, proposal, &note).await,
            Action::Canary(trial) => Some(trial),
            Action::Publish => None,
        };
        let ids: Vec<Id> = proposal.workspaces.keys().cloned().collect();
        canary::none_may_run(client, prefix, &ids).await?;
        let mut next = Vec::new();
        for ((id, Proposed { base, files }), head) in proposal.workspaces.iter().zip(heads(client, prefix, &ids).await?)
        {
            must_be_live(id, *base, head.as_ref())?;
            next.push(Next::after(id, head, files.clone(), &note));
        }
        let flip = Flip::of(prefix, &next, trial)?;
        let flip = flip.ok_or_else(|| Error::new(ErrorKind::Invalid, "the proposal has no workspace"))?;
        Ok(Self { flip, made_from: MadeFrom::Newest(next) })
    }

    async fn of_promotion(client: &Client, prefix: &Prefix, proposal: &Proposal, note: &Note) -> Result<Self, Error> {
        let Some((id, Proposed { base, .. })) = proposal.workspaces.first_key_value() else {
            return Err(Error::new(ErrorKind::Invalid, "the proposal has no workspace"));
        };
        let (candidate, flip) = canary::promotion(client, prefix, id, note).await?;
        if *base != Some(candidate.revision) {
            return Err(canary::ended_by_another(id));
        }
        Ok(Self { flip, made_from: MadeFrom::CanaryOf(id.clone()) })
    }
}

impl MadeFrom {
    /// Why the transaction has not succeeded.
    pub(super) async fn lost_race(&self, client: &Client, prefix: &Prefix) -> Result<Error, Error> {
        match self {
            Self::CanaryOf(id) => Ok(canary::ended_by_another(id)),
            Self::Newest(next) => lost_race(client, prefix, next).await,
        }
    }
}

/// Fails where the newest state is not what a proposal was made from.
fn must_be_live(id: &Id, base: Option<Digest>, head: Option<&Head>) -> Result<(), Error> {
    match (base, head) {
        (Some(base), head) => must_be_newest(id, base, head),
        (None, Some(head)) => Err(conflict(id, Some(head))),
        (None, None) => Ok(()),
    }
}
