//! What a section gives: pieces of text with their reports.

use std::borrow::Cow;

use super::{Outcome, Section, Size, Source, answer::measure, digest};
use crate::{digest::Digest, finding::Finding, profile::Stability};

/// A section rendered: one piece, or several for a section of sections.
#[derive(Debug, Clone, Default)]
pub struct Rendered<'a> {
    /// In order; a piece without text is reported and nothing more.
    pub pieces: Vec<Piece<'a>>,
    /// What there is to tell.
    pub findings: Vec<Finding>,
}

/// A text and what became of it.
#[derive(Debug, Clone)]
pub struct Piece<'a> {
    text: String,
    /// The text's characters.
    chars: u64,
    /// What stands before it instead of its section's separator.
    separator: Option<String>,
    /// The report, its place still open.
    pub report: Section<'a>,
    /// The digests of its chunk, where it stands first in its message and where it does not; a piece that a revision
    /// shares has them ready.
    chunks: Option<[Digest; 2]>,
}

impl<'a> Piece<'a> {
    /// The text; empty: nothing.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many characters the text has.
    pub fn chars(&self) -> u64 {
        self.chars
    }

    /// What stands before it where it is not the first of its message. `sections` is its section's separator.
    pub fn separator<'s>(&'s self, sections: &'s str) -> &'s str {
        self.separator.as_deref().unwrap_or(sections)
    }

    /// Adds to the text what its report does not count.
    pub fn append(&mut self, text: &str) {
        self.text.push_str(text);
        self.chars += measure(text).chars;
        self.chunks = None;
    }

    /// Makes the digests ready. `separator` is its section's.
    pub fn hash(&mut self, separator: &str) {
        let separator = self.separator(separator);
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
    pub fn included(id: impl Into<Cow<'a, str>>, stability: Stability, text: String) -> Self {
        let size = measure(&text);
        Self { text, chars: size.chars, ..Self::without_text(id, Outcome::Included, "", stability, size, size) }
    }

    /// A piece that had nothing to say.
    pub fn omitted(id: impl Into<Cow<'a, str>>, stability: Stability, reason: impl Into<Cow<'a, str>>) -> Self {
        Self::without_text(id, Outcome::Omitted, reason, stability, Size::default(), Size::default())
    }

    /// A piece that had something to say, and all of it was kept out.
    pub fn dropped(
        id: impl Into<Cow<'a, str>>,
        stability: Stability,
        reason: impl Into<Cow<'a, str>>,
        original: Size,
    ) -> Self {
        Self::without_text(id, Outcome::Dropped, reason, stability, original, Size::default())
    }

    /// The same piece, of which a part was kept out.
    #[must_use]
    pub fn truncated(mut self, reason: impl Into<Cow<'a, str>>, original: Size, included: Size) -> Self {
        self.report.outcome = Outcome::Truncated;
        self.report.reason = reason.into();
        self.report.original = original;
        self.report.included = included;
        self
    }

    /// The same piece, made from a file.
    #[must_use]
    pub fn made_from(mut self, source: Source) -> Self {
        self.report.source = Some(Cow::Owned(source));
        self
    }

    /// The same piece, with a separator of its own; `None`: its section's.
    #[must_use]
    pub fn separated_by(mut self, separator: Option<String>) -> Self {
        self.separator = separator;
        self.chunks = None;
        self
    }

    fn without_text(
        id: impl Into<Cow<'a, str>>,
        outcome: Outcome,
        reason: impl Into<Cow<'a, str>>,
        stability: Stability,
        original: Size,
        included: Size,
    ) -> Self {
        let (id, reason) = (id.into(), reason.into());
        let report =
            Section { id, outcome, reason, place: None, source: None, original, included, stability, shared: None };
        Self { text: String::new(), chars: 0, separator: None, report, chunks: None }
    }
}

impl Rendered<'_> {
    /// The same, borrowing nothing.
    pub fn into_owned(self) -> Rendered<'static> {
        let owned = |Piece { text, chars, separator, report, chunks }: Piece<'_>| {
            let report = report.into_owned();
            Piece { text, chars, separator, report, chunks }
        };
        Rendered { pieces: self.pieces.into_iter().map(owned).collect(), findings: self.findings }
    }
}

impl<'a> From<Piece<'a>> for Rendered<'a> {
    fn from(piece: Piece<'a>) -> Self {
        Self { pieces: vec![piece], findings: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_that_were_ready_do_not_outlive_a_change() {
        let mut piece = Piece::included("one", Stability::Stable, "text".into());
        piece.hash("\n");
        assert_eq!([piece.chunk(""), piece.chunk("\n")], ["text", "\ntext"].map(|all| digest::chunk("", all)));
        piece.append(" more");
        assert_eq!(piece.chunk(""), digest::chunk("", "text more"));
        piece.hash("\n");
        let piece = piece.separated_by(Some("--".into()));
        assert_eq!(piece.separator("\n"), "--");
        assert_eq!(piece.chunk("--"), digest::chunk("--", "text more"));
    }
}
