//! `PromptService`: assembling prompts and judging replies.

use std::time::Instant;

use tonic::{Request, Response, Status};

use super::{
    answer::answer,
    api::prompt_service_server,
    ask::Ask,
    auth::Caller,
    backend::{self, Backend},
    error::Error,
};
use crate::{
    prompt::{self, Prompt},
    proto::{self, RenderFormat},
    request::Limits,
    workspace::Lock,
};

/// Answers from the backend.
pub(super) struct PromptService {
    pub(super) backend: Backend,
    pub(super) limits: Limits,
}

#[tonic::async_trait]
impl prompt_service_server::PromptService for PromptService {
    async fn assemble_prompt(
        &self,
        request: Request<proto::AssemblePromptRequest>,
    ) -> Result<Response<proto::AssemblePromptResponse>, Status> {
        let caller = super::caller(&request);
        Ok(Response::new(self.assemble(request.into_inner(), &caller)?))
    }

    async fn parse_reply(
        &self,
        _: Request<proto::ParseReplyRequest>,
    ) -> Result<Response<proto::ParseReplyResponse>, Status> {
        Err(Error::Unimplemented("ParseReply is not here yet".into()).into())
    }
}

impl PromptService {
    fn assemble(
        &self,
        raw: proto::AssemblePromptRequest,
        caller: &Caller,
    ) -> Result<proto::AssemblePromptResponse, Error> {
        let began = Instant::now();
        let ask = Ask::check(raw, caller, &self.limits, (self.backend.clock)())?;
        let loaded = match &ask.revision {
            Some(revision) => self.backend.pinned(&ask.workspace, revision)?,
            None => self.backend.newest(&ask.workspace)?,
        };
        let snapshot = &loaded.snapshot;
        if ask.profile.is_some() && snapshot.manifest.locked.contains(&Lock::Profile) {
            return Err(Error::Locked("profile".into()));
        }
        let own = &snapshot.manifest.profile;
        let profile = backend::profile(&snapshot.profiles, ask.profile.as_ref(), own, &snapshot.id)?;
        let prompt = prompt::assemble(snapshot, profile, &ask.turn)?;
        self.backend.observer.assembled(&prompt, began.elapsed());
        if ask.strict {
            nothing_lost(&prompt)?;
        }
        let rendered = render(&prompt, ask.shape.format)?;
        Ok(answer(&prompt, rendered, snapshot.revision.as_str(), profile.name.as_str(), &ask.shape))
    }
}

/// What `strict` asks for.
fn nothing_lost(prompt: &Prompt<'_>) -> Result<(), Error> {
    let lost = prompt.sections.iter().filter(|section| section.outcome.is_loss());
    let lost: Vec<_> = lost.map(|section| (section.id.to_string(), section.reason.to_string())).collect();
    if lost.is_empty() { Ok(()) } else { Err(Error::PromptLoss(lost)) }
}

fn render(_: &Prompt<'_>, format: RenderFormat) -> Result<Option<String>, Error> {
    match format {
        RenderFormat::Unspecified => Ok(None),
        other => Err(Error::Unimplemented(format!("{} is not here yet", other.as_str_name()))),
    }
}
