//! `PromptService`: assembling prompts and judging replies.

use std::{sync::Arc, time::Instant};

use prost::Message as _;
use tonic::{Request, Response, Status};

use super::{
    api::prompt_service_server,
    ask::{Ask, optional_id},
    auth::Caller,
    backend::{self, Backend},
    encoded::Encoded,
    error::Error,
    live::Live,
    reply,
    skills::Sight,
};
use promptd_contract::{decode::Violations, encode, proto};
use promptd_core::{
    profile,
    prompt::Prepared,
    prompt::{self, Prompt},
    render::{self, RenderFormat},
    reply::{ReplyContract, parse},
    tokens::Encoding,
    workspace::Lock,
};

/// The largest request, in bytes, whose tokens are counted where the call runs. Counting a larger one takes long enough
/// for other calls to wait behind it, so it moves to a thread of its own; so does one that has to load an encoding first.
const MAX_COUNTED_IN_PLACE: usize = 8 << 10;

/// Answers from the backend.
#[derive(Clone)]
pub(super) struct PromptService {
    backend: Backend,
    live: Arc<Live>,
}

#[tonic::async_trait]
impl prompt_service_server::PromptService for PromptService {
    async fn assemble_prompt(
        &self,
        request: Request<proto::AssemblePromptRequest>,
    ) -> Result<Response<Encoded>, Status> {
        let caller = super::caller(&request);
        let raw = request.into_inner();
        let bytes = raw.encoded_len();
        let ask = Ask::check(raw, &caller, &self.live.request.load(), (self.backend.clock)())?;
        let loaded = match &ask.revision {
            Some(revision) => self.backend.pinned(&ask.workspace, revision)?,
            None => self.backend.newest(&ask.workspace)?,
        };
        let profile = chosen(&loaded.snapshot, ask.profile.as_ref())?;
        let budgets = profile.counts_tokens().then_some(Encoding::O200kBase);
        if !counts_long([ask.encoding, budgets], bytes) {
            return Ok(Response::new(self.assemble(&ask, &loaded.snapshot, profile)?));
        }
        let service = self.clone();
        let assembled = self.live.beside(move || {
            let profile = chosen(&loaded.snapshot, ask.profile.as_ref())?;
            service.assemble(&ask, &loaded.snapshot, profile)
        });
        Ok(Response::new(assembled.await??))
    }

    async fn parse_reply(
        &self,
        request: Request<proto::ParseReplyRequest>,
    ) -> Result<Response<proto::ParseReplyResponse>, Status> {
        let caller = super::caller(&request);
        let raw = request.into_inner();
        let contract = self.contract(&raw, &caller)?;
        Ok(Response::new(reply::answer(parse(&raw.text, raw.heartbeat, contract))))
    }
}

impl PromptService {
    pub(super) fn new(backend: Backend, live: Arc<Live>) -> Self {
        Self { backend, live }
    }

    fn assemble(&self, ask: &Ask, snapshot: &Prepared, profile: &profile::Profile) -> Result<Encoded, Error> {
        let began = Instant::now();
        let mut prompt = prompt::assemble(snapshot, profile, &ask.turn)?;
        if let Some(wall) = &ask.turn.skill_access {
            let sight = Sight { wall: Some(wall), filter: None };
            prompt.findings.retain(|finding| sight.sees_finding(snapshot, finding));
        }
        self.backend.observer.assembled(&prompt, began.elapsed());
        if ask.strict {
            nothing_lost(&prompt)?;
        }
        if let Some(encoding) = ask.encoding {
            prompt::count_tokens(&mut prompt, snapshot, profile, encoding);
        }
        let rendered = format(ask.format).map(|format| render::render(&prompt, format));
        let answer = encode::Answer {
            prompt: &prompt,
            revision: snapshot.revision.as_str(),
            profile: profile.name.as_str(),
            rendered: &rendered.unwrap_or_default(),
            shape: &ask.shape,
        };
        Ok(Encoded(answer.encode()))
    }

    /// How the replies of the request's profile are to be read.
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

/// The profile that a request names, unless the operator has locked it, else the workspace's own.
fn chosen<'s>(snapshot: &'s Prepared, named: Option<&promptd_core::id::Id>) -> Result<&'s profile::Profile, Error> {
    match named {
        Some(_) if snapshot.manifest.locked.contains(&Lock::Profile) => Err(Error::Locked("profile".into())),
        Some(name) => backend::named_profile(&snapshot.profiles, name),
        None => backend::own_profile(snapshot),
    }
}

/// Whether counting in these encodings may take so long, for a request of so many bytes, that other calls would wait.
fn counts_long(encodings: [Option<Encoding>; 2], bytes: usize) -> bool {
    encodings.into_iter().flatten().any(|encoding| bytes > MAX_COUNTED_IN_PLACE || !encoding.is_loaded())
}

/// What `strict` asks for.
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
    fn long_counts_and_the_first_one_do_not_hold_up_other_calls() {
        assert!(!counts_long([None, None], 4 << 20), "nothing is counted");
        assert!(Encoding::O200kBase.count("loads it") > 0);
        for encodings in [[Some(Encoding::O200kBase), None], [None, Some(Encoding::O200kBase)]] {
            assert!(!counts_long(encodings, MAX_COUNTED_IN_PLACE));
            assert!(counts_long(encodings, MAX_COUNTED_IN_PLACE + 1));
        }
    }
}
