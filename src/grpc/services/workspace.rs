//! `WorkspaceService`: shows workspaces, their skills and files, and reports their changes.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use tonic::{Request, Response, Status};

use super::{
    api::workspace_service_server,
    backend::{Backend, has_long_filter, workspace_summary},
    files::{hidden_reason, read_file, read_skill},
    page::Page,
    query::Query,
    revisions::{candidate_or_newest, list_revisions},
    watch::{Sent, Watch},
};
use crate::grpc::{
    Limits,
    pipeline::{Error, auth::Caller, run_blocking, run_heavy},
};
use promptd_contract::{
    decode::{Violations, skill_filter},
    encode::{self, SkillAccess},
    proto,
};
use promptd_core::{
    globs::SkillFilter,
    id::Id,
    workspace::{Skill, Snapshot},
};
use promptd_source::store::{Loaded, State};

/// The most skills of a workspace that is looked through on a worker thread; with their files so many.
const MAX_LISTED_IN_PLACE: usize = 500;
const MAX_LISTED_WITH_FILES: usize = 20;
/// The most files on one page of skills, except for those of its first skill.
const MAX_FILES_OF_A_PAGE: usize = 5_000;

pub(super) struct WorkspaceService {
    pub(super) backend: Backend,
    pub(super) limits: Arc<Limits>,
}

#[tonic::async_trait]
impl workspace_service_server::WorkspaceService for WorkspaceService {
    async fn list_workspaces(
        &self,
        request: Request<proto::ListWorkspacesRequest>,
    ) -> Result<Response<proto::ListWorkspacesResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let mut violations = Violations::default();
        let page = Page::check(request.page_size, &request.page_token, &mut violations);
        let query = Query::check(&request.query, &mut violations);
        violations.into_result(()).map_err(Error::from)?;
        let all = self.backend.store.list();
        let visible = all.iter().filter(|(id, state)| caller.sees(id) && !matches!(**state, State::Gone));
        let found = visible.filter(|(id, state)| query.finds(id, state));
        let (shown, next_page_token) = page.take(found.map(|(id, state)| (id.to_string(), (id, state))));
        let workspaces = shown.into_iter().map(|(id, state)| workspace_summary(id, state, &caller)).collect();
        Ok(Response::new(proto::ListWorkspacesResponse { workspaces, next_page_token }))
    }

    async fn get_workspace(
        &self,
        request: Request<proto::GetWorkspaceRequest>,
    ) -> Result<Response<proto::GetWorkspaceResponse>, Status> {
        let caller = Caller::of(&request);
        let id = caller.workspace(&request.get_ref().workspace_id)?;
        let loaded = self.newest(&id, &caller).await?;
        let access = SkillAccess { only_shown: request.get_ref().only_shown, ..caller.skill_access(None) };
        let mut workspace = encode::workspace(&id, &loaded.snapshot, loaded.at, access);
        if access.only_shown {
            let is_shown = |file: &proto::ContextFile| hidden_reason(&loaded.snapshot, &file.path, access).is_none();
            workspace.context_files.retain(is_shown);
        }
        let workspace = Some(workspace);
        Ok(Response::new(proto::GetWorkspaceResponse { workspace }))
    }

    type WatchWorkspaceStream = BoxStream<'static, Result<proto::WatchWorkspaceResponse, Status>>;

    async fn watch_workspace(
        &self,
        request: Request<proto::WatchWorkspaceRequest>,
    ) -> Result<Response<Self::WatchWorkspaceStream>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let id = caller.workspace(&request.workspace_id)?;
        let store = Arc::clone(&self.backend.store);
        // Followed first: then it stays loaded.
        let states = store.watch(id.as_str()).ok_or_else(|| self.backend.unknown(&id, &caller))?;
        let found = self.backend.find(&id, &caller).await;
        let known = self.backend.at(&found, &id, Some(&request.known_revision), &caller).ok();
        let watch = Watch { id, caller, store, states, sent: known.map_or(Sent::Nothing, Sent::Revision) };
        Ok(Response::new(Box::pin(watch.responses())))
    }

    async fn list_revisions(
        &self,
        request: Request<proto::ListRevisionsRequest>,
    ) -> Result<Response<proto::ListRevisionsResponse>, Status> {
        let caller = Caller::of(&request);
        let id = caller.workspace(&request.get_ref().workspace_id)?;
        let newest = self.newest(&id, &caller).await?;
        let revisions = self.backend.store.revisions(id.as_str()).ok_or_else(|| self.backend.unknown(&id, &caller))?;
        // It may have been unloaded since it was found.
        let revisions = if revisions.is_empty() { newest.live().cloned().collect() } else { revisions };
        let heavy = revisions.iter().any(|loaded| loaded.snapshot.skills.len() > MAX_LISTED_IN_PLACE);
        let list = move || list_revisions(&newest, &revisions, caller.skill_access(None));
        Ok(Response::new(if heavy { run_heavy(&self.limits, list).await? } else { list() }))
    }

    async fn list_skills(
        &self,
        request: Request<proto::ListSkillsRequest>,
    ) -> Result<Response<proto::ListSkillsResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let workspace = caller.workspace(&request.workspace_id)?;
        let loaded = self.newest(&workspace, &caller).await?;
        let files_of_all = request.include_files && request.name.is_empty();
        let most = if files_of_all { MAX_LISTED_WITH_FILES } else { MAX_LISTED_IN_PLACE };
        let heavy = loaded.snapshot.skills.len() > most || has_long_filter(request.skill_filter.as_ref());
        let list = move || list_skills(request, &caller, &loaded.snapshot);
        Ok(Response::new(if heavy { run_heavy(&self.limits, list).await?? } else { list()? }))
    }

    async fn read_skill(
        &self,
        request: Request<proto::ReadSkillRequest>,
    ) -> Result<Response<proto::ReadSkillResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let workspace = caller.workspace(&request.workspace_id)?;
        let newest = self.newest(&workspace, &caller).await?;
        let (loaded, side) = candidate_or_newest(newest, &request.revision);
        let heavy = has_long_filter(request.skill_filter.as_ref());
        let raw = request.skill_filter;
        let filter = move || check_filter(raw);
        let filter = if heavy { run_heavy(&self.limits, filter).await?? } else { filter()? };
        let read = Arc::clone(&self.backend.read_workspace_file);
        let reading = run_blocking(&self.limits, move || {
            let access = caller.skill_access(filter.as_ref());
            read_skill(&loaded.snapshot, side, &request.name, &request.file, access, &read)
        });
        Ok(Response::new(reading.await??))
    }

    async fn read_file(
        &self,
        request: Request<proto::ReadFileRequest>,
    ) -> Result<Response<proto::ReadFileResponse>, Status> {
        let caller = Caller::of(&request);
        let request = request.into_inner();
        let workspace = caller.workspace(&request.workspace_id)?;
        let loaded = self.newest(&workspace, &caller).await?;
        let read = Arc::clone(&self.backend.read_workspace_file);
        let reading = run_blocking(&self.limits, move || {
            read_file(&loaded.snapshot, &request.path, caller.skill_access(None), &read)
        });
        Ok(Response::new(reading.await??))
    }
}

impl WorkspaceService {
    async fn newest(&self, id: &Id, caller: &Caller) -> Result<Arc<Loaded>, Error> {
        let found = self.backend.find(id, caller).await;
        self.backend.newest(&found, id, caller)
    }
}

fn check_filter(raw: Option<proto::SkillFilter>) -> Result<Option<SkillFilter>, Error> {
    let mut violations = Violations::default();
    let filter = skill_filter(raw, "skill_filter", &mut violations);
    Ok(violations.into_result(filter)?)
}

fn list_skills(
    request: proto::ListSkillsRequest,
    caller: &Caller,
    snapshot: &Snapshot,
) -> Result<proto::ListSkillsResponse, Error> {
    let mut violations = Violations::default();
    let page = Page::check(request.page_size, &request.page_token, &mut violations);
    let filter = skill_filter(request.skill_filter, "skill_filter", &mut violations);
    violations.into_result(())?;
    let access = SkillAccess { only_shown: request.only_shown, ..caller.skill_access(filter.as_ref()) };
    let named = |skill: &Skill| request.name.is_empty() || *skill.name == *request.name;
    let mut files = 0;
    let (skills, next_page_token) = page.take_while(encode::skills(snapshot, access, named), |skill| {
        files += if request.include_files && access.shows(skill) { 1 + skill.files.len() } else { 0 };
        files <= MAX_FILES_OF_A_PAGE
    });
    let skills = skills.into_iter().map(|skill| encode::skill(skill, access, request.include_files)).collect();
    Ok(proto::ListSkillsResponse { skills, next_page_token })
}
