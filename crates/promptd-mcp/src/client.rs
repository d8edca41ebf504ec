//! promptd's RPCs for one request of a client, typed.

use std::sync::Arc;

use futures_util::StreamExt as _;
use http::request::Parts;
use promptd_contract::proto;
use prost::Message;

use crate::{Failure, Promptd, promptd::Messages};

macro_rules! method {
    ($name:literal) => {
        concat!("promptd.v1.", $name)
    };
}

/// The most workspaces that a message names.
const MAX_NAMED: usize = 10;

/// The calls of one request.
pub(crate) struct Client {
    promptd: Arc<dyn Promptd>,
    from: Option<Parts>,
    /// The workspace that the address, or the command line, names.
    named: Option<String>,
}

impl Client {
    pub(crate) fn new(promptd: Arc<dyn Promptd>, from: Option<Parts>, named: Option<String>) -> Self {
        Self { promptd, from, named }
    }

    /// The id of the workspace that the request is about: the one that is named, or the only one that the caller may see.
    pub(crate) async fn workspace(&self) -> Result<String, Failure> {
        if let Some(named) = &self.named {
            return Ok(named.clone());
        }
        let request = proto::ListWorkspacesRequest {
            page_size: i32::try_from(MAX_NAMED + 1).unwrap_or_default(),
            ..Default::default()
        };
        let answer: proto::ListWorkspacesResponse =
            self.call(method!("WorkspaceService/ListWorkspaces"), &request).await?;
        let mut ids = answer.workspaces.into_iter().map(|workspace| workspace.id).collect::<Vec<_>>();
        match ids.len() {
            0 => Err(Failure::invalid("there is no workspace that you may see")),
            1 => Ok(ids.remove(0)),
            count => {
                let more = if count > MAX_NAMED { " and more" } else { "" };
                ids.truncate(MAX_NAMED);
                let ids = ids.join(", ");
                Err(Failure::invalid(format!(
                    "there are several workspaces: connect to `/mcp/ID` of one, or give `--id ID` to `promptd mcp`; there are {ids}{more}"
                )))
            }
        }
    }

    pub(crate) async fn get_workspace(&self, id: &str) -> Result<proto::Workspace, Failure> {
        let request = proto::GetWorkspaceRequest { workspace_id: id.into(), only_shown: true };
        let answer: proto::GetWorkspaceResponse = self.call(method!("WorkspaceService/GetWorkspace"), &request).await?;
        Ok(answer.workspace.unwrap_or_default())
    }

    /// A page of the skills that are shown, with their files.
    pub(crate) async fn skills(&self, id: &str, cursor: Option<String>) -> Result<Page<proto::Skill>, Failure> {
        let answer = self.list_skills(id, "", cursor.unwrap_or_default()).await?;
        Ok(Page::new(answer.skills, answer.next_page_token))
    }

    /// A skill that is shown, with its files; the first, where two have the name.
    pub(crate) async fn skill(&self, id: &str, name: &str) -> Result<Option<proto::Skill>, Failure> {
        if name.is_empty() {
            return Ok(None);
        }
        Ok(self.list_skills(id, name, String::new()).await?.skills.into_iter().next())
    }

    /// `name` is empty: of every name.
    async fn list_skills(
        &self,
        id: &str,
        name: &str,
        page_token: String,
    ) -> Result<proto::ListSkillsResponse, Failure> {
        let request = proto::ListSkillsRequest {
            workspace_id: id.into(),
            include_files: true,
            only_shown: true,
            name: name.into(),
            page_token,
            ..Default::default()
        };
        self.call(method!("WorkspaceService/ListSkills"), &request).await
    }

    pub(crate) async fn read_skill(
        &self,
        id: &str,
        name: &str,
        file: &str,
    ) -> Result<proto::ReadSkillResponse, Failure> {
        let request = proto::ReadSkillRequest {
            workspace_id: id.into(),
            name: name.into(),
            file: file.into(),
            ..Default::default()
        };
        self.call(method!("WorkspaceService/ReadSkill"), &request).await
    }

    pub(crate) async fn read_file(&self, id: &str, path: &str) -> Result<proto::ReadFileResponse, Failure> {
        let request = proto::ReadFileRequest { workspace_id: id.into(), path: path.into() };
        self.call(method!("WorkspaceService/ReadFile"), &request).await
    }

    /// A page of the profiles, with their inputs.
    pub(crate) async fn profiles(&self, cursor: Option<String>) -> Result<Page<proto::Profile>, Failure> {
        let request = proto::ListProfilesRequest {
            page_token: cursor.unwrap_or_default(),
            include_inputs: true,
            ..Default::default()
        };
        let answer: proto::ListProfilesResponse = self.call(method!("ProfileService/ListProfiles"), &request).await?;
        Ok(Page::new(answer.profiles, answer.next_page_token))
    }

    pub(crate) async fn profile(&self, name: &str) -> Result<proto::Profile, Failure> {
        let request = proto::GetProfileRequest { name: name.into() };
        let answer: proto::GetProfileResponse = self.call(method!("ProfileService/GetProfile"), &request).await?;
        Ok(answer.profile.unwrap_or_default())
    }

    /// `request` is an encoded `AssemblePromptRequest`.
    pub(crate) async fn assemble(&self, request: Vec<u8>) -> Result<proto::AssemblePromptResponse, Failure> {
        let answer = self.promptd.call(method!("PromptService/AssemblePrompt"), request.into(), self.from.as_ref());
        decoded(&answer.await?)
    }

    /// What there is to say of the workspace's own prompt, for a turn that sets nothing; nothing where there is no such prompt.
    pub(crate) async fn losses(&self, id: &str) -> Result<Vec<proto::Finding>, Failure> {
        let request =
            proto::AssemblePromptRequest { workspace_id: id.into(), omit_sections: true, ..Default::default() };
        match self.assemble(request.encode_to_vec()).await {
            Ok(answer) => Ok(answer.findings),
            Err(failure) if matches!(failure.status.as_str(), "INVALID_ARGUMENT" | "FAILED_PRECONDITION") => {
                Ok(Vec::new())
            }
            Err(failure) => Err(failure),
        }
    }

    /// The revision of the workspace; empty: it has none, because it was never good or may not be seen.
    pub(crate) async fn revision(&self, id: &str) -> Result<String, Failure> {
        match self.get_workspace(id).await {
            Err(failure) if !failure.is_overload() => Ok(String::new()),
            workspace => Ok(workspace?.revision),
        }
    }

    /// The revision of the workspace that the request is about.
    pub(crate) async fn revision_now(&self) -> Result<String, Failure> {
        self.revision(&self.workspace().await?).await
    }

    /// A workspace's states after the one with this revision; empty: the state of now, and those after it.
    pub(crate) async fn watch(&self, id: &str, known_revision: &str) -> Result<Watch, Failure> {
        let request = proto::WatchWorkspaceRequest { workspace_id: id.into(), known_revision: known_revision.into() };
        let message = request.encode_to_vec().into();
        let messages = self.promptd.open(method!("WorkspaceService/WatchWorkspace"), message, self.from.as_ref());
        Ok(Watch(messages.await?))
    }

    async fn call<A: Message + Default>(&self, method: &'static str, request: &impl Message) -> Result<A, Failure> {
        decoded(&self.promptd.call(method, request.encode_to_vec().into(), self.from.as_ref()).await?)
    }
}

/// A part of a list, and where it goes on.
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    pub(crate) next: Option<String>,
}

impl<T> Page<T> {
    fn new(items: Vec<T>, token: String) -> Self {
        Self { items, next: Some(token).filter(|token| !token.is_empty()) }
    }
}

/// The states of a workspace, as they come.
pub(crate) struct Watch(Messages);

impl Watch {
    /// The next one; `None`: the stream has ended.
    pub(crate) async fn next(&mut self) -> Result<Option<proto::WatchWorkspaceResponse>, Failure> {
        self.0.next().await.map(|message| decoded(&message?)).transpose()
    }
}

fn decoded<A: Message + Default>(message: &[u8]) -> Result<A, Failure> {
    A::decode(message).map_err(|error| Failure::internal(format!("an answer cannot be read: {error}")))
}
