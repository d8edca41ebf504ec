//! `PromptService`: assembles prompts, parses replies and plans histories.

use std::sync::Arc;

use jiff::Timestamp;
use prost::Message as _;
use serde_json::{Map, Value};
use tonic::{Request, Response, Status};

use super::{
    api::prompt_service_server,
    backend::{self, Backend, FinishRecord, Found, has_long_filter},
};
use crate::grpc::{
    Limits, TracedPrompt,
    deadline::now,
    pipeline::{Error, TakesLong, auth::Caller, run_heavy},
};
use promptd_contract::{
    decode::{AssembleRequest, Violations, assemble_request, inputs, optional_id, plan_request},
    encode::{self, Encoded},
    proto,
};
use promptd_core::{
    canary::Side,
    finding::Finding,
    history::plan,
    id::Id,
    profile::{self, ReplyContract},
    prompt::Prepared,
    prompt::{self, Prompt},
    render::{self, RenderFormat, Rendered},
    reply::parse_with,
    tokens::Encoding,
    turn::Turn,
    workspace::Lock,
};
use promptd_source::store::Loaded;

/// The largest request, in bytes, of which tokens are counted on a worker thread. A larger one takes more than about 200 µs, and
/// other calls would wait behind it; so does loading an encoding first.
const MAX_COUNTED_IN_PLACE: usize = 8 << 10;
/// The same for a reply.
const MAX_REPLY_IN_PLACE: usize = 16 << 10;
/// The same for a history.
const MAX_HISTORY_IN_PLACE: usize = 4 << 10;

#[derive(Clone)]
pub(super) struct PromptService {
    pub(super) backend: Backend,
    pub(super) limits: Arc<Limits>,
}

/// What was recalled for a turn.
#[derive(Default)]
pub(super) struct Recalled {
    /// The positions of the messages.
    pub(super) positions: Vec<u64>,
    /// Why there is none.
    pub(super) finding: Option<Finding>,
}

/// A call of which everything is checked but whether its workspace is there.
pub(super) struct Decoded {
    pub(super) request: AssembleRequest,
    /// What is recorded of it.
    pub(super) record: Option<FinishRecord>,
    /// Where the session of its turn was read; `None`: it names none.
    pub(super) session_position: Option<u64>,
    /// What was recalled for the turn.
    pub(super) recalled: Recalled,
    caller: Caller,
}

/// A call that can be answered.
pub(super) struct Checked {
    pub(super) decoded: Decoded,
    /// The workspace at its revision.
    pub(super) loaded: Arc<Loaded>,
    /// Which side of a canary that is.
    side: Option<Side>,
}

#[tonic::async_trait]
impl prompt_service_server::PromptService for PromptService {
    async fn assemble_prompt(
        &self,
        request: Request<proto::AssemblePromptRequest>,
    ) -> Result<Response<Encoded>, Status> {
        let caller = Caller::of(&request);
        let takes_long = request.extensions().get::<TakesLong>().is_some();
        let raw = request.into_inner();
        let (bytes, now) = (raw.encoded_len(), (self.backend.clock)());
        let names_session = raw.turn.as_ref().is_some_and(|turn| !turn.session_id.is_empty());
        let is_long = takes_long || has_long_filter(raw.turn.as_ref().and_then(|turn| turn.skill_filter.as_ref()));
        if names_session {
            #[cfg(feature = "memory")]
            return self.assemble_session(raw, caller, now, is_long).await;
            #[cfg(not(feature = "memory"))]
            return Err(Error::invalid("turn.session_id", super::NOT_STORED).into());
        }
        if is_long {
            let found = self.backend.find_named(&raw.workspace_id, &caller).await;
            let service = self.clone();
            let assembled = run_heavy(&self.limits, move || {
                let decoded = service.decode(raw, &caller, now)?;
                service.assemble(service.look_up(decoded, &found, &caller)?)
            });
            return Ok(assembled.await??);
        }
        let decoded = self.decode(raw, &caller, now)?;
        let found = self.backend.find(&decoded.request.workspace, &caller).await;
        let checked = self.look_up(decoded, &found, &caller)?;
        self.assemble_checked(checked, bytes, false).await
    }

    async fn diff_prompt(
        &self,
        request: Request<proto::DiffPromptRequest>,
    ) -> Result<Response<proto::DiffPromptResponse>, Status> {
        let caller = Caller::of(&request);
        let raw = request.into_inner();
        let now = (self.backend.clock)();
        let found = self.backend.find_named(&raw.workspace_id, &caller).await;
        let service = self.clone();
        // Two prompts and comparing them: too long for a worker, whatever their size.
        let compared = run_heavy(&self.limits, move || service.diff(raw, &found, &caller, now));
        Ok(Response::new(compared.await??))
    }

    async fn parse_reply(
        &self,
        request: Request<proto::ParseReplyRequest>,
    ) -> Result<Response<proto::ParseReplyResponse>, Status> {
        let caller = Caller::of(&request);
        let mut raw = request.into_inner();
        let bytes = raw.encoded_len();
        let (contract, inputs) = self.contract(&mut raw, &caller).await?;
        let answer =
            move || encode::parse_reply_response(parse_with(&raw.text, raw.heartbeat, &contract, inputs.as_ref()));
        if bytes > MAX_REPLY_IN_PLACE {
            return Ok(Response::new(run_heavy(&self.limits, answer).await?));
        }
        Ok(Response::new(answer()))
    }

    async fn plan_history(
        &self,
        request: Request<proto::PlanHistoryRequest>,
    ) -> Result<Response<proto::PlanHistoryResponse>, Status> {
        let caller = Caller::of(&request);
        let raw = request.into_inner();
        let found = self.backend.find_named(&raw.workspace_id, &caller).await;
        if raw.encoded_len() > MAX_HISTORY_IN_PLACE {
            let service = self.clone();
            let planned = run_heavy(&self.limits, move || service.plan(raw, &found, &caller));
            return Ok(Response::new(planned.await??));
        }
        Ok(Response::new(self.plan(raw, &found, &caller)?))
    }
}

impl PromptService {
    /// Assembles a prompt of a request of so many bytes, on another thread where that takes long.
    pub(super) async fn assemble_checked(
        &self,
        checked: Checked,
        bytes: usize,
        is_long: bool,
    ) -> Result<Response<Encoded>, Status> {
        let Checked { decoded: Decoded { request, .. }, loaded, .. } = &checked;
        let budgets = chosen(&loaded.snapshot, request.profile.as_ref())?.counts_tokens();
        let counts = counts_long([request.encoding, budgets.then_some(Encoding::DEFAULT)], bytes);
        // A prompt that exceeds its budget is assembled and counted several times.
        let has_budget = request.turn.budget.is_some() || loaded.snapshot.manifest.budget.limit.is_some();
        // Spans render every section again.
        if !is_long && !counts && !has_budget && !request.spans {
            return Ok(self.assemble(checked)?);
        }
        let service = self.clone();
        let assembled = run_heavy(&self.limits, move || service.assemble(checked));
        Ok(assembled.await??)
    }

    pub(super) fn decode(
        &self,
        mut raw: proto::AssemblePromptRequest,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<Decoded, Error> {
        let names_session = raw.turn.as_ref().is_some_and(|turn| !turn.session_id.is_empty());
        // What is recorded has the conversation, once it is read.
        let record = self.backend.record.as_ref().filter(|_| !names_session);
        let record = record.and_then(|record| record(&mut raw, now));
        let limits = self.limits.request.load();
        let mut request = assemble_request(raw, &limits, now, |id| caller.must_see(id))?;
        request.turn.skill_access = caller.skills().cloned();
        Ok(Decoded { request, record, session_position: None, recalled: Recalled::default(), caller: caller.clone() })
    }

    pub(super) fn look_up(&self, decoded: Decoded, found: &Found, caller: &Caller) -> Result<Checked, Error> {
        let (loaded, side) = self.backend.of_turn(found, &decoded.request, caller)?;
        Ok(Checked { decoded, loaded, side })
    }

    fn assemble(&self, checked: Checked) -> Result<Response<Encoded>, Error> {
        let Checked { decoded, loaded, side } = checked;
        let Decoded { request, record, session_position, recalled, caller } = decoded;
        let snapshot = &loaded.snapshot;
        let profile = chosen(snapshot, request.profile.as_ref())?;
        let started = now();
        let mut prompt = if request.spans {
            visible(prompt::assemble_with_spans(snapshot, profile, &request.turn)?, snapshot, &caller)
        } else {
            assembled(snapshot, profile, &request.turn, &caller)?
        };
        self.backend.telemetry.prompt_assembled(&prompt, side, now() - started);
        let rendered = format(request.format).map(|format| render::render(&prompt, format)).unwrap_or_default();
        if request.strict {
            nothing_lost(&prompt, &rendered)?;
        }
        if let Some(encoding) = request.encoding {
            prompt::count_tokens(&mut prompt, snapshot, profile, encoding);
        }
        prompt.add_findings(rendered.findings.into_iter().chain(recalled.finding));
        if let Some(notice) = self.backend.notice.as_ref().and_then(|notice| notice(snapshot)) {
            prompt.add_findings([Finding::clone(&notice)]);
        }
        prompt.cache_plan.behind_conversation = rendered.behind;
        let answer = encode::Answer {
            prompt: &prompt,
            revision: snapshot.revision.as_str(),
            profile: profile.name.as_str(),
            rendered: &rendered.text,
            session_position,
            recalled: &recalled.positions,
            side,
            shape: &request.shape,
        };
        let mut answer = Response::new(answer.encode());
        if self.backend.tracer.is_some() {
            answer.extensions_mut().insert(TracedPrompt { profile: profile.name.clone(), digest: prompt.digest });
        }
        if let Some(record) = record {
            record(&backend::Answered {
                loaded: &loaded,
                profile,
                token_skills: request.turn.skill_access.as_ref(),
                digest: prompt.digest,
            });
        }
        Ok(answer)
    }

    fn plan(
        &self,
        raw: proto::PlanHistoryRequest,
        found: &Found,
        caller: &Caller,
    ) -> Result<proto::PlanHistoryResponse, Error> {
        let limits = self.limits.request.load();
        let request = plan_request(raw, &limits, |id| caller.must_see(id))?;
        let loaded = self.backend.newest(found, &request.workspace, caller)?;
        for (field, name) in
            [("segment_profile", &request.segment_profile), ("rollup_profile", &request.rollup_profile)]
        {
            backend::profile_of_field(&loaded.snapshot.profiles, name, field)?;
        }
        Ok(encode::plan_history_response(plan(&request.history, &request.thresholds), &request))
    }

    /// The contract of a reply, and the inputs that the request has for it.
    async fn contract(&self, raw: &mut proto::ParseReplyRequest, caller: &Caller) -> Result<ContractOfReply, Error> {
        let mut violations = Violations::default();
        let limits = self.limits.request.load();
        let given = raw.inputs.take().map(|given| inputs(given, "inputs", &limits, &mut violations));
        let named = optional_id(&raw.profile, "profile", &mut violations);
        let workspace = optional_id(&raw.workspace_id, "workspace_id", &mut violations);
        violations.into_result(()).map_err(Error::Invalid)?;
        let Some(workspace) = workspace else {
            let profiles = (self.backend.profiles)();
            let name = named.unwrap_or_else(profile::default_id);
            return contract_of(backend::named_profile(&profiles, &name)?, &Map::new(), given);
        };
        caller.must_see(&workspace)?;
        let found = self.backend.find(&workspace, caller).await;
        let loaded = self.backend.newest(&found, &workspace, caller)?;
        let snapshot = &loaded.snapshot;
        contract_of(chosen(snapshot, named.as_ref())?, &snapshot.manifest.inputs, given)
    }
}

/// A contract, and the complete inputs of the prompt, if they were given.
type ContractOfReply = (Arc<ReplyContract>, Option<Map<String, Value>>);

fn contract_of(
    profile: &profile::Profile,
    own: &Map<String, Value>,
    given: Option<Map<String, Value>>,
) -> Result<ContractOfReply, Error> {
    let inputs = given.map(|given| profile::complete_inputs(profile, own, &given)).transpose();
    let inputs = inputs.map_err(|e| Error::invalid(format!("inputs{}", e.path), e.message))?;
    Ok((Arc::clone(&profile.reply), inputs))
}

/// A turn's prompt, with the findings that its caller may see.
pub(super) fn assembled<'s>(
    snapshot: &'s Prepared,
    profile: &'s profile::Profile,
    turn: &'s Turn,
    caller: &Caller,
) -> Result<Prompt<'s>, Error> {
    Ok(visible(prompt::assemble(snapshot, profile, turn)?, snapshot, caller))
}

/// The prompt, without what its caller may not see: findings, and where the text of some layers came from.
fn visible<'s>(mut prompt: Prompt<'s>, snapshot: &Prepared, caller: &Caller) -> Prompt<'s> {
    let access = caller.skill_access(None);
    prompt.hide_layers(&access.hidden_layers(snapshot));
    if access.token.is_some() {
        prompt.findings.retain(|finding| access.sees_finding(snapshot, finding));
    }
    prompt
}

/// The profile that a request names, unless the workspace locks it, else the workspace's own.
pub(super) fn chosen<'s>(snapshot: &'s Prepared, named: Option<&Id>) -> Result<&'s profile::Profile, Error> {
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
fn nothing_lost(prompt: &Prompt<'_>, rendered: &Rendered) -> Result<(), Error> {
    let lost = prompt.sections.iter().filter(|section| section.outcome.is_loss());
    let mut lost: Vec<_> = lost.map(|section| (section.id.to_string(), section.reason.to_string())).collect();
    lost.extend(rendered.losses().map(|finding| ("conversation".to_owned(), finding.message.clone())));
    if lost.is_empty() { Ok(()) } else { Err(Error::PromptLoss(lost)) }
}

fn format(raw: proto::RenderFormat) -> Option<RenderFormat> {
    match raw {
        proto::RenderFormat::Unspecified => None,
        proto::RenderFormat::Text => Some(RenderFormat::Text),
        proto::RenderFormat::OpenaiChat => Some(RenderFormat::OpenaiChat),
        proto::RenderFormat::OpenaiResponses => Some(RenderFormat::OpenaiResponses),
        proto::RenderFormat::AnthropicMessages => Some(RenderFormat::AnthropicMessages),
        proto::RenderFormat::BedrockConverse => Some(RenderFormat::BedrockConverse),
        proto::RenderFormat::OpenrouterChat => Some(RenderFormat::OpenrouterChat),
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
