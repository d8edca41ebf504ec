//! The methods of prompts, workspaces and profiles, but `AssemblePrompt` and `WatchWorkspace`.

use crate::{Error, Promptd, proto};

macro_rules! method {
    ($service:literal, $method:literal) => {
        concat!("/promptd.v1.", $service, "/", $method)
    };
}
pub(crate) use method;

impl Promptd {
    /// What an edit does to a prompt.
    pub async fn diff(&self, request: proto::DiffPromptRequest) -> Result<proto::DiffPromptResponse, Error> {
        self.unary(method!("PromptService", "DiffPrompt"), &request).await
    }

    /// What a model's reply has in it besides text: whether all is well, actions, mistakes.
    pub async fn parse_reply(&self, request: proto::ParseReplyRequest) -> Result<proto::ParseReplyResponse, Error> {
        self.unary(method!("PromptService", "ParseReply"), &request).await
    }

    /// Which parts of a conversation are to be summarised.
    pub async fn plan_history(&self, request: proto::PlanHistoryRequest) -> Result<proto::PlanHistoryResponse, Error> {
        self.unary(method!("PromptService", "PlanHistory"), &request).await
    }

    /// The workspaces whose id or agent's name has `query` in it; all with an empty one.
    pub async fn list_workspaces(&self, query: &str) -> Result<Vec<proto::Workspace>, Error> {
        let mut request = proto::ListWorkspacesRequest { query: query.into(), ..Default::default() };
        let mut all = Vec::new();
        loop {
            let page: proto::ListWorkspacesResponse =
                self.unary(method!("WorkspaceService", "ListWorkspaces"), &request).await?;
            all.extend(page.workspaces);
            if page.next_page_token.is_empty() {
                return Ok(all);
            }
            request.page_token = page.next_page_token;
        }
    }

    /// A workspace, with its context files and findings.
    pub async fn get_workspace(&self, workspace: &str) -> Result<proto::Workspace, Error> {
        let request = proto::GetWorkspaceRequest { workspace_id: workspace.into(), ..Default::default() };
        let answer: proto::GetWorkspaceResponse =
            self.unary(method!("WorkspaceService", "GetWorkspace"), &request).await?;
        Ok(answer.workspace.unwrap_or_default())
    }

    /// The revisions that are held, newest first.
    pub async fn list_revisions(&self, workspace: &str) -> Result<Vec<proto::Revision>, Error> {
        let request = proto::ListRevisionsRequest { workspace_id: workspace.into() };
        let answer: proto::ListRevisionsResponse =
            self.unary(method!("WorkspaceService", "ListRevisions"), &request).await?;
        Ok(answer.revisions)
    }

    /// The skills of a workspace, shown or not.
    pub async fn list_skills(
        &self,
        workspace: &str,
        skill_filter: Option<proto::SkillFilter>,
    ) -> Result<Vec<proto::Skill>, Error> {
        self.skills(proto::ListSkillsRequest { workspace_id: workspace.into(), skill_filter, ..Default::default() })
            .await
    }

    /// The skills of a workspace, those that are shown with their files and front matter.
    pub async fn list_skills_with_files(&self, workspace: &str) -> Result<Vec<proto::Skill>, Error> {
        let workspace_id = workspace.into();
        self.skills(proto::ListSkillsRequest { workspace_id, include_files: true, ..Default::default() }).await
    }

    async fn skills(&self, mut request: proto::ListSkillsRequest) -> Result<Vec<proto::Skill>, Error> {
        let mut all = Vec::new();
        loop {
            let page: proto::ListSkillsResponse =
                self.unary(method!("WorkspaceService", "ListSkills"), &request).await?;
            all.extend(page.skills);
            if page.next_page_token.is_empty() {
                return Ok(all);
            }
            request.page_token = page.next_page_token;
        }
    }

    /// A file of a skill; its SKILL.md where `file` is empty.
    pub async fn read_skill(&self, request: proto::ReadSkillRequest) -> Result<proto::ReadSkillResponse, Error> {
        self.unary(method!("WorkspaceService", "ReadSkill"), &request).await
    }

    /// `workspace.yaml` or a document of a workspace, as it is on the disk.
    pub async fn read_file(&self, workspace: &str, path: &str) -> Result<proto::ReadFileResponse, Error> {
        let request = proto::ReadFileRequest { workspace_id: workspace.into(), path: path.into() };
        self.unary(method!("WorkspaceService", "ReadFile"), &request).await
    }

    /// The profiles.
    pub async fn list_profiles(&self) -> Result<Vec<proto::Profile>, Error> {
        let mut request = proto::ListProfilesRequest::default();
        let mut all = Vec::new();
        loop {
            let page: proto::ListProfilesResponse =
                self.unary(method!("ProfileService", "ListProfiles"), &request).await?;
            all.extend(page.profiles);
            if page.next_page_token.is_empty() {
                return Ok(all);
            }
            request.page_token = page.next_page_token;
        }
    }

    /// A profile.
    pub async fn get_profile(&self, name: &str) -> Result<proto::Profile, Error> {
        let request = proto::GetProfileRequest { name: name.into() };
        let answer: proto::GetProfileResponse = self.unary(method!("ProfileService", "GetProfile"), &request).await?;
        Ok(answer.profile.unwrap_or_default())
    }

    pub(crate) async fn unary<Q, A>(&self, path: &'static str, request: &Q) -> Result<A, Error>
    where
        Q: prost::Message + Clone + 'static,
        A: prost::Message + Default + 'static,
    {
        self.call(path, request, self.0.timeout).await.map(|(answer, _)| answer)
    }
}
