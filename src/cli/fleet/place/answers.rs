//! What a promptd answers, as checked types.

use std::collections::BTreeMap;

use jiff::Timestamp;
use promptd_contract::proto;
use promptd_core::{
    canary::{Key, Share},
    digest::Digest,
    id::Id,
    text::hex,
};
use promptd_etcd::{
    FileEntry, Manifest,
    history::Past,
    proposal::{Action, Proposal, Proposed},
    publish::{Published, Trial},
};

use super::{Outcome, Waiting};
use crate::cli::Failure;

/// What became of what was to be published: workspaces, or a proposal.
pub(super) fn outcome(
    workspaces: impl IntoIterator<Item = proto::PublishedWorkspace>,
    proposal: Option<proto::Proposal>,
) -> Result<Outcome, Failure> {
    match proposal {
        Some(proposal) => waiting(proposal).map(Outcome::Waits),
        None => workspaces.into_iter().map(published).collect::<Result<_, _>>().map(Outcome::Published),
    }
}

/// A revision of a workspace.
pub(super) fn past(revision: proto::PublishedRevision) -> Result<Past, Failure> {
    let proto::PublishedRevision {
        revision,
        sequence,
        parent_revision,
        author,
        message,
        published_at,
        files,
        again_revision,
        canary,
    } = revision;
    let unread = || unreadable("a revision");
    let file =
        |file: proto::PublishedFile| Some((file.path, FileEntry { sha256: hash(&file.sha256)?, bytes: file.bytes }));
    let trial = canary.map(|rule| trial(&rule).ok_or_else(unread)).transpose()?;
    let manifest = Manifest {
        sequence,
        parent: hash(&parent_revision),
        author,
        message,
        time: time(published_at).ok_or_else(unread)?,
        again: hash(&again_revision),
        files: files.into_iter().map(file).collect::<Option<_>>().ok_or_else(unread)?,
    };
    Ok(Past { revision: hash(&revision).ok_or_else(unread)?, manifest, trial })
}

fn published(one: proto::PublishedWorkspace) -> Result<Published, Failure> {
    let proto::PublishedWorkspace { workspace_id, revision, sequence, unchanged } = one;
    let read = Id::parse(&workspace_id).ok().zip(hash(&revision));
    let (id, revision) = read.ok_or_else(|| unreadable("what was published"))?;
    Ok(Published { id, revision, sequence, is_new: !unchanged })
}

/// A proposal.
pub(super) fn waiting(proposal: proto::Proposal) -> Result<Waiting, Failure> {
    let needed = proposal.approvals_needed;
    let proposal = read(proposal).ok_or_else(|| unreadable("a proposal"))?;
    Ok(Waiting { proposal, needed })
}

fn read(proposal: proto::Proposal) -> Option<Proposal> {
    let workspace = |one: proto::ProposalWorkspace| {
        let proposed = Proposed { base: hash(&one.base_revision), files: BTreeMap::new() };
        Some((Id::parse(&one.workspace_id).ok()?, proposed))
    };
    Some(Proposal {
        id: hash(&proposal.proposal_id)?,
        author: proposal.author,
        message: proposal.message,
        time: time(proposal.proposed_at)?,
        action: match proposal.canary {
            Some(rule) => Action::Canary(trial(&rule)?),
            None if proposal.promotes_canary => Action::Promote,
            None => Action::Publish,
        },
        workspaces: proposal.workspaces.into_iter().map(workspace).collect::<Option<_>>()?,
        approved_by: proposal.approved_by,
    })
}

fn trial(rule: &proto::CanaryRule) -> Option<Trial> {
    Some(Trial { share: Share::of_buckets(rule.share)?, by: Key::parse(&rule.by)? })
}

fn time(at: Option<prost_types::Timestamp>) -> Option<Timestamp> {
    let at = at.unwrap_or_default();
    Timestamp::new(at.seconds, at.nanos).ok()
}

fn hash(digits: &str) -> Option<Digest> {
    hex::bytes(digits).map(Digest)
}

/// That an answer is not what it should be.
pub(super) fn unreadable(what: &str) -> Failure {
    Failure::run(format!("the answer of the promptd is not {what}: is it a newer one?"))
}
