//! What a section gives: pieces of text with their reports.

use std::borrow::Cow;

use super::{Digest, Outcome, Section, Size, Source, Stability, answer::measure, digest};
use crate::finding::Finding;

/// A section rendered: one piece, or several for a section of sections.
#[derive(Debug, Clone, Default)]
pub struct Rendered {
    /// In order; a piece without text is reported and nothing more.
    pub pieces: Vec<Piece>,
    /// What there is to tell.
    pub findings: Vec<Finding>,
}

/// A text and what became of it.
#[derive(Debug, Clone)]
pub struct Piece {
    /// The text; empty: nothing.
    pub text: String,
    /// What stands before it instead of its section's separator.
    pub separator: Option<String>,
    /// The report, its place still open.
    pub report: Section,
    /// The digests of its chunk, where it stands first in its message and where it does not; a piece that a revision
    /// shares has them ready.
    chunks: Option<[Digest; 2]>,
}

impl Piece {
    /// Makes the digests ready. `separator` is its section's.
    pub fn hash(&mut self, separator: &str) {
        let separator = self.separator.as_deref().unwrap_or(separator);
        self.chunks = Some([digest::chunk("", &self.text), digest::chunk(separator, &self.text)]);
    }

    /// The digest of its chunk, with the separator that stands before it.
    pub fn chunk(&self, separator: &str) -> Digest {
        match self.chunks {
            Some([first, _]) if separator.is_empty() => first,
            Some([_, following]) => following,
            None => digest::chunk(separator, &self.text),
        }
    }

    /// A piece that says all there was to say. Blank text is as good as none.
    pub fn included(id: impl Into<Cow<'static, str>>, stability: Stability, text: String) -> Self {
        let size = measure(&text);
        Self { text, separator: None, report: report(id, Outcome::Included, "", stability, size, size), chunks: None }
    }

    /// A piece that had nothing to say.
    pub fn omitted(
        id: impl Into<Cow<'static, str>>,
        stability: Stability,
        reason: impl Into<Cow<'static, str>>,
    ) -> Self {
        let nothing = Size::default();
        let report = report(id, Outcome::Omitted, reason, stability, nothing, nothing);
        Self { text: String::new(), separator: None, report, chunks: None }
    }

    /// A piece that had something to say, and all of it was kept out.
    pub fn dropped(
        id: impl Into<Cow<'static, str>>,
        stability: Stability,
        reason: impl Into<Cow<'static, str>>,
        original: Size,
    ) -> Self {
        let report = report(id, Outcome::Dropped, reason, stability, original, Size::default());
        Self { text: String::new(), separator: None, report, chunks: None }
    }

    /// The same piece, of which a part was kept out.
    #[must_use]
    pub fn truncated(mut self, reason: impl Into<Cow<'static, str>>, original: Size, included: Size) -> Self {
        self.report.outcome = Outcome::Truncated;
        self.report.reason = reason.into();
        self.report.original = original;
        self.report.included = included;
        self
    }

    /// The same piece, made from a file.
    #[must_use]
    pub fn made_from(mut self, source: Option<Source>) -> Self {
        self.report.source = source;
        self
    }
}

fn report(
    id: impl Into<Cow<'static, str>>,
    outcome: Outcome,
    reason: impl Into<Cow<'static, str>>,
    stability: Stability,
    original: Size,
    included: Size,
) -> Section {
    let (id, reason) = (id.into(), reason.into());
    Section { id, outcome, reason, place: None, source: None, original, included, stability, shared: None }
}

impl From<Piece> for Rendered {
    fn from(piece: Piece) -> Self {
        Self { pieces: vec![piece], findings: Vec::new() }
    }
}
