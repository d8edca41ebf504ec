//! Publishing after others have approved it: what is proposed, approved and rejected.
//!
//! A proposal is one key, which the workspaces that it is of point to. Whatever changes it compares that key, so that two who
//! approve it at once are counted one after the other, and the last approval publishes and removes it in one transaction.

mod publishing;

use std::collections::BTreeMap;

use promptd_core::{digest::Digest, id::Id};

use self::publishing::Publishing;
use crate::{
    canary,
    client::{Client, MAX_OPERATIONS, MAX_REQUEST_BYTES, delete, none_since, put, unchanged},
    clock,
    error::{Error, ErrorKind},
    history::MIN_DIGITS,
    layout::{self, Prefix},
    proposal::{Action, Proposal, Proposed},
    proto::request_op::Request,
    publish::{Flip, Next, Note, Prepared, Publication, Published, Trial, prepare, unknown},
};

/// The most proposals of a workspace that are open.
pub const MAX_OPEN: usize = 16;
/// The most workspaces of a proposal: when it is published each takes three operations of the transaction.
pub const MAX_TOGETHER: usize = (MAX_OPERATIONS - 1) / 3;
/// How often a proposal is written again that someone else was faster with.
const TRIES: usize = 5;

/// What became of what was to be published.
#[derive(Debug)]
pub enum Outcome {
    /// It is published, or was already.
    Published(Vec<Published>),
    /// It waits for others.
    Waits(Proposal),
}

/// An open proposal, as it was read.
#[derive(Debug)]
pub struct Open {
    /// The proposal.
    pub proposal: Proposal,
    mod_revision: i64,
}

/// Proposes to publish workspaces. What is published already is not proposed.
pub async fn propose(
    client: &Client,
    prefix: &Prefix,
    publications: &[Publication],
    note: &Note,
    trial: Option<Trial>,
) -> Result<Outcome, Error> {
    let Prepared { unchanged, next } = prepare(client, prefix, publications, note, trial).await?;
    // What etcd will not take is said now.
    if Flip::of(prefix, &next, trial)?.is_none() {
        return Ok(Outcome::Published(unchanged));
    }
    let workspace = |Next { id, head, manifest }: Next| {
        (id, Proposed { base: head.map(|head| head.revision), files: manifest.files })
    };
    let action = trial.map_or(Action::Publish, Action::Canary);
    let proposal = proposal(note, action, next.into_iter().map(workspace).collect());
    open(client, prefix, proposal).await.map(Outcome::Waits)
}

/// Proposes to give the candidate of a workspace's canary to all turns.
pub async fn propose_promotion(client: &Client, prefix: &Prefix, id: &Id, note: &Note) -> Result<Outcome, Error> {
    let (candidate, _) = canary::promotion(client, prefix, id, note).await?;
    let proposed = Proposed { base: Some(candidate.revision), files: candidate.manifest.files };
    let proposal = proposal(note, Action::Promote, [(id.clone(), proposed)].into());
    open(client, prefix, proposal).await.map(Outcome::Waits)
}

/// The open proposals of a workspace, the newest first; without their files.
pub async fn list(client: &Client, prefix: &Prefix, id: &Id) -> Result<Vec<Proposal>, Error> {
    let mut listed = Vec::new();
    for name in names(client, prefix, id).await?.0 {
        let Some(Open { mut proposal, .. }) = read(client, prefix, name).await? else { continue };
        if !is_expired(&proposal) {
            proposal.workspaces.values_mut().for_each(|proposed| proposed.files.clear());
            listed.push(proposal);
        }
    }
    listed.sort_by_key(|proposal| std::cmp::Reverse(proposal.time));
    Ok(listed)
}

/// An open proposal of a workspace, by the first digits of its id.
pub async fn find(client: &Client, prefix: &Prefix, id: &Id, name: &str) -> Result<Open, Error> {
    let missing = |message: String| Err(Error::new(ErrorKind::Missing, message));
    let mut meant = Vec::new();
    if name.len() >= MIN_DIGITS {
        meant = names(client, prefix, id).await?.0;
        meant.retain(|proposal| proposal.to_hex().starts_with(name));
    }
    if meant.len() > 1 {
        return missing(format!("{id}: `{name}` is the start of several proposals: give more digits"));
    }
    let found = match meant.pop() {
        Some(proposal) => read(client, prefix, proposal).await?,
        None => None,
    };
    match found.filter(|open| !is_expired(&open.proposal)) {
        Some(open) => Ok(open),
        None => missing(format!(
            "{id} has no open proposal `{name}`: it was published or rejected, or has expired; `promptd proposals {id}` lists those that are open"
        )),
    }
}

impl Open {
    /// Whether the approval of one more is the last that is needed.
    #[must_use]
    pub fn is_last(&self, by: &str, needed: usize) -> bool {
        self.with(by).len() >= needed
    }

    /// Who has approved it, with one more.
    fn with(&self, by: &str) -> Vec<String> {
        let mut approved_by = self.proposal.approved_by.clone();
        if approved_by.iter().all(|other| other != by) {
            approved_by.push(by.to_owned());
        }
        approved_by
    }

    /// Counts an approval, and publishes what is proposed where that is the last of those needed. `None`: someone else has changed
    /// the proposal since it was read. Who approved it twice counts once.
    pub async fn approve(
        &self,
        client: &Client,
        prefix: &Prefix,
        by: &str,
        needed: usize,
    ) -> Result<Option<Outcome>, Error> {
        let Publishing { flip, made_from } = match Publishing::of(client, prefix, &self.proposal).await {
            Ok(publishing) => publishing,
            // It may be this very proposal that someone else has published.
            Err(_) if self.is_changed(client, prefix).await? => return Ok(None),
            Err(error) => return Err(error),
        };
        let body = prefix.proposal(self.proposal.id);
        let is_same = unchanged(body.clone(), self.mod_revision);
        if self.is_last(by, needed) {
            let Flip { mut compare, mut operations, results } = flip;
            compare.push(is_same);
            operations.extend(removal(prefix, &self.proposal));
            if client.transact(compare, operations).await.map_err(unknown)?.succeeded {
                return Ok(Some(Outcome::Published(results)));
            }
            let is_changed = self.is_changed(client, prefix).await?;
            return if is_changed { Ok(None) } else { Err(made_from.lost_race(client, prefix).await?) };
        }
        let approved = Proposal { approved_by: self.with(by), ..self.proposal.clone() };
        let counted = client.transact(vec![is_same], vec![put(body, approved.write())]).await?.succeeded;
        Ok(counted.then_some(Outcome::Waits(approved)))
    }

    async fn is_changed(&self, client: &Client, prefix: &Prefix) -> Result<bool, Error> {
        let now = read(client, prefix, self.proposal.id).await?;
        Ok(now.is_none_or(|now| now.mod_revision != self.mod_revision))
    }

    /// Ends the proposal; false: someone else has changed it since it was read.
    pub async fn reject(&self, client: &Client, prefix: &Prefix) -> Result<bool, Error> {
        let is_same = unchanged(prefix.proposal(self.proposal.id), self.mod_revision);
        Ok(client.transact(vec![is_same], removal(prefix, &self.proposal)).await?.succeeded)
    }
}

fn proposal(note: &Note, action: Action, workspaces: BTreeMap<Id, Proposed>) -> Proposal {
    let Note { author, message } = note.clone();
    let time = clock::timestamp();
    let unnamed =
        Proposal { id: Digest::default(), author, message, time, action, workspaces, approved_by: Vec::new() };
    Proposal { id: Digest::of(&unnamed.write()), ..unnamed }
}

/// Writes a proposal, where none of its workspaces has too many of them.
async fn open(client: &Client, prefix: &Prefix, proposal: Proposal) -> Result<Proposal, Error> {
    let invalid = |message: String| Err(Error::new(ErrorKind::Invalid, message));
    let (body, count) = (proposal.write(), proposal.workspaces.len());
    if count > MAX_TOGETHER {
        return invalid(format!("{count} workspaces cannot be proposed together: etcd takes {MAX_TOGETHER}"));
    }
    if body.len() > MAX_REQUEST_BYTES / 2 {
        let (size, most) = (body.len(), MAX_REQUEST_BYTES / 2);
        return invalid(format!("the proposal has {size} bytes, of {most} at most: propose fewer workspaces together"));
    }
    for _ in 0..TRIES {
        let mut compare = vec![unchanged(prefix.proposal(proposal.id), 0)];
        let mut operations = vec![put(prefix.proposal(proposal.id), body.clone())];
        for id in proposal.workspaces.keys() {
            let revision = room(client, prefix, id).await?;
            compare.push(none_since(&prefix.proposals_of(id), revision));
            operations.push(put(prefix.proposal_of(id, proposal.id), Vec::new()));
        }
        if client.transact(compare, operations).await?.succeeded {
            return Ok(proposal);
        }
    }
    Err(Error::new(ErrorKind::Conflict, "others propose at the same time: propose again"))
}

/// The revision of etcd at which a workspace has room for one more proposal; those that have expired make some.
async fn room(client: &Client, prefix: &Prefix, id: &Id) -> Result<i64, Error> {
    let (open, revision) = names(client, prefix, id).await?;
    if open.len() < MAX_OPEN {
        return Ok(revision);
    }
    for name in open {
        if let Some(open) = read(client, prefix, name).await?.filter(|open| is_expired(&open.proposal)) {
            open.reject(client, prefix).await?;
        }
    }
    let (open, revision) = names(client, prefix, id).await?;
    if open.len() < MAX_OPEN {
        return Ok(revision);
    }
    let message =
        format!("{id} has {MAX_OPEN} open proposals, which is the most: approve or reject some of them first");
    Err(Error::new(ErrorKind::TooMany, message))
}

/// The ids of a workspace's proposals, and the revision of etcd that they are of.
async fn names(client: &Client, prefix: &Prefix, id: &Id) -> Result<(Vec<Digest>, i64), Error> {
    let listed = client.list(&prefix.proposals_of(id)).await?;
    let names = listed.keys.iter().filter_map(|kv| layout::digest(&kv.key));
    Ok((names.collect(), listed.revision))
}

/// A proposal, whether it has expired or not.
pub(crate) async fn read(client: &Client, prefix: &Prefix, proposal: Digest) -> Result<Option<Open>, Error> {
    let key = prefix.proposal(proposal);
    let Some(kv) = client.get_all(vec![key], 0).await?.pop().flatten() else { return Ok(None) };
    let proposal = Proposal::read(proposal, &kv.value).map_err(|why| Error::unreadable(&kv.key, why))?;
    Ok(Some(Open { proposal, mod_revision: kv.mod_revision }))
}

pub(crate) fn is_expired(proposal: &Proposal) -> bool {
    clock::timestamp() >= proposal.expires_at()
}

/// What removes a proposal.
fn removal(prefix: &Prefix, proposal: &Proposal) -> Vec<Request> {
    let of = proposal.workspaces.keys().map(|id| delete(prefix.proposal_of(id, proposal.id)));
    of.chain([delete(prefix.proposal(proposal.id))]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_after(approved_by: &[&str]) -> Open {
        let note = Note { author: "dana".to_owned(), message: "Shorter.".to_owned() };
        let mut proposal = proposal(&note, Action::Publish, BTreeMap::new());
        proposal.approved_by = approved_by.iter().map(|&name| name.to_owned()).collect();
        Open { proposal, mod_revision: 1 }
    }

    #[test]
    fn who_approves_twice_counts_once() {
        for (before, by, needed, is_last) in [
            (&[][..], "kim", 1, true),
            (&[], "kim", 2, false),
            (&["kim"], "kim", 2, false),
            (&["kim"], "lee", 2, true),
            (&["kim", "lee"], "kim", 3, false),
            // The setting was lowered since.
            (&["kim", "lee"], "kim", 1, true),
            (&[], "kim", 0, true),
        ] {
            assert_eq!(open_after(before).is_last(by, needed), is_last, "{by} after {before:?} of {needed}");
        }
    }

    #[test]
    fn the_id_is_of_what_it_was_at_first() {
        let proposal = open_after(&[]).proposal;
        let unnamed = Proposal { id: Digest::default(), ..proposal.clone() };
        assert_eq!(proposal.id, Digest::of(&unnamed.write()));
        assert!(!is_expired(&proposal));
        assert!(is_expired(&Proposal { time: "2026-01-01T00:00:00Z".parse().unwrap(), ..proposal }));
    }
}
