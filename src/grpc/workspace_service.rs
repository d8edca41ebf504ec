//! `WorkspaceService`: what there is, for operators and for callers that want to know when it changes.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::{
    api::workspace_service_server,
    backend::{Backend, missing},
    error::Error,
    live::Live,
    page::Page,
    skills::{self, Sight},
    stream::Steps,
    view,
    watch::Watch,
};
use promptd_contract::{
    decode::{Violations, skill_filter},
    proto,
};
use promptd_source::store::State;

/// Answers from the backend.
pub(super) struct WorkspaceService {
    pub(super) backend: Backend,
    pub(super) live: Arc<Live>,
}

#[tonic::async_trait]
impl workspace_service_server::WorkspaceService for WorkspaceService {
    async fn list_workspaces(
        &self,
        request: Request<proto::ListWorkspacesRequest>,
    ) -> Result<Response<proto::ListWorkspacesResponse>, Status> {
        let caller = super::caller(&request);
        let page = Page::of(request.get_ref().page_size, &request.get_ref().page_token)?;
        let all = self.backend.store.list();
        let seen = all.iter().filter(|(id, state)| caller.sees(id) && !matches!(**state, State::Gone));
        let (shown, next_page_token) = page.take(seen.map(|(id, state)| (id.to_string(), (id, state))));
        let workspaces = shown.into_iter().map(|(id, state)| view::summary(id, state, &caller)).collect();
        Ok(Response::new(proto::ListWorkspacesResponse { workspaces, next_page_token }))
    }

    async fn get_workspace(
        &self,
        request: Request<proto::GetWorkspaceRequest>,
    ) -> Result<Response<proto::GetWorkspaceResponse>, Status> {
        let caller = super::caller(&request);
        let id = super::workspace(&request.get_ref().workspace_id, &caller)?;
        let loaded = self.backend.newest(&id)?;
        let workspace = Some(view::whole(&id, &State::Ready(loaded), &caller));
        Ok(Response::new(proto::GetWorkspaceResponse { workspace }))
    }

    type WatchWorkspaceStream = Steps<Watch, proto::WatchWorkspaceResponse>;

    async fn watch_workspace(
        &self,
        request: Request<proto::WatchWorkspaceRequest>,
    ) -> Result<Response<Self::WatchWorkspaceStream>, Status> {
        let caller = super::caller(&request);
        let request = request.into_inner();
        let id = super::workspace(&request.workspace_id, &caller)?;
        let states = self.backend.store.watch(id.as_str()).ok_or_else(|| missing(&id))?;
        let known = self.backend.store.at(id.as_str(), &request.known_revision);
        let watch = Watch::new(id, caller, states, &request.known_revision, known);
        Ok(Response::new(Steps::new(watch, |watch| Box::pin(watch.next()))))
    }

    async fn list_skills(
        &self,
        request: Request<proto::ListSkillsRequest>,
    ) -> Result<Response<proto::ListSkillsResponse>, Status> {
        let caller = super::caller(&request);
        let request = request.into_inner();
        let workspace = super::workspace(&request.workspace_id, &caller)?;
        let mut violations = Violations::default();
        let page = Page::check(request.page_size, &request.page_token, &mut violations);
        let filter = skill_filter(request.skill_filter, "skill_filter", &mut violations);
        violations.into_result(()).map_err(Error::Invalid)?;
        let loaded = self.backend.newest(&workspace)?;
        let sight = Sight { wall: caller.skill_wall(), filter: filter.as_ref() };
        let (skills, next_page_token) = page.take(skills::list(&loaded.snapshot, &sight));
        Ok(Response::new(proto::ListSkillsResponse { skills, next_page_token }))
    }

    async fn read_skill(
        &self,
        request: Request<proto::ReadSkillRequest>,
    ) -> Result<Response<proto::ReadSkillResponse>, Status> {
        let caller = super::caller(&request);
        let request = request.into_inner();
        let workspace = super::workspace(&request.workspace_id, &caller)?;
        let mut violations = Violations::default();
        let filter = skill_filter(request.skill_filter, "skill_filter", &mut violations);
        violations.into_result(()).map_err(Error::Invalid)?;
        let loaded = self.backend.newest(&workspace)?;
        let read = Arc::clone(&self.backend.read_skill_file);
        let reading = self.live.beside(move || {
            let sight = Sight { wall: caller.skill_wall(), filter: filter.as_ref() };
            skills::read(&loaded.snapshot, &request.name, &request.file, &sight, &*read)
        });
        Ok(Response::new(reading.await??))
    }
}
