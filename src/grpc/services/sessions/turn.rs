//! A turn that names a session: its conversation is read, as much of it as the prompt can carry.

use jiff::Timestamp;
use promptd_memory::{SessionKey, Window};
use serde_json::Map;
use tonic::{Response, Status};

use super::{
    auto_recall::{self, Read},
    memory::failure,
};
use crate::grpc::{
    budget::Share,
    pipeline::{Error, LARGE_BYTES, MANY_VALUES, auth::Caller, run_heavy},
    services::{
        NOT_STORED,
        prompt::{Checked, PromptService, chosen},
    },
};
use promptd_contract::{
    decode::{AssembleRequest, SessionOfTurn},
    encode::{Encoded, conversation_message, object, summary_segment},
    proto,
};
use promptd_core::{
    profile::{Input, RECALL_INPUT, Type},
    prompt::{Tail, TailBounds, trimmed_messages},
    turn::{Conversation, ConversationMessage, Turn},
    workspace::Lock,
};
use promptd_source::store::Loaded;

/// The input that a profile shows the summary of its workspace's daily notes by.
const NOTES_INPUT: &str = "notes_summary";
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
        let key = SessionKey { workspace: checked.decoded.request.workspace.clone(), session: session.id.clone() };
        let (window, recalls) = self.read(&checked.decoded.request, &checked.loaded, &session, &key).await?;
        let notes = self.notes_summary(&checked.decoded.request, &checked.loaded, &key, window.position).await?;
        let summaries = window.segments.iter().map(|segment| segment.summary.len());
        let summaries = summaries.chain(notes.iter().map(String::len));
        let bytes = window.messages.iter().map(ConversationMessage::bytes).chain(summaries).sum();
        // Until the call is answered, as what its caller sent does.
        let hold = Share::new(&self.limits.unread).hold(bytes);
        let _hold = hold.map_err(|exhausted| Error::exhausted(exhausted, self.limits.retry()))?;
        let is_long = bytes >= LARGE_BYTES || window.messages.len() > MANY_VALUES;
        checked.decoded.session_position = Some(window.position);
        checked.decoded.request.turn.conversation = Conversation {
            messages: window.messages,
            segments: window.segments,
            first_index: window.first_index,
            held_cut: session.held_cut,
            rest_is_stored: true,
        };
        let notes = notes.map(|notes| (NOTES_INPUT.to_owned(), notes.into()));
        checked.decoded.request.turn.inputs.extend(notes);
        if recalls {
            let read = Read { position: window.position, positions: window.positions };
            checked = self.recall(checked, &key, &read, is_long).await?;
        }
        if let Some(raw) = to_record {
            let record = self.backend.record.as_ref();
            let mut raw = resolved(raw, &checked.decoded.request.turn);
            checked.decoded.record = record.and_then(|record| record(&mut raw, now));
        }
        self.assemble_checked(checked, bytes, is_long).await
    }

    /// Gives the turn what it recalls, if anything was trimmed.
    async fn recall(
        &self,
        mut checked: Checked,
        key: &SessionKey,
        read: &Read,
        is_long: bool,
    ) -> Result<Checked, Error> {
        let cut = if is_long {
            let counted = run_heavy(&self.limits, move || trimmed(&checked).map(|cut| (checked, cut)));
            let cut;
            (checked, cut) = counted.await??;
            cut
        } else {
            trimmed(&checked)?
        };
        let Some(memory) = self.backend.memory.as_ref().filter(|_| cut > 0) else { return Ok(checked) };
        let conversation = &checked.decoded.request.turn.conversation;
        let recalled = auto_recall::recall(memory, key, conversation, read, cut).await;
        let (recalled, passages) = recalled.map_err(|error| failure(error, Some(&key.session), self.limits.retry()))?;
        checked.decoded.recalled = recalled;
        if !passages.is_empty() {
            checked.decoded.request.turn.inputs.insert(RECALL_INPUT.into(), passages.into());
        }
        Ok(checked)
    }

    /// The window of the session that the profile can carry, and whether the turn recalls what is before it. It does not where the
    /// turn brings what was recalled, or may bring nothing.
    async fn read(
        &self,
        request: &AssembleRequest,
        loaded: &Loaded,
        session: &SessionOfTurn,
        key: &SessionKey,
    ) -> Result<(Window, bool), Error> {
        let Some(memory) = &self.backend.memory else {
            return Err(Error::invalid("turn.session_id", NOT_STORED));
        };
        let profile = chosen(&loaded.snapshot, request.profile.as_ref())?;
        let most = u64::try_from(self.limits.request.load().max_messages).unwrap_or(u64::MAX);
        let bounds = TailBounds { messages: most, bytes: MAX_BYTES };
        let mut tail = Tail::new(&loaded.snapshot, profile, &request.turn, bounds)?;
        let summaries = tail.summaries();
        let is_open = !loaded.snapshot.manifest.locked.contains(&Lock::Inputs);
        let recalls = tail.recalls() && is_open && !request.turn.inputs.contains_key(RECALL_INPUT);
        let wanted = Box::new(move |message: &_, is_reached| tail.take(message, is_reached));
        let window = memory.store()?.window(key, session.position, summaries, wanted).await;
        let window = window.map_err(|error| failure(error, Some(&key.session), self.limits.retry()))?;
        Ok((window, recalls))
    }

    /// The summary of the workspace's notes that the prompt has at a position. Asks for a newer one, which is not waited for.
    async fn notes_summary(
        &self,
        request: &AssembleRequest,
        loaded: &Loaded,
        key: &SessionKey,
        position: u64,
    ) -> Result<Option<String>, Error> {
        let Some(memory) = &self.backend.memory else { return Ok(None) };
        if !shows_notes(request, loaded)? {
            return Ok(None);
        }
        if let Some(queue) = &memory.notes {
            queue.ask(&key.workspace);
        }
        let stored = memory.store()?.notes_summary_at(key, position).await;
        let stored = stored.map_err(|error| failure(error, Some(&key.session), self.limits.retry()))?;
        Ok(stored.map(|stored| stored.summary.text))
    }
}

/// How many messages the prompt leaves out, the oldest.
fn trimmed(checked: &Checked) -> Result<u64, Error> {
    let (request, snapshot) = (&checked.decoded.request, &checked.loaded.snapshot);
    let profile = chosen(snapshot, request.profile.as_ref())?;
    Ok(trimmed_messages(snapshot, profile, &request.turn)?)
}

/// Whether a prompt has a place for the summary of notes that nobody has filled, nor locks.
fn shows_notes(request: &AssembleRequest, loaded: &Loaded) -> Result<bool, Error> {
    let snapshot = &loaded.snapshot;
    let takes = |input: &Input| input.field.name == NOTES_INPUT && input.field.ty == Type::Text;
    let manifest = &snapshot.manifest;
    let is_given = request.turn.inputs.contains_key(NOTES_INPUT) || manifest.inputs.contains_key(NOTES_INPUT);
    let has_place = chosen(snapshot, request.profile.as_ref())?.inputs.iter().any(takes);
    Ok(has_place && !is_given && !manifest.locked.contains(&Lock::Inputs))
}

/// The request with what its session and its workspace's notes give, as if its caller had brought it.
fn resolved(mut raw: proto::AssemblePromptRequest, decoded: &Turn) -> proto::AssemblePromptRequest {
    let read = &decoded.conversation;
    if let Some(turn) = &mut raw.turn {
        let given = |name: &str| Some((name.to_owned(), decoded.inputs.get(name)?.clone()));
        let given: Map<_, _> = [RECALL_INPUT, NOTES_INPUT].into_iter().filter_map(given).collect();
        if !given.is_empty() {
            turn.inputs.get_or_insert_default().fields.extend(object(given).fields);
        }
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
