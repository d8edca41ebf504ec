//! What a store keeps of the summaries of workspaces' daily notes.
//!
//! A summary is made of notes, which are files, and not of what is said in sessions; sessions are who it is shown to. So it stays
//! while its workspace has sessions.

use promptd_core::{id::Id, time::Moment};

use crate::{Answer, SessionKey};

/// The most summaries of notes that are kept of a workspace: those that were made last.
pub const MAX_NOTES_SUMMARIES: usize = 32;

/// Keeps the summaries of notes.
pub trait Notes {
    /// The summaries of a workspace's notes, the newest first, at most so many.
    fn notes_summaries(&self, workspace: &Id, limit: usize) -> Answer<Vec<StoredNotesSummary>>;

    /// The newest summary that was made before the last message that a session has at a position; `None`: there is none. What is
    /// made later is never seen there, so that a position names one for as long as it is kept.
    fn notes_summary_at(&self, session: &SessionKey, position: u64) -> Answer<Option<StoredNotesSummary>>;

    /// Stores a summary as the newest. `false`: the workspace has no session that it could be shown to.
    fn add_notes_summary(&self, workspace: &Id, summary: NotesSummary) -> Answer<bool>;
}

/// A summary of notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotesSummary {
    /// The path of the first note that it sums up.
    pub first: String,
    /// The path of the last one.
    pub last: String,
    /// What names the notes with their texts: others have another one.
    pub source: String,
    /// The summary.
    pub text: String,
    /// Its tokens.
    pub tokens: u32,
}

/// A summary of notes as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredNotesSummary {
    /// When it was made.
    pub made: Moment,
    /// The summary.
    pub summary: NotesSummary,
}
