//! `PromptService`: assembles prompts and parses replies.

use std::sync::Arc;

use prost::Message as _;
use tonic::{Request, Response, Status};

use super::{
    api::prompt_service_server,
    backend::{self, Backend},
};
use crate::grpc::{
    Limits,
    pipeline::{Error, auth::Caller, deadline::now, run_blocking},
};
use promptd_contract::{
    decode::{AssembleRequest, Violations, assemble_request, optional_id},
    encode::{self, Encoded, SkillAccess},
    proto,
};
use promptd_core::{
    id::Id,
    profile,
    prompt::Prepared,
    prompt::{self, Prompt},
    render::{self, RenderFormat},
    reply::{ReplyContract, parse},
    tokens::Encoding,
    workspace::Lock,
};

/// The largest request, in bytes, whose tokens are counted on a worker thread. Counting a larger one takes so long that
/// other calls would wait, so it runs on a blocking thread; so does one that has to load an encoding first.
const MAX_COUNTED_IN_PLACE: usize = 8 << 10;

#[derive(Clone)]
pub(super) struct PromptService {
    pub(super) backend: Backend,
    pub(super) limits: Arc<Limits>,
}

#[tonic::async_trait]
impl prompt_service_server::PromptService for PromptService {
    async fn assemble_prompt(
        &self,
        request: Request<proto::AssemblePromptRequest>,
    ) -> Result<Response<Encoded>, Status> {
        let caller = Caller::of(&request);
        let raw = request.into_inner();
        let bytes = raw.encoded_len();
        let (limits, now) = (self.limits.request.load(), (self.backend.clock)());
        let mut request = assemble_request(raw, &limits, now, |id| caller.must_see(id))?;
        request.turn.skill_access = caller.skills().cloned();
        let loaded = match &request.revision {
            Some(revision) => self.backend.pinned(&request.workspace, revision)?,
            None => self.backend.newest(&request.workspace)?,
        };
        let profile = chosen(&loaded.snapshot, request.profile.as_ref())?;
        let budgets = profile.counts_tokens().then_some(Encoding::O200kBase);
        if !counts_long([request.encoding, budgets], bytes) {
            return Ok(Response::new(self.assemble(&request, &loaded.snapshot, profile)?));
        }
        let service = self.clone();
        let assembled = run_blocking(&self.limits, move || {
            let profile = chosen(&loaded.snapshot, request.profile.as_ref())?;
            service.assemble(&request, &loaded.snapshot, profile)
        });
        Ok(Response::new(assembled.await??))
    }

    async fn parse_reply(
        &self,
        request: Request<proto::ParseReplyRequest>,
    ) -> Result<Response<proto::ParseReplyResponse>, Status> {
        let caller = Caller::of(&request);
        let raw = request.into_inner();
        let contract = self.contract(&raw, &caller)?;
        Ok(Response::new(encode::parse_reply_response(parse(&raw.text, raw.heartbeat, contract))))
    }
}

impl PromptService {
    fn assemble(
        &self,
        request: &AssembleRequest,
        snapshot: &Prepared,
        profile: &profile::Profile,
    ) -> Result<Encoded, Error> {
        let started = now();
        let mut prompt = prompt::assemble(snapshot, profile, &request.turn)?;
        if let Some(token) = &request.turn.skill_access {
            let access = SkillAccess { token: Some(token), request: None };
            prompt.findings.retain(|finding| access.sees_finding(snapshot, finding));
        }
        self.backend.telemetry.prompt_assembled(&prompt, now() - started);
        if request.strict {
            nothing_lost(&prompt)?;
        }
        if let Some(encoding) = request.encoding {
            prompt::count_tokens(&mut prompt, snapshot, profile, encoding);
        }
        let rendered = format(request.format).map(|format| render::render(&prompt, format));
        let answer = encode::Answer {
            prompt: &prompt,
            revision: snapshot.revision.as_str(),
            profile: profile.name.as_str(),
            rendered: &rendered.unwrap_or_default(),
            shape: &request.shape,
        };
        Ok(answer.encode())
    }

    /// The reply contract of the request's profile.
    fn contract(&self, raw: &proto::ParseReplyRequest, caller: &Caller) -> Result<ReplyContract, Error> {
        let mut violations = Violations::default();
        let named = optional_id(&raw.profile, "profile", &mut violations);
        let workspace = optional_id(&raw.workspace_id, "workspace_id", &mut violations);
        violations.into_result(()).map_err(Error::Invalid)?;
        let Some(workspace) = workspace else {
            let profiles = (self.backend.profiles)();
            let name = named.unwrap_or_else(profile::default_id);
            return backend::named_profile(&profiles, &name).map(|profile| profile.reply);
        };
        caller.must_see(&workspace)?;
        let loaded = self.backend.newest(&workspace)?;
        Ok(chosen(&loaded.snapshot, named.as_ref())?.reply)
    }
}

/// The profile that a request names, unless the workspace locks it, else the workspace's own.
fn chosen<'s>(snapshot: &'s Prepared, named: Option<&Id>) -> Result<&'s profile::Profile, Error> {
    match named {
        Some(_) if snapshot.manifest.locked.contains(&Lock::Profile) => Err(Error::Locked("profile".into())),
        Some(name) => backend::named_profile(&snapshot.profiles, name),
        None => backend::own_profile(snapshot),
    }
}

/// Whether counting a request of so many bytes in these encodings may take so long that other calls would wait.
fn counts_long(encodings: [Option<Encoding>; 2], bytes: usize) -> bool {
    encodings.into_iter().flatten().any(|encoding| bytes > MAX_COUNTED_IN_PLACE || !encoding.is_loaded())
}

/// What `strict` requires.
fn nothing_lost(prompt: &Prompt<'_>) -> Result<(), Error> {
    let lost = prompt.sections.iter().filter(|section| section.outcome.is_loss());
    let lost: Vec<_> = lost.map(|section| (section.id.to_string(), section.reason.to_string())).collect();
    if lost.is_empty() { Ok(()) } else { Err(Error::PromptLoss(lost)) }
}

fn format(raw: proto::RenderFormat) -> Option<RenderFormat> {
    match raw {
        proto::RenderFormat::Unspecified => None,
        proto::RenderFormat::Text => Some(RenderFormat::Text),
        proto::RenderFormat::OpenaiChat => Some(RenderFormat::OpenaiChat),
        proto::RenderFormat::OpenaiResponses => Some(RenderFormat::OpenaiResponses),
        proto::RenderFormat::AnthropicMessages => Some(RenderFormat::AnthropicMessages),
        proto::RenderFormat::Gemini => Some(RenderFormat::Gemini),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_counts_and_the_first_one_run_on_a_blocking_thread() {
        assert!(!counts_long([None, None], 4 << 20), "nothing is counted");
        assert!(Encoding::O200kBase.count("loads it") > 0);
        for encodings in [[Some(Encoding::O200kBase), None], [None, Some(Encoding::O200kBase)]] {
            assert!(!counts_long(encodings, MAX_COUNTED_IN_PLACE));
            assert!(counts_long(encodings, MAX_COUNTED_IN_PLACE + 1));
        }
    }
}
