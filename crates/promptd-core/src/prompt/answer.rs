//! What assembly gives back: the messages, and what became of every section.

use std::{borrow::Cow, ops::Range, sync::Arc};

use super::{CachePlan, Memo};
use crate::{
    digest::Digest,
    finding::Finding,
    profile::Stability,
    turn::{ConversationMessage, Role},
};

/// An assembled prompt. It borrows what the snapshot and the turn already hold.
#[derive(Debug, Clone)]
pub struct Prompt<'a> {
    /// In context-window order.
    pub messages: Vec<Message<'a>>,
    /// In profile order, left-out ones included.
    pub sections: Vec<SectionReport<'a>>,
    /// What bears on this prompt, most severe first.
    pub findings: Vec<Cow<'a, Finding>>,
    /// SHA-256 over the messages' digests.
    pub digest: Digest,
    /// Totals over all messages.
    pub size: Size,
    /// How much of the front stays the same from turn to turn.
    pub cache_plan: CachePlan,
}

/// One message.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// Its role.
    pub role: Role,
    /// The profile's name for it; empty on a message of the conversation.
    pub name: &'a str,
    /// Its text.
    pub content: Cow<'a, str>,
    /// Must not be written to the conversation history.
    pub ephemeral: bool,
    /// Of role, name and content.
    pub digest: Digest,
    /// Of `content`.
    pub size: Size,
    /// The least stable of its sections.
    pub stability: Stability,
    /// The stable sections that it begins with.
    pub cache_prefix: Cow<'a, CachePrefix>,
    /// Set on a message of the conversation.
    pub origin: Option<ConversationOrigin<'a>>,
    /// Set on a message that the revision shares: where its encoded form is kept.
    pub memo: Option<&'a Memo>,
}

/// The stable sections that a message begins with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CachePrefix {
    /// Their bytes, separators included.
    pub bytes: u64,
    /// The digests of their chunks.
    pub digests: Vec<Digest>,
}

/// Where a message of the conversation came from.
#[derive(Debug, Clone, Copy)]
pub struct ConversationOrigin<'a> {
    /// Its index in the turn's conversation.
    pub index: u32,
    /// The message as the caller sent it.
    pub message: &'a ConversationMessage,
    /// Whether `content` is the caller's, byte for byte.
    pub unchanged: bool,
}

/// What became of one section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionReport<'a> {
    /// Its stable name, such as `skills` or `workspace_context/AGENTS.md`.
    pub id: Cow<'a, str>,
    /// What became of it.
    pub outcome: Outcome,
    /// Why it was left out or cut; empty where it was included whole.
    pub reason: Cow<'a, str>,
    /// Index into the prompt's messages, and byte range of that message's content.
    pub place: Option<(u32, Range<u32>)>,
    /// The file it was made from.
    pub source: Option<Cow<'a, Source>>,
    /// What there was to say.
    pub original: Size,
    /// What was said.
    pub included: Size,
    /// How often it changes.
    pub stability: Stability,
    /// Its number among the blocks that the revision shares; `None`: the turn made it.
    pub shared: Option<u32>,
}

impl SectionReport<'_> {
    /// The same, borrowed; it stands at `place`.
    #[must_use]
    pub fn at(&self, place: Option<(u32, Range<u32>)>) -> SectionReport<'_> {
        let (id, reason) = (Cow::Borrowed(&*self.id), Cow::Borrowed(&*self.reason));
        SectionReport { id, reason, source: self.source.as_deref().map(Cow::Borrowed), place, ..*self }
    }

    /// The same, borrowing nothing.
    #[must_use]
    pub fn into_owned(self) -> SectionReport<'static> {
        let Self { id, outcome, reason, place, source, original, included, stability, shared } = self;
        let (id, reason) = (Cow::Owned(id.into_owned()), Cow::Owned(reason.into_owned()));
        let source = source.map(|source| Cow::Owned(source.into_owned()));
        SectionReport { id, outcome, reason, place, source, original, included, stability, shared }
    }
}

/// The file that a section was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Relative to the workspace; `@shared/…` for shared skills.
    pub path: Arc<str>,
    /// SHA-256 of the file's bytes, in hex.
    pub sha256: Arc<str>,
}

/// What became of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Included whole.
    Included,
    /// A part was kept out by a limit or a fault.
    Truncated,
    /// Had nothing to say here, or was not asked for: no loss.
    Omitted,
    /// Had content, and a limit or a fault kept all of it out.
    Dropped,
}

impl Outcome {
    /// Whether something was lost.
    #[must_use]
    pub fn is_loss(self) -> bool {
        matches!(self, Self::Truncated | Self::Dropped)
    }
}

/// A text's size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// In UTF-8 bytes.
    pub bytes: u64,
    /// In Unicode scalar values.
    pub chars: u64,
    /// In tokens; only where asked for.
    pub tokens: Option<u64>,
}

/// The size of a text, without tokens.
#[must_use]
pub fn measure(text: &str) -> Size {
    Size { bytes: text.len() as u64, chars: text.chars().count() as u64, tokens: None }
}
