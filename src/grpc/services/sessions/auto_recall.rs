//! What a turn recalls by itself: messages of its session from before the window that mean what the user's newest one does.
//!
//! A position gives the same ones again, whatever was said since: of the session alone, before the window, by the vectors that were
//! there at the position, those that are as near in the order of their positions. Words are not searched: how rare they are
//! changes with every message of the workspace.

use promptd_memory::{InContext, Recall, SessionKey, StoreError, StoredMessage};
use serde_json::{Value, json};

use super::memory::Memory;
use crate::grpc::services::prompt::Recalled;
use promptd_core::{
    finding::{Code, Finding, Place},
    text::measure,
    turn::{Conversation, Role},
};

/// The most messages that are recalled, as in kern.
const MAX_MESSAGES: usize = 3;
/// The most characters of each.
const MAX_CHARS: usize = 2_000;
/// The most UTF-16 units of all, as JSON has them: below the 2,000 tokens that kern has for them, at 3.3 units a token.
const MAX_UNITS: usize = 6_000;
/// The most bytes of text that are read of them.
const MAX_BYTES: usize = 1 << 20;
/// Written after a text that was cut.
const CUT: &str = "...";

/// Where the messages of a turn's session were read.
pub(super) struct Read {
    /// The session's position.
    pub(super) position: u64,
    /// The position of each message.
    pub(super) positions: Vec<u64>,
}

/// What is recalled for a prompt that carries its conversation from the message `cut` of the session on, and the same as the
/// profile's input.
pub(super) async fn recall(
    memory: &Memory,
    key: &SessionKey,
    conversation: &Conversation,
    read: &Read,
    cut: u64,
) -> Result<(Recalled, Vec<Value>), StoreError> {
    let nothing = Ok((Recalled::default(), Vec::new()));
    let failed = |why: &dyn std::fmt::Display| {
        let message = format!("nothing was recalled for the turn: {why}");
        let finding = Finding::new(Code::RecallFailed, Place::field("turn.session_id"), message);
        Ok((Recalled { finding: Some(finding), ..Recalled::default() }, Vec::new()))
    };
    let Ok(store) = memory.store() else { return nothing };
    let newest = conversation.messages.iter().rposition(|message| message.role == Role::User);
    let begins = usize::try_from(cut.saturating_sub(conversation.first_index)).unwrap_or(usize::MAX);
    let (Some(newest), Some(&before)) = (newest, read.positions.get(begins)) else { return nothing };
    let query = &conversation.messages[newest].content;
    if query.trim().is_empty() {
        return nothing;
    }
    let vector = match memory.embedding().query(query, None).await {
        Ok(vector) => vector,
        Err(fault) => return failed(&fault),
    };
    // The user's newest message may be before the window.
    let positions = read.positions.get(newest).copied().into_iter().collect();
    let recall = Recall {
        vector: Some(vector),
        session: Some(key.session.clone()),
        before: Some(before),
        at: Some(read.position),
        in_context: Some(InContext { session: key.session.clone(), from: None, positions }),
        limit: MAX_MESSAGES,
        max_bytes: MAX_BYTES,
        ..Recall::default()
    };
    let found = match store.recall(&key.workspace, recall).await {
        Ok(found) => found,
        // The prompt does not depend on it.
        Err(error @ (StoreError::Busy | StoreError::TooLong)) => return failed(&error),
        Err(error) => return Err(error),
    };
    let (mut recalled, mut passages, mut units) = (Recalled::default(), Vec::new(), 0);
    for found in found {
        let text = text(&found.message);
        units += Value::from(&*text).to_string().encode_utf16().count();
        if units > MAX_UNITS {
            break;
        }
        let time = found.message.message.time.unwrap_or(found.message.stored).utc_exact();
        passages.push(json!({"time": time, "text": text, "message_end": found.message.index + 1}));
        recalled.positions.push(found.message.position);
    }
    Ok((recalled, passages))
}

/// What is shown of a message, with who said it as kern writes it.
fn text(stored: &StoredMessage) -> String {
    let speaker = match stored.message.role {
        Role::System => "System",
        Role::User => "User",
        Role::Assistant => "Assistant",
        Role::Tool => "Tool",
    };
    let content = &stored.message.content;
    let kept = &content[..measure::offset(content, MAX_CHARS)];
    let cut = if kept.len() < content.len() { CUT } else { "" };
    format!("{speaker}: {kept}{cut}")
}
