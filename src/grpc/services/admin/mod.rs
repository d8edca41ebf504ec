//! `AdminService`: publishes workspaces to etcd, and shows what was published.

mod audit;
mod by;
mod done;
mod encode;
mod proposals;
mod publisher;
mod requests;

pub use publisher::{CheckPublications, Publisher};

use std::{collections::BTreeMap, sync::Arc};

use promptd_core::{digest::Digest, id::Id};
use promptd_etcd::{
    FileEntry, MAX_FILE_BYTES, MAX_FILES,
    canary::End,
    history::{self, Past},
    upload,
};
use tonic::{Request, Response, Status};

use self::{
    audit::Audit,
    by::By,
    done::Done,
    publisher::{BOUNDS, Connection, failure},
    requests::{end_request, named, proposal_request, rollback_request},
};
use super::api::admin_service_server;
use crate::grpc::{
    Limits,
    pipeline::{Error, run_heavy},
};
use promptd_contract::{
    decode::{Violations, file_digests, is_some_of, publish_request, revision_name},
    proto,
};

/// How many revisions are listed where a request does not say, and at most.
const LISTED: (usize, usize) = (20, 1_000);
/// The most bytes of files in one answer.
const MAX_READ_BYTES: u64 = 3 << 20;

pub(super) struct AdminService {
    pub(super) publisher: Publisher,
    pub(super) limits: Arc<Limits>,
}

#[tonic::async_trait]
impl admin_service_server::AdminService for AdminService {
    async fn list_published(
        &self,
        request: Request<proto::ListPublishedRequest>,
    ) -> Result<Response<proto::ListPublishedResponse>, Status> {
        let id = By::of(&request, &self.publisher).workspace(&request.get_ref().workspace_id)?;
        let limit = match usize::try_from(request.get_ref().limit) {
            Ok(0) => LISTED.0,
            Ok(limit) if limit <= LISTED.1 => limit,
            _ => return Err(Error::invalid("limit", format!("must be 0 to {}", LISTED.1)).into()),
        };
        let Connection { client, prefix, .. } = &self.publisher.connect().await?;
        let past = history::list(client, prefix, &id, limit).await.map_err(|error| failure(&error))?;
        let revisions = past.into_iter().map(encode::revision).collect();
        Ok(Response::new(proto::ListPublishedResponse { revisions }))
    }

    async fn get_published(
        &self,
        request: Request<proto::GetPublishedRequest>,
    ) -> Result<Response<proto::GetPublishedResponse>, Status> {
        let by = By::of(&request, &self.publisher);
        let request = request.into_inner();
        let id = by.workspace(&request.workspace_id)?;
        let name = named(request.revision)?;
        let past = past(&self.publisher.connect().await?, &id, name.as_deref()).await?;
        Ok(Response::new(proto::GetPublishedResponse { revision: Some(encode::revision(past)) }))
    }

    async fn read_published_files(
        &self,
        request: Request<proto::ReadPublishedFilesRequest>,
    ) -> Result<Response<proto::ReadPublishedFilesResponse>, Status> {
        let by = By::of(&request, &self.publisher);
        let request = request.into_inner();
        let id = by.workspace(&request.workspace_id)?;
        let mut violations = Violations::default();
        let name = revision_name(request.revision, &mut violations);
        is_some_of("paths", request.paths.len(), MAX_FILES, &mut violations);
        violations.into_result(()).map_err(Error::from)?;
        let connection = self.publisher.connect().await?;
        let past = past(&connection, &id, name.as_deref()).await?;
        let files = files_of(&past, &request.paths)?;
        let Connection { client, prefix, .. } = &connection;
        let read = history::files(client, prefix, &files).await.map_err(|error| failure(&error))?;
        let contents = request.paths.iter().map(|path| read.get(path).cloned().unwrap_or_default()).collect();
        Ok(Response::new(proto::ReadPublishedFilesResponse { contents }))
    }

    async fn find_missing_files(
        &self,
        request: Request<proto::FindMissingFilesRequest>,
    ) -> Result<Response<proto::FindMissingFilesResponse>, Status> {
        let id = By::of(&request, &self.publisher).workspace(&request.get_ref().workspace_id)?;
        let mut violations = Violations::default();
        let asked = file_digests(&request.get_ref().sha256, MAX_FILES, &mut violations);
        let asked = violations.into_result(asked).map_err(Error::from)?;
        let Connection { client, prefix, .. } = &self.publisher.connect().await?;
        let missing = upload::missing(client, prefix, &id, asked.iter().copied()).await;
        let missing = missing.map_err(|error| failure(&error))?;
        let sha256 = asked.into_iter().filter(|sha256| missing.contains(sha256)).map(Digest::to_hex).collect();
        Ok(Response::new(proto::FindMissingFilesResponse { sha256 }))
    }

    async fn upload_files(
        &self,
        request: Request<proto::UploadFilesRequest>,
    ) -> Result<Response<proto::UploadFilesResponse>, Status> {
        let by = By::of(&request, &self.publisher);
        let proto::UploadFilesRequest { workspace_id, contents } = request.into_inner();
        let id = by.workspace(&workspace_id)?;
        let mut violations = Violations::default();
        is_some_of("contents", contents.len(), MAX_FILES, &mut violations);
        for (index, bytes) in contents.iter().enumerate().filter(|(_, bytes)| bytes.len() as u64 > MAX_FILE_BYTES) {
            let message = format!("has {} bytes; at most {MAX_FILE_BYTES} are allowed", bytes.len());
            violations.add(format!("contents[{index}]"), message);
        }
        violations.into_result(()).map_err(Error::from)?;
        let hash = move || contents.into_iter().map(|bytes| (Digest::of(&bytes), bytes)).collect::<Vec<_>>();
        let files = run_heavy(&self.limits, hash).await?;
        let sha256 = files.iter().map(|(sha256, _)| sha256.to_hex()).collect();
        let Connection { client, prefix, .. } = &self.publisher.connect().await?;
        let files: BTreeMap<_, _> = files.into_iter().collect();
        upload::upload(client, prefix, &id, files).await.map_err(|error| failure(&error))?;
        Ok(Response::new(proto::UploadFilesResponse { sha256 }))
    }

    async fn publish(
        &self,
        request: Request<proto::PublishRequest>,
    ) -> Result<Response<proto::PublishResponse>, Status> {
        let by = By::of(&request, &self.publisher);
        let request = request.into_inner();
        let ids = request.workspaces.iter().map(|workspace| workspace.workspace_id.as_str());
        let action = if request.canary.is_some() { "canary" } else { "publish" };
        let audit = Audit::begin(action, &by, ids, &request.message);
        let (audit, request) = audit.admit(publish_request(request, &BOUNDS, |id| by.must_publish(id)))?;
        let done = self.publisher.publish(request, by.author(), audit).await?;
        let (workspaces, proposal) = done.encode(self.publisher.approvals());
        Ok(Response::new(proto::PublishResponse { workspaces, proposal }))
    }

    async fn rollback(
        &self,
        request: Request<proto::RollbackRequest>,
    ) -> Result<Response<proto::RollbackResponse>, Status> {
        let by = By::of(&request, &self.publisher);
        let request = request.into_inner();
        let audit = Audit::begin("rollback", &by, [request.workspace_id.as_str()], &request.message);
        let (audit, (id, name, message)) = audit.admit(rollback_request(request, &by))?;
        let done = self.publisher.rollback(id, name, message, by.author(), audit).await?;
        let (mut workspaces, proposal) = done.encode(self.publisher.approvals());
        Ok(Response::new(proto::RollbackResponse { workspace: workspaces.pop(), proposal }))
    }

    async fn promote_canary(
        &self,
        request: Request<proto::PromoteCanaryRequest>,
    ) -> Result<Response<proto::PromoteCanaryResponse>, Status> {
        let by = By::of(&request, &self.publisher);
        let proto::PromoteCanaryRequest { workspace_id, message } = request.into_inner();
        let done = self.end_canary(End::Promote, &by, &workspace_id, message).await?;
        let (mut workspaces, proposal) = done.encode(self.publisher.approvals());
        Ok(Response::new(proto::PromoteCanaryResponse { workspace: workspaces.pop(), proposal }))
    }

    async fn abort_canary(
        &self,
        request: Request<proto::AbortCanaryRequest>,
    ) -> Result<Response<proto::AbortCanaryResponse>, Status> {
        let by = By::of(&request, &self.publisher);
        let proto::AbortCanaryRequest { workspace_id, message } = request.into_inner();
        let done = self.end_canary(End::Abort, &by, &workspace_id, message).await?;
        let (mut workspaces, _) = done.encode(self.publisher.approvals());
        Ok(Response::new(proto::AbortCanaryResponse { workspace: workspaces.pop() }))
    }

    async fn list_proposals(
        &self,
        request: Request<proto::ListProposalsRequest>,
    ) -> Result<Response<proto::ListProposalsResponse>, Status> {
        let by = By::of(&request, &self.publisher);
        let id = by.workspace(&request.get_ref().workspace_id)?;
        let needed = self.publisher.approvals();
        let open = self.publisher.proposals(&id, &by).await?;
        let proposals = open.into_iter().map(|proposal| encode::proposal(proposal, needed)).collect();
        Ok(Response::new(proto::ListProposalsResponse { proposals }))
    }

    async fn approve_proposal(
        &self,
        request: Request<proto::ApproveProposalRequest>,
    ) -> Result<Response<proto::ApproveProposalResponse>, Status> {
        let by = By::of(&request, &self.publisher);
        let proto::ApproveProposalRequest { workspace_id, proposal_id } = request.into_inner();
        let audit = Audit::begin("approve", &by, [workspace_id.as_str()], "").of_proposal(&proposal_id);
        let (audit, (id, name)) = audit.admit(proposal_request(&workspace_id, proposal_id, String::new(), &by))?;
        let done = self.publisher.approve(id, name, by, audit).await?;
        let (workspaces, proposal) = done.encode(self.publisher.approvals());
        Ok(Response::new(proto::ApproveProposalResponse { workspaces, proposal }))
    }

    async fn reject_proposal(
        &self,
        request: Request<proto::RejectProposalRequest>,
    ) -> Result<Response<proto::RejectProposalResponse>, Status> {
        let by = By::of(&request, &self.publisher);
        let proto::RejectProposalRequest { workspace_id, proposal_id, message } = request.into_inner();
        let audit = Audit::begin("reject", &by, [workspace_id.as_str()], &message).of_proposal(&proposal_id);
        let (audit, (id, name)) = audit.admit(proposal_request(&workspace_id, proposal_id, message, &by))?;
        self.publisher.reject(id, name, by, audit).await?;
        Ok(Response::new(proto::RejectProposalResponse {}))
    }
}

impl AdminService {
    async fn end_canary(&self, end: End, by: &By, workspace_id: &str, message: String) -> Result<Done, Error> {
        let action = match end {
            End::Promote => "promote",
            End::Abort => "abort",
        };
        let audit = Audit::begin(action, by, [workspace_id], &message);
        let (audit, (id, message)) = audit.admit(end_request(workspace_id, message, by))?;
        self.publisher.end_canary(end, id, message, by.author(), audit).await
    }
}

/// A revision by what it is named by; `None`: the newest.
async fn past(connection: &Connection, id: &Id, name: Option<&str>) -> Result<Past, Error> {
    let Connection { client, prefix, .. } = connection;
    let past = match name {
        Some(name) => history::find(client, prefix, id, name).await,
        None => history::newest(client, prefix, id).await,
    };
    past.map_err(|error| failure(&error))
}

/// The files of a revision at these paths, where they are not too much for an answer.
fn files_of(past: &Past, paths: &[String]) -> Result<BTreeMap<String, FileEntry>, Error> {
    let (mut files, mut bytes) = (BTreeMap::new(), 0);
    for path in paths {
        let missing = || Error::Missing { kind: "file", name: path.clone() };
        let file = past.manifest.files.get(path).copied().ok_or_else(missing)?;
        bytes += file.bytes;
        files.insert(path.clone(), file);
    }
    if bytes > MAX_READ_BYTES {
        let message = format!("the files have {bytes} bytes together; at most {MAX_READ_BYTES} are allowed");
        return Err(Error::invalid("paths", message));
    }
    Ok(files)
}
