//! Answers of before, for when no server can be reached.
//!
//! What is kept is not the answer itself but a second one, to the same turn without its conversation, knowledge and summary, and of
//! that no line that shows the clock: these are never replayed. When it is served, the caller's conversation is put in its
//! place. The second call is made once for each key and revision.

use std::{
    fmt::Write as _,
    time::{Duration, Instant, SystemTime},
};

use prost::Message as _;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tonic::Code;

use crate::{
    Assemble, Error, LastGood, Prompt, Promptd, Role, proto, rendering,
    stores::{Entry, KeptMessage},
};

impl LastGood {
    /// The service's answer, or one of before where there is no service.
    pub(crate) async fn assemble(&self, client: &Promptd, call: &Assemble) -> Result<Prompt, Error> {
        let timeout = call.timeout.unwrap_or(client.0.timeout);
        // Who asks for one thing wants no other, and the messages of a stored session are the service's to show.
        let names_session = call.request.turn.as_ref().is_some_and(|turn| !turn.session_id.is_empty());
        if !call.request.revision.is_empty() || call.request.strict || names_session {
            return call.ask(client, timeout).await;
        }
        let began = Instant::now();
        let key = key(&client.0.token_text, &call.request);
        match call.ask(client, timeout).await {
            Ok(prompt) => {
                self.keep(client, call, &key, &prompt, timeout.saturating_sub(began.elapsed())).await;
                Ok(prompt)
            }
            Err(error) => self.serve(call, &key, &error).ok_or(error),
        }
    }

    async fn keep(&self, client: &Promptd, call: &Assemble, key: &str, prompt: &Prompt, left: Duration) {
        if let Some(entry) = self.0.get(key).filter(|entry| entry.revision == prompt.revision) {
            return self.0.put(key, Entry { confirmed: SystemTime::now(), ..entry });
        }
        let mut base = call.clone();
        base.request = without_turns_own(&call.request);
        base.request.include_spans = true;
        base.request.omit_sections = false;
        base.request.reference_conversation = false;
        match base.ask(client, left).await {
            Ok(base) => self.0.put(key, entry(call, prompt, &base)),
            Err(error) if error.is_unreachable() || error.code == Code::Unavailable => {}
            // Not every turn asks again for what this revision refuses.
            Err(_) => self.0.put(key, nothing(&prompt.revision)),
        }
    }

    /// The prompt to give in place of an error.
    fn serve(&self, call: &Assemble, key: &str, error: &Error) -> Option<Prompt> {
        // What was allowed before is not any more, or is gone.
        if matches!(error.code, Code::Unauthenticated | Code::PermissionDenied | Code::NotFound)
            && self.0.get(key).is_some()
        {
            self.0.put(key, nothing(""));
        }
        let said = call.request.turn.as_ref().and_then(|turn| turn.conversation.as_ref());
        // Only the service can say whether the workspace lets a caller speak as the system.
        if said.is_some_and(|said| said.messages.iter().any(|one| one.role() == Role::System)) {
            return None;
        }
        let is_down = error.code == Code::Unavailable && error.reason != "TOKEN_RIGHTS_CHANGED";
        if !is_down && !error.is_unreachable() {
            return None;
        }
        let entry = self.0.get(key).filter(|entry| !entry.messages.is_empty())?;
        Some(stale(call, entry, error))
    }
}

/// A digest of who asks, and of the request without what differs from turn to turn.
fn key(token: &str, request: &proto::AssemblePromptRequest) -> String {
    let mut digest = Sha256::new();
    digest.update(Sha256::digest(token));
    // Maps are ordered, so that the same request has the same bytes.
    digest.update(without_turns_own(request).encode_to_vec());
    digest.finalize().iter().fold(String::new(), |mut key, byte| {
        // Writing to a String cannot fail.
        let _ = write!(key, "{byte:02x}");
        key
    })
}

fn without_turns_own(request: &proto::AssemblePromptRequest) -> proto::AssemblePromptRequest {
    let mut kept = request.clone();
    kept.if_none_match.clear();
    let turn = kept.turn.get_or_insert_default();
    turn.now = None;
    turn.conversation = None;
    turn.knowledge.clear();
    turn.conversation_summary.clear();
    kept
}

fn nothing(revision: &str) -> Entry {
    Entry {
        revision: revision.into(),
        profile: String::new(),
        messages: Vec::new(),
        behind: Vec::new(),
        carries: true,
        allowed_tools: Vec::new(),
        confirmed: SystemTime::now(),
    }
}

/// The answer to `base`, and of the prompt itself which messages came behind the conversation.
fn entry(call: &Assemble, prompt: &Prompt, base: &Prompt) -> Entry {
    let last = prompt.messages.iter().rposition(|one| one.conversation_index.is_some());
    let behind = last.map_or(&[][..], |last| &prompt.messages[last + 1..]);
    let said = call.request.turn.as_ref().and_then(|turn| turn.conversation.as_ref());
    let kept = |(index, one): (usize, &proto::PromptMessage)| KeptMessage {
        role: one.role,
        name: one.name.clone(),
        content: without_clock(index, base),
        ephemeral: one.ephemeral,
    };
    Entry {
        revision: base.revision.clone(),
        profile: base.profile.clone(),
        messages: base.messages.iter().enumerate().map(kept).collect(),
        behind: behind.iter().map(|one| one.name.clone()).collect(),
        carries: last.is_some() || said.is_none_or(|said| said.messages.is_empty()),
        allowed_tools: base.allowed_tools.clone(),
        confirmed: SystemTime::now(),
    }
}

/// The text of a message without the lines that show the time.
fn without_clock(index: usize, prompt: &Prompt) -> String {
    let sections =
        prompt.sections.iter().filter(|section| section.message_index.is_some_and(|at| at as usize == index));
    let clocks: Vec<_> = sections.flat_map(|section| &section.spans).filter(|span| shows_clock(span)).collect();
    let mut start = 0;
    let mut kept = String::new();
    for line in prompt.messages[index].content.split_inclusive('\n') {
        let end = start + line.len();
        if !clocks.iter().any(|span| (span.byte_start as usize) < end && span.byte_end as usize > start) {
            kept.push_str(line);
        }
        start = end;
    }
    kept
}

/// Whether the bytes are of the time of the turn. Its zone stays.
fn shows_clock(span: &proto::Span) -> bool {
    let name = span.origin.as_ref().map_or("", |origin| &origin.name);
    name == "turn.now" || name.starts_with("now.") && name != "now.zone"
}

fn stale(call: &Assemble, entry: Entry, error: &Error) -> Prompt {
    let age = entry.confirmed.elapsed().unwrap_or_default();
    let turn = call.request.turn.clone().unwrap_or_default();
    let (behind, front): (Vec<_>, Vec<_>) =
        restored(&entry, &turn).into_iter().partition(|one| entry.behind.contains(&one.name));
    let talk = turn.conversation.filter(|_| entry.carries).unwrap_or_default().messages;
    let talk = talk.into_iter().zip(0..).map(|(one, index)| spoken(one, index));
    let messages: Vec<_> = front.into_iter().chain(talk).chain(behind).collect();
    let text: String = messages.iter().map(|one| one.content.as_str()).collect();
    let said = format!("this prompt is from {} s ago and without knowledge, summary and clock: {error}", age.as_secs());
    let finding = proto::Finding {
        severity: proto::Severity::Warning.into(),
        code: "STALE_PROMPT".into(),
        message: said,
        ..Default::default()
    };
    let fragment = rendering::render(call.format, &messages);
    let answer = proto::AssemblePromptResponse {
        messages,
        findings: vec![finding],
        revision: entry.revision,
        profile: entry.profile,
        rendered: match &fragment {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            fragment => fragment.to_string(),
        },
        size: Some(proto::Size { bytes: text.len() as u64, chars: text.chars().count() as u64, tokens: None }),
        allowed_tools: entry.allowed_tools,
        ..Default::default()
    };
    Prompt { answer, format: call.format, fragment, request_id: String::new(), stale: Some(age) }
}

/// The kept messages. Where texts for one turn were not kept, the turn's own is in place of the last of them.
fn restored(entry: &Entry, turn: &proto::Turn) -> Vec<proto::PromptMessage> {
    let lost = entry.messages.iter().rposition(|one| one.ephemeral && one.content.is_empty());
    let content = |(index, one): (usize, &KeptMessage)| {
        let content = if lost == Some(index) { turn.ephemeral_system_prompt().to_owned() } else { one.content.clone() };
        let KeptMessage { role, name, ephemeral, .. } = one.clone();
        (!content.is_empty()).then(|| proto::PromptMessage { role, content, name, ephemeral, ..Default::default() })
    };
    entry.messages.iter().enumerate().filter_map(content).collect()
}

/// A message of the caller's, as it is.
fn spoken(one: proto::ConversationMessage, index: u32) -> proto::PromptMessage {
    proto::PromptMessage {
        role: one.role,
        content: one.content,
        tool_call_id: one.tool_call_id,
        tool_calls: one.tool_calls,
        speaker: one.name,
        conversation_index: Some(index),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_a_server_that_is_not_there_is_answered_for() {
        let client = Promptd::connect("127.0.0.1:1").await.unwrap();
        let call = client.assemble("example");
        let message = KeptMessage { role: 1, name: "a".into(), content: "kept".into(), ephemeral: false };
        for (code, reason, is_served) in [
            (Code::Unavailable, "", true),
            (Code::Unavailable, "OVERLOADED", true),
            (Code::Unavailable, "TOKEN_RIGHTS_CHANGED", false),
            (Code::DeadlineExceeded, "", true),
            (Code::DeadlineExceeded, "DEADLINE_EXCEEDED", false),
            (Code::InvalidArgument, "INVALID_REQUEST", false),
            (Code::NotFound, "WORKSPACE_NOT_FOUND", false),
        ] {
            let last_good = LastGood::memory();
            last_good.0.put("key", Entry { messages: vec![message.clone()], ..nothing("1") });
            let error = Error { reason: reason.into(), ..Error::own(code, "away") };
            let served = last_good.serve(&call, "key", &error);
            assert_eq!(served.is_some(), is_served, "{code:?} {reason}");
            if let Some(prompt) = served {
                assert_eq!((&*prompt.messages[0].content, &*prompt.rendered), ("kept", ""));
            }
            let is_kept = last_good.0.get("key").is_some_and(|entry| !entry.messages.is_empty());
            assert_eq!(is_kept, code != Code::NotFound, "{code:?}");
        }
    }
}
