//! Section reports: what became of each section.

use std::{borrow::Cow, ops::Range, sync::Arc};

use super::Span;
use crate::{profile::Stability, workspace::in_layer};

/// What became of one section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionReport<'a> {
    /// Its stable name, such as `skills` or `workspace_context/AGENTS.md`.
    pub id: Cow<'a, str>,
    /// What became of it.
    pub outcome: Outcome,
    /// Why it was left out, cut or limited; empty where it was included whole.
    pub reason: Cow<'a, str>,
    /// Where its text is in the prompt; `None` where it has no text.
    pub position: Option<Position>,
    /// The file it was made from.
    pub source: Option<Cow<'a, Source>>,
    /// The size of what there was to say.
    pub original: Size,
    /// The size of what was said, without markers.
    pub included: Size,
    /// The most characters that a limit of its own lets `included` have, the marker of a cut counted.
    pub max_chars: Option<u64>,
    /// How often it changes.
    pub stability: Stability,
    /// Its number among the blocks that the revision shares; `None`: made for this turn.
    pub shared: Option<u32>,
    /// Where its bytes came from: every byte once, in order. Empty unless spans are asked for.
    pub spans: Box<[Span]>,
}

/// Where a section's text is in a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The text that it is part of.
    pub holder: Holder,
    /// Byte range of that text.
    pub bytes: Range<u32>,
}

/// What a section's text is part of; messages come before cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holder {
    /// Index into [`Prompt::messages`](super::Prompt::messages).
    Message(u32),
    /// Index into [`Prompt::cards`](super::Prompt::cards).
    Card(u32),
}

impl Holder {
    /// The same place in a list whose first `count` messages come before.
    pub(crate) fn after(self, count: u32) -> Self {
        match self {
            Self::Message(index) => Self::Message(index.saturating_add(count)),
            Self::Card(index) => Self::Card(index),
        }
    }
}

impl Position {
    /// The byte range as `usize`, to index a text with.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.bytes.start as usize..self.bytes.end as usize
    }
}

impl SectionReport<'_> {
    /// The same report borrowed, with another position, and without spans, which are for one position.
    #[must_use]
    pub(crate) fn at(&self, position: Option<Position>) -> SectionReport<'_> {
        let (id, reason) = (Cow::Borrowed(&*self.id), Cow::Borrowed(&*self.reason));
        let source = self.source.as_deref().map(Cow::Borrowed);
        let Self { outcome, original, included, max_chars, stability, shared, .. } = *self;
        SectionReport {
            id,
            outcome,
            reason,
            position,
            source,
            original,
            included,
            max_chars,
            stability,
            shared,
            spans: Box::default(),
        }
    }

    /// The same report, borrowing nothing.
    #[must_use]
    pub fn into_owned(self) -> SectionReport<'static> {
        let (id, reason) = (Cow::Owned(self.id.into_owned()), Cow::Owned(self.reason.into_owned()));
        let source = self.source.map(|source| Cow::Owned(source.into_owned()));
        SectionReport { id, reason, source, ..self }
    }
}

/// The file that a section was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Relative to the workspace; `@shared/…` for shared skills, `@layers/ID/…` for files of a layer; empty where the layer is
    /// hidden.
    pub path: Arc<str>,
    /// SHA-256 of the file's bytes, in hex; empty where the file could not be read.
    pub sha256: Arc<str>,
    /// The layer that the file is of: its id, or its number where it is hidden; `None`: the workspace itself.
    pub layer: Option<Arc<str>>,
}

impl Source {
    /// A file, by its name in findings and reports.
    #[must_use]
    pub fn new(path: impl Into<Arc<str>>, sha256: impl Into<Arc<str>>) -> Self {
        let path = path.into();
        let layer = in_layer(&path).map(|(id, _)| id.into());
        Self { path, sha256: sha256.into(), layer }
    }
}

/// What became of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Included whole, or as much of it as the profile is meant to show: the sizes then differ.
    Included,
    /// A limit or a fault kept a part out.
    Truncated,
    /// It had nothing to say, or was not asked for: no loss.
    Omitted,
    /// It had content, and a limit or a fault kept all of it out.
    Dropped,
}

impl Outcome {
    /// Lower-case name, as the command line writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Included => "included",
            Self::Truncated => "truncated",
            Self::Omitted => "omitted",
            Self::Dropped => "dropped",
        }
    }

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
    /// In tokens; only after [`count_tokens`](crate::prompt::count_tokens).
    pub tokens: Option<u64>,
}

impl Size {
    /// The size of a text, without tokens.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self { bytes: text.len() as u64, chars: text.chars().count() as u64, tokens: None }
    }

    /// The size of several texts, without tokens.
    #[must_use]
    pub(crate) fn sum(sizes: impl Iterator<Item = Self>) -> Self {
        sizes.fold(Self::default(), |sum, size| Self {
            bytes: sum.bytes + size.bytes,
            chars: sum.chars + size.chars,
            tokens: None,
        })
    }
}
