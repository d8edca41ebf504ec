//! What every store must do, as tests that take the store: [`TESTS`], each for a store of its own that is empty.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod messages;
pub(crate) mod notes;
mod recall;
pub(crate) mod segments;
mod sessions;
pub(crate) mod vectors;

use promptd_core::{
    id::Id,
    turn::{ConversationMessage, Role},
};

use crate::{Appended, PageOfMessages, SessionKey, Store, StoredMessage};

/// A test, with its name.
pub type Test = (&'static str, fn(&dyn Store));

/// All of them.
pub const TESTS: &[Test] = &[
    ("messages come back as they were appended", messages::messages_come_back),
    ("a message that is sent again is stored once", messages::repeated_messages),
    ("what cannot be appended changes nothing", messages::refused_appends),
    ("two writers that expect a position do not mix", messages::expected_positions),
    ("concurrent writers lose and double nothing", messages::concurrent_writers),
    ("pages have every message once, within their bounds", messages::pages_of_messages),
    ("sessions are listed by their last change", sessions::lists_of_sessions),
    ("a window has the newest messages alone", messages::windows),
    ("a position names one state for good", sessions::positions),
    ("a fork has what its session had", sessions::forks),
    ("a truncation removes the end, for the search too", sessions::truncations),
    ("a removed session is gone, and its name is free", sessions::removals),
    ("workspaces do not see each other", sessions::workspaces),
    ("recall finds words, the best first, within its bounds", recall::recalls),
    ("how well a message matches its workspace alone decides", vectors::own_workspace),
    ("stats count what a workspace has", sessions::stats),
    ("watchers hear of every change", sessions::watches),
    ("segments are planned once, in order", segments::planned),
    ("a summary is stored once, whoever brings it", segments::summaries),
    ("a job that fails is tried again, or set aside", segments::failures),
    ("a position names one tree for good", segments::positions),
    ("what is removed takes its segments with it", segments::removals),
    ("a fork has the tree of its messages", segments::forks),
    ("each message gets one vector, of the model in use", vectors::one_each),
    ("recall finds the nearest, beside those with the words", vectors::nearest),
    ("a position names the vectors that there were", vectors::positions),
    ("what is removed takes its vectors with it, and a fork has its own", vectors::removals),
    ("the last summaries of notes are kept, of each workspace apart", notes::summaries),
    ("a position names one summary of notes", notes::positions),
    ("summaries of notes go with the last session", notes::removals),
];

/// An id.
#[must_use]
pub fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

/// A session of the workspace `w`.
#[must_use]
pub fn key(session: &str) -> SessionKey {
    SessionKey { workspace: id("w"), session: id(session) }
}

/// A message that says `content`; its id is `message`.
#[must_use]
pub fn said(role: Role, message: &str, content: &str) -> ConversationMessage {
    ConversationMessage { id: message.into(), ..ConversationMessage::new(role, content) }
}

fn user(message: &str) -> ConversationMessage {
    said(Role::User, message, &format!("text of {message}"))
}

fn users(range: std::ops::Range<u64>) -> Vec<ConversationMessage> {
    range.map(|number| user(&format!("m{number}"))).collect()
}

fn append(store: &dyn Store, session: &str, messages: Vec<ConversationMessage>) -> Appended {
    store.append(&key(session), messages, None).wait().unwrap()
}

/// Every message of a session.
pub fn all(store: &dyn Store, session: &SessionKey) -> Vec<StoredMessage> {
    let (mut all, mut from) = (Vec::new(), Some(0));
    while let Some(next) = from {
        let page = PageOfMessages { from: next, at: None, limit: 1_000, max_bytes: 1 << 20 };
        let page = store.messages(session, page).wait().unwrap();
        all.extend(page.messages);
        from = page.next;
    }
    all
}

fn ids(store: &dyn Store, session: &str) -> Vec<String> {
    all(store, &key(session)).into_iter().map(|stored| stored.message.id).collect()
}
