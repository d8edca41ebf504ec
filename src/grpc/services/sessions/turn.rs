//! A turn that names a session: its conversation is read, as much of it as the prompt can carry.

use jiff::Timestamp;
use promptd_memory::{SessionKey, Window};
use tonic::{Response, Status};

use super::memory::failure;
use crate::grpc::{
    budget::Share,
    pipeline::{Error, LARGE_BYTES, MANY_VALUES, auth::Caller, run_heavy},
    services::{
        NOT_STORED,
        prompt::{PromptService, chosen},
    },
};
use promptd_contract::{
    decode::{AssembleRequest, SessionOfTurn},
    encode::{Encoded, conversation_message, summary_segment},
    proto,
};
use promptd_core::{
    prompt::{Tail, TailBounds},
    turn::Conversation,
};
use promptd_source::store::Loaded;

/// The most bytes of text of a session that are read for a prompt.
const MAX_BYTES: usize = 8 << 20;

impl PromptService {
    /// Assembles the prompt of a turn that names a session. `is_long`: checking it takes long.
    pub(in crate::grpc::services) async fn assemble_session(
        &self,
        raw: proto::AssemblePromptRequest,
        caller: Caller,
        now: Timestamp,
        is_long: bool,
    ) -> Result<Response<Encoded>, Status> {
        let to_record = self.backend.record.is_some().then(|| raw.clone());
        let decoded = if is_long {
            let (service, caller) = (self.clone(), caller.clone());
            run_heavy(&self.limits, move || service.decode(raw, &caller, now)).await??
        } else {
            self.decode(raw, &caller, now)?
        };
        let found = self.backend.find(&decoded.request.workspace, &caller).await;
        let mut checked = self.look_up(decoded, &found, &caller)?;
        let Some(session) = checked.decoded.request.session.take() else { return Err(Error::Internal.into()) };
        let window = self.read(&checked.decoded.request, &checked.loaded, &session).await?;
        let summaries = window.segments.iter().map(|segment| segment.summary.len());
        let bytes = window.messages.iter().map(|message| message.content.len()).chain(summaries).sum();
        // Until the call is answered, as what its caller sent does.
        let hold = Share::new(&self.limits.unread).hold(bytes);
        let _hold = hold.map_err(|exhausted| Error::exhausted(exhausted, self.limits.retry()))?;
        let is_long = bytes >= LARGE_BYTES || window.messages.len() > MANY_VALUES;
        checked.decoded.session_position = Some(window.position);
        let conversation = Conversation {
            messages: window.messages,
            segments: window.segments,
            first_index: window.first_index,
            held_cut: session.held_cut,
            rest_is_stored: true,
        };
        if let Some(raw) = to_record {
            let record = self.backend.record.as_ref();
            checked.decoded.record = record.and_then(|record| record(&mut resolved(raw, &conversation), now));
        }
        checked.decoded.request.turn.conversation = conversation;
        self.assemble_checked(checked, bytes, is_long).await
    }

    async fn read(&self, request: &AssembleRequest, loaded: &Loaded, session: &SessionOfTurn) -> Result<Window, Error> {
        let Some(memory) = &self.backend.memory else {
            return Err(Error::invalid("turn.session_id", NOT_STORED));
        };
        let profile = chosen(&loaded.snapshot, request.profile.as_ref())?;
        let most = u64::try_from(self.limits.request.load().max_messages).unwrap_or(u64::MAX);
        let bounds = TailBounds { messages: most, bytes: MAX_BYTES };
        let mut tail = Tail::new(&loaded.snapshot, profile, &request.turn, bounds)?;
        let key = SessionKey { workspace: request.workspace.clone(), session: session.id.clone() };
        let summaries = tail.summaries();
        let wanted = Box::new(move |message: &_, is_reached| tail.take(message, is_reached));
        let window = memory.store()?.window(&key, session.position, summaries, wanted).await;
        window.map_err(|error| failure(error, Some(&session.id), self.limits.retry()))
    }
}

/// The request with what its session has, as if its caller had brought it.
fn resolved(mut raw: proto::AssemblePromptRequest, read: &Conversation) -> proto::AssemblePromptRequest {
    if let Some(turn) = &mut raw.turn {
        turn.session_id.clear();
        (turn.session_position, turn.session_held_cut) = (None, None);
        turn.conversation = Some(proto::Conversation {
            messages: read.messages.iter().cloned().map(conversation_message).collect(),
            segments: read.segments.iter().cloned().map(summary_segment).collect(),
            first_index: read.first_index,
            held_cut: read.held_cut,
        });
    }
    raw
}
