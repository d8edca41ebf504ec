//! From what etcd has to the contract's messages.

use promptd_contract::{encode::timestamp, proto};
use promptd_core::digest::Digest;
use promptd_etcd::{
    FileEntry,
    history::Past,
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
