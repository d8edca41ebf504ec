//! From what etcd has to the contract's messages.

use promptd_contract::{encode::timestamp, proto};
use promptd_core::{digest::Digest, id::Id};
use promptd_etcd::{
    FileEntry,
    history::Past,
    proposal::{Action, Proposal, Proposed},
    publish::{Published, Trial},
};

pub(super) fn revision(Past { revision, manifest, trial }: Past) -> proto::PublishedRevision {
    let file = |(path, FileEntry { sha256, bytes })| proto::PublishedFile { path, sha256: sha256.to_hex(), bytes };
    proto::PublishedRevision {
        revision: revision.to_hex(),
        sequence: manifest.sequence,
        parent_revision: manifest.parent.map(Digest::to_hex).unwrap_or_default(),
        author: manifest.author,
        message: manifest.message,
        again_revision: manifest.again.map(Digest::to_hex).unwrap_or_default(),
        canary: trial.map(rule),
        published_at: Some(timestamp(manifest.time.into())),
        files: manifest.files.into_iter().map(file).collect(),
    }
}

/// A proposal that needs so many approvals.
pub(super) fn proposal(proposal: Proposal, needed: usize) -> proto::Proposal {
    let expires_at = proposal.expires_at();
    let workspace = |(id, one): (Id, Proposed)| proto::ProposalWorkspace {
        workspace_id: id.to_string(),
        base_revision: one.base.map(Digest::to_hex).unwrap_or_default(),
    };
    proto::Proposal {
        proposal_id: proposal.id.to_hex(),
        author: proposal.author,
        message: proposal.message,
        proposed_at: Some(timestamp(proposal.time.into())),
        expires_at: Some(timestamp(expires_at.into())),
        workspaces: proposal.workspaces.into_iter().map(workspace).collect(),
        canary: match proposal.action {
            Action::Canary(trial) => Some(rule(trial)),
            Action::Publish | Action::Promote => None,
        },
        promotes_canary: proposal.action == Action::Promote,
        approved_by: proposal.approved_by,
        approvals_needed: i32::try_from(needed).unwrap_or(i32::MAX),
    }
}

fn rule(Trial { share, by }: Trial) -> proto::CanaryRule {
    proto::CanaryRule { share: share.buckets(), by: by.name().to_owned() }
}

pub(super) fn published(Published { id, revision, sequence, is_new }: Published) -> proto::PublishedWorkspace {
    proto::PublishedWorkspace {
        workspace_id: id.to_string(),
        revision: revision.to_hex(),
        sequence,
        unchanged: !is_new,
    }
}
