//! Stored conversations: sessions of messages that callers append to, read, search and remove.
//!
//! [`Store`] is what a store does; [`SqliteStore`] is the one that comes with the service, in a folder of its own. A store
//! answers without blocking: every call gives an [`Answer`], which is a future. `suite` has the tests that every store must
//! pass.
//!
//! A session belongs to a workspace, and no call reaches those of another. What a session is made of, and what is promised of
//! it, is in `docs/memory.md`.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
#![warn(unreachable_pub)]

mod clock;
mod error;
mod jsonl;
mod notes;
mod segments;
mod sqlite;
mod status;
mod store;
#[cfg(any(test, feature = "suite"))]
pub mod suite;
mod vectors;
mod watchers;

pub use error::{Refused, StoreError};
pub use jsonl::{LineError, Lines, line};
pub use notes::{MAX_NOTES_SUMMARIES, Notes, NotesSummary, StoredNotesSummary};
pub use segments::{
    Job, Jobs, ListedSegments, NewSegment, Outcome, PageOfSegments, Planned, SegmentState, Segments, Source,
    StoredSegment, Unplanned,
};
pub use sqlite::{Checked, Keep, Options, SqliteStore, backup, check, restore, vacuum};
pub use status::Status;
pub use store::{
    Answer, Appended, InContext, MAX_RECALLED, MAX_TRUNCATED, Messages, PageOfMessages, PageOfSessions, Recall,
    Recalled, Session, SessionKey, Stats, Store, StoredMessage, Tail, Window,
};
pub use vectors::{QueryVector, Unvectorised, Vectorised, Vectors, WaitingMessage};

/// What the log lines of this crate are filtered by, as in `log.level: info,promptd::memory=debug`.
const LOG_TARGET: &str = "promptd::memory";
