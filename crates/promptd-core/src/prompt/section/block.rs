//! A section's text with its report.

use std::borrow::Cow;

use crate::{
    digest::Digest,
    finding::Place,
    profile::Stability,
    prompt::{
        output::{Outcome, SectionReport, Size, Source, Span, digest},
        trace::Text,
    },
    workspace::Snapshot,
};

/// A text and what became of it.
#[derive(Debug, Clone)]
pub(crate) struct TextBlock<'a> {
    text: Text,
    /// The text's characters.
    chars: u64,
    /// The separator before it, instead of its section's.
    separator: Option<String>,
    /// The report; its position is known only once the message is joined.
    pub report: SectionReport<'a>,
    /// The digests of its chunk as the first of its message and as a later one; made in advance for a block that a
    /// revision shares.
    chunks: Option<[Digest; 2]>,
}

impl<'a> TextBlock<'a> {
    /// The text; may be empty.
    pub(crate) fn text(&self) -> &str {
        self.text.as_str()
    }

    /// The text, which the block no longer has.
    pub(crate) fn take_text(&mut self) -> String {
        std::mem::take(&mut self.text).into_string()
    }

    /// Where the text's bytes came from, for a text that begins at byte `start` of its message.
    pub(crate) fn spans(&self, start: u32) -> Box<[Span]> {
        self.text.trace().map(|trace| trace.spans(start)).unwrap_or_default()
    }

    /// The same block, with the trace of the same text that was rendered with spans.
    #[must_use]
    pub(crate) fn traced_by(mut self, other: &TextBlock<'_>) -> Self {
        if self.text() == other.text() {
            self.text = other.text.clone();
        }
        self
    }

    /// How many characters the text has.
    pub(crate) fn chars(&self) -> u64 {
        self.chars
    }

    /// The separator before it where it is not the first of its message. `sections` is its section's separator.
    pub(crate) fn separator<'s>(&'s self, sections: &'s str) -> &'s str {
        self.separator.as_deref().unwrap_or(sections)
    }

    /// Adds to the text what its report does not count.
    pub(crate) fn append(&mut self, text: &Text) {
        self.text.append(text);
        self.chars += Size::of(text.as_str()).chars;
        self.chunks = None;
    }

    /// Computes the digests in advance. `separator` is its section's.
    pub(crate) fn hash(&mut self, separator: &str) {
        let separator = self.separator(separator);
        self.chunks = Some([digest::chunk("", self.text()), digest::chunk(separator, self.text())]);
    }

    /// The digest of its chunk, with the separator before it.
    pub(crate) fn chunk(&self, separator: &str) -> Digest {
        match self.chunks {
            Some([first, _]) if separator.is_empty() => first,
            Some([_, following]) => following,
            None => digest::chunk(separator, self.text()),
        }
    }

    /// A block with all of its text.
    pub(crate) fn included(id: impl Into<Cow<'a, str>>, stability: Stability, text: Text) -> Self {
        let size = Size::of(text.as_str());
        Self { text, chars: size.chars, ..Self::without_text(id, Outcome::Included, "", stability, size, size) }
    }

    /// A block without text.
    pub(crate) fn omitted(id: impl Into<Cow<'a, str>>, stability: Stability, reason: impl Into<Cow<'a, str>>) -> Self {
        Self::without_text(id, Outcome::Omitted, reason, stability, Size::default(), Size::default())
    }

    /// The block for a file that gave no document.
    pub(crate) fn absent(id: impl Into<Cow<'a, str>>, stability: Stability, snapshot: &Snapshot, path: &str) -> Self {
        match snapshot.unusable.get(path).or_else(|| snapshot.nested.unusable(path)) {
            Some(finding) => {
                let file = match &finding.place {
                    Place::File { path, .. } => path.as_str(),
                    Place::Unplaced | Place::Field(_) => path,
                };
                let source = Source::new(file, "");
                let reason = format!("{path}: {}.", finding.message);
                Self::dropped(id, stability, reason, Size::default()).made_from(source)
            }
            None => Self::omitted(id, stability, format!("The workspace has no {path}.")),
        }
    }

    /// A block whose text was kept out as a whole.
    pub(crate) fn dropped(
        id: impl Into<Cow<'a, str>>,
        stability: Stability,
        reason: impl Into<Cow<'a, str>>,
        original: Size,
    ) -> Self {
        Self::without_text(id, Outcome::Dropped, reason, stability, original, Size::default())
    }

    /// The same block, of which a part was kept out.
    #[must_use]
    pub(crate) fn truncated(mut self, reason: impl Into<Cow<'a, str>>, original: Size, included: Size) -> Self {
        self.report.outcome = Outcome::Truncated;
        self.report.reason = reason.into();
        self.report.original = original;
        self.report.included = included;
        self
    }

    /// The same block, of which the profile's own limit shows a part, as it is meant to.
    #[must_use]
    pub(crate) fn limited(mut self, reason: impl Into<Cow<'a, str>>, original: Size) -> Self {
        self.report.reason = reason.into();
        self.report.original = original;
        self
    }

    /// The same block, made from a file.
    #[must_use]
    pub(crate) fn made_from(mut self, source: Source) -> Self {
        self.report.source = Some(Cow::Owned(source));
        self
    }

    /// The same block, which its own limit lets have so many characters; `usize::MAX`: it has no such limit.
    #[must_use]
    pub(crate) fn of_at_most(mut self, chars: usize) -> Self {
        self.report.max_chars = (chars < usize::MAX).then_some(chars as u64);
        self
    }

    /// The same block, whose own limit lets a part of it have so many characters; now that part has `part_chars`.
    #[must_use]
    pub(crate) fn with_part_of_at_most(self, chars: usize, part_chars: usize) -> Self {
        let around = usize::try_from(self.chars).unwrap_or(usize::MAX).saturating_sub(part_chars);
        self.of_at_most(chars.saturating_add(around))
    }

    /// The same block with its own separator; `None`: its section's.
    #[must_use]
    pub(crate) fn separated_by(mut self, separator: Option<String>) -> Self {
        self.separator = separator;
        self.chunks = None;
        self
    }

    /// The same block, borrowing nothing.
    pub(crate) fn into_owned(self) -> TextBlock<'static> {
        let Self { text, chars, separator, report, chunks } = self;
        TextBlock { text, chars, separator, report: report.into_owned(), chunks }
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
        let report = SectionReport {
            id,
            outcome,
            reason,
            position: None,
            source: None,
            original,
            included,
            max_chars: None,
            stability,
            shared: None,
            spans: Box::default(),
        };
        Self { text: Text::default(), chars: 0, separator: None, report, chunks: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_discards_digests_computed_before() {
        let mut block = TextBlock::included("one", Stability::Stable, "text".to_owned().into());
        block.hash("\n");
        assert_eq!([block.chunk(""), block.chunk("\n")], ["text", "\ntext"].map(|all| digest::chunk("", all)));
        block.append(&" more".to_owned().into());
        assert_eq!(block.chunk(""), digest::chunk("", "text more"));
        block.hash("\n");
        let block = block.separated_by(Some("--".into()));
        assert_eq!(block.separator("\n"), "--");
        assert_eq!(block.chunk("--"), digest::chunk("--", "text more"));
    }
}
