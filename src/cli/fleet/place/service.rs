//! A promptd that publishes to the etcd it reads from: only it holds the credentials.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use promptd::grpc::{Remote, RemoteAddress, RemoteError};
use promptd_contract::proto;
use promptd_core::{digest::Digest, id::Id};
use promptd_etcd::{
    FileEntry,
    canary::End,
    history::Past,
    publish::{Note, Publication, Trial},
};

use super::{
    Address, Files, NotPublished, Outcome, Waiting,
    answers::{outcome, past, unreadable, waiting},
};
use crate::cli::Failure;

/// About how many bytes of files are sent or asked for at once: less than the least limit on messages that makes sense.
const BATCH_BYTES: u64 = 2 << 20;
/// How many files are named at once, at most.
const BATCH_FILES: usize = 4_000;
/// The most revisions that are listed at once.
const MAX_LISTED: usize = 1_000;

/// A connection to a promptd.
pub(in crate::cli::fleet) struct Service(Remote);

impl Service {
    pub(super) async fn connect(address: &Address, url: &str) -> Result<Self, Failure> {
        let read = |path: &Path| {
            std::fs::read(path).map_err(|error| Failure::run(format!("cannot read {}: {error}", path.display())))
        };
        let ca = address.ca.as_deref().map(read).transpose()?;
        let identity =
            address.cert.as_deref().map(read).transpose()?.zip(address.key.as_deref().map(read).transpose()?);
        let token = address.token_file.as_deref().map(|path| {
            let text = String::from_utf8(read(path)?);
            let text = text.map_err(|_| Failure::run(format!("{} is not UTF-8", path.display())))?;
            Ok::<_, Failure>(text.lines().next().unwrap_or_default().trim().to_owned())
        });
        let remote = RemoteAddress { url: url.to_owned(), ca, identity, token: token.transpose()? };
        Remote::connect(&remote).await.map(Self).map_err(|e| failure(&e))
    }

    pub(super) async fn newest(&self, id: &Id) -> Result<Option<Past>, Failure> {
        self.find(id, "").await
    }

    pub(super) async fn find(&self, id: &Id, name: &str) -> Result<Option<Past>, Failure> {
        let request = proto::GetPublishedRequest { workspace_id: id.to_string(), revision: name.to_owned() };
        match self.0.get_published(request).await {
            Ok(answer) => answer.revision.map(past).transpose(),
            Err(error) if error.reason == "PUBLISHED_REVISION_NOT_FOUND" => Ok(None),
            Err(error) => Err(failure(&error)),
        }
    }

    pub(super) async fn list(&self, id: &Id, count: usize) -> Result<Vec<Past>, Failure> {
        let limit = i32::try_from(count.clamp(1, MAX_LISTED)).unwrap_or_default();
        let request = proto::ListPublishedRequest { workspace_id: id.to_string(), limit };
        let answer = self.0.list_published(request).await.map_err(|e| failure(&e))?;
        answer.revisions.into_iter().map(past).collect()
    }

    pub(super) async fn files(&self, id: &Id, of: &Past) -> Result<Files, Failure> {
        let mut files = Files::new();
        let wanted = of.manifest.files.iter().map(|(path, file)| (path.clone(), file.bytes)).collect();
        for paths in batches(wanted) {
            let request = proto::ReadPublishedFilesRequest {
                workspace_id: id.to_string(),
                revision: of.revision.to_hex(),
                paths: paths.clone(),
            };
            let answer = self.0.read_published_files(request).await.map_err(|e| failure(&e))?;
            files.extend(paths.into_iter().zip(answer.contents));
        }
        let is_whole =
            |(path, file): (&String, &FileEntry)| files.get(path).is_some_and(|bytes| Digest::of(bytes) == file.sha256);
        if of.manifest.files.iter().all(is_whole) { Ok(files) } else { Err(unreadable("files that were published")) }
    }

    pub(super) async fn publish(
        &self,
        all: &[Publication],
        note: &Note,
        trial: Option<Trial>,
    ) -> Result<Outcome, NotPublished> {
        let mut workspaces = Vec::new();
        for one in all {
            workspaces.push(self.upload(one).await?);
        }
        let canary =
            trial.map(|Trial { share, by }| proto::CanaryRule { share: share.buckets(), by: by.name().into() });
        let request = proto::PublishRequest { workspaces, message: note.message.clone(), canary };
        let answer = self.0.publish(request).await?;
        Ok(outcome(answer.workspaces, answer.proposal)?)
    }

    /// Uploads the files of a workspace that are not there yet.
    async fn upload(
        &self,
        Publication { id, files, base }: &Publication,
    ) -> Result<proto::WorkspaceToPublish, NotPublished> {
        let by_hash: BTreeMap<Digest, &Vec<u8>> = files.values().map(|bytes| (Digest::of(bytes), bytes)).collect();
        let hashes: Vec<String> = by_hash.keys().map(|sha256| sha256.to_hex()).collect();
        let mut missing = BTreeSet::new();
        for sha256 in hashes.chunks(BATCH_FILES) {
            let request = proto::FindMissingFilesRequest { workspace_id: id.to_string(), sha256: sha256.to_vec() };
            missing.extend(self.0.find_missing_files(request).await?.sha256);
        }
        let wanted = by_hash.iter().filter(|(sha256, _)| missing.contains(&sha256.to_hex()));
        let wanted = wanted.map(|(sha256, bytes)| (*sha256, bytes.len() as u64)).collect();
        for batch in batches(wanted) {
            let contents = batch.iter().map(|sha256| by_hash[sha256].clone()).collect();
            self.0.upload_files(proto::UploadFilesRequest { workspace_id: id.to_string(), contents }).await?;
        }
        let file = |(path, bytes): (&String, &Vec<u8>)| proto::PublishedFile {
            path: path.clone(),
            sha256: Digest::of(bytes).to_hex(),
            bytes: bytes.len() as u64,
        };
        Ok(proto::WorkspaceToPublish {
            workspace_id: id.to_string(),
            files: files.iter().map(file).collect(),
            base_revision: base.map(Digest::to_hex).unwrap_or_default(),
        })
    }

    pub(super) async fn rollback(&self, id: &Id, name: &str, message: Option<&str>) -> Result<Outcome, Failure> {
        let message = message.unwrap_or_default().to_owned();
        let request = proto::RollbackRequest { workspace_id: id.to_string(), revision: name.to_owned(), message };
        let answer = self.0.rollback(request).await.map_err(|e| failure(&e))?;
        outcome(answer.workspace, answer.proposal)
    }

    pub(super) async fn end_canary(&self, end: End, id: &Id, message: Option<&str>) -> Result<Outcome, Failure> {
        let (workspace_id, message) = (id.to_string(), message.unwrap_or_default().to_owned());
        let ended = match end {
            End::Promote => {
                let request = proto::PromoteCanaryRequest { workspace_id, message };
                self.0.promote_canary(request).await.map(|answer| (answer.workspace, answer.proposal))
            }
            End::Abort => {
                let request = proto::AbortCanaryRequest { workspace_id, message };
                self.0.abort_canary(request).await.map(|answer| (answer.workspace, None))
            }
        };
        let (workspace, proposal) = ended.map_err(|e| failure(&e))?;
        outcome(workspace, proposal)
    }

    /// The open proposals of a workspace, the newest first.
    pub(in crate::cli::fleet) async fn proposals(&self, id: &Id) -> Result<Vec<Waiting>, Failure> {
        let request = proto::ListProposalsRequest { workspace_id: id.to_string() };
        let answer = self.0.list_proposals(request).await.map_err(|e| failure(&e))?;
        answer.proposals.into_iter().map(waiting).collect()
    }

    /// Approves a proposal, which may publish it.
    pub(in crate::cli::fleet) async fn approve(&self, id: &Id, proposal: &str) -> Result<Outcome, Failure> {
        let request = proto::ApproveProposalRequest { workspace_id: id.to_string(), proposal_id: proposal.to_owned() };
        let answer = self.0.approve_proposal(request).await.map_err(|e| failure(&e))?;
        outcome(answer.workspaces, answer.proposal)
    }

    /// Rejects a proposal.
    pub(in crate::cli::fleet) async fn reject(&self, id: &Id, proposal: &str, message: &str) -> Result<(), Failure> {
        let request = proto::RejectProposalRequest {
            workspace_id: id.to_string(),
            proposal_id: proposal.to_owned(),
            message: message.to_owned(),
        };
        self.0.reject_proposal(request).await.map(|_| ()).map_err(|e| failure(&e))
    }
}

/// What has so many bytes, in groups that a message takes.
fn batches<T>(wanted: Vec<(T, u64)>) -> Vec<Vec<T>> {
    let mut batches: Vec<Vec<T>> = Vec::new();
    let mut room = 0;
    for (one, size) in wanted {
        match batches.last_mut().filter(|batch| batch.len() < BATCH_FILES && size <= room) {
            Some(batch) => {
                room -= size;
                batch.push(one);
            }
            None => {
                room = BATCH_BYTES.saturating_sub(size);
                batches.push(vec![one]);
            }
        }
    }
    batches
}

/// What a promptd says, as the end of a command.
fn failure(error: &RemoteError) -> Failure {
    if error.is_input { Failure::input(format!("error: {error}")) } else { Failure::run(error) }
}

impl From<RemoteError> for NotPublished {
    fn from(error: RemoteError) -> Self {
        Self { is_conflict: error.reason == "PUBLISHED_SINCE", failure: failure(&error) }
    }
}

impl From<Failure> for NotPublished {
    fn from(failure: Failure) -> Self {
        Self { failure, is_conflict: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_together_fits_into_a_message() {
        let sizes = |sizes: &[u64]| {
            let batches = batches(sizes.iter().map(|size| (*size, *size)).collect());
            batches.iter().map(Vec::len).collect::<Vec<_>>()
        };
        let mib = 1 << 20;
        assert_eq!(sizes(&[]), [0; 0]);
        assert_eq!(sizes(&[mib, mib, mib, 1]), [2, 2]);
        assert_eq!(sizes(&[3 * mib, 1, 1]), [1, 2]);
        assert_eq!(sizes(&vec![0; BATCH_FILES + 1]), [BATCH_FILES, 1]);
    }
}
