//! A section's text with its report.

use std::borrow::Cow;

use crate::{
    digest::Digest,
    profile::Stability,
    prompt::output::{Outcome, SectionReport, Size, Source, digest},
};

/// A text and what became of it.
#[derive(Debug, Clone)]
pub(crate) struct TextBlock<'a> {
    text: String,
    /// The text's characters.
    chars: u64,
    /// What stands before it instead of its section's separator.
    separator: Option<String>,
    /// The report, its place still open.
    pub report: SectionReport<'a>,
    /// The digests of its chunk, where it stands first in its message and where it does not; a block that a revision
    /// shares has them ready.
    chunks: Option<[Digest; 2]>,
}

impl<'a> TextBlock<'a> {
    /// The text; empty: nothing.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// How many characters the text has.
    pub(crate) fn chars(&self) -> u64 {
        self.chars
    }

    /// What stands before it where it is not the first of its message. `sections` is its section's separator.
    pub(crate) fn separator<'s>(&'s self, sections: &'s str) -> &'s str {
        self.separator.as_deref().unwrap_or(sections)
    }

    /// Adds to the text what its report does not count.
    pub(crate) fn append(&mut self, text: &str) {
        self.text.push_str(text);
        self.chars += Size::of(text).chars;
        self.chunks = None;
    }

    /// Makes the digests ready. `separator` is its section's.
    pub(crate) fn hash(&mut self, separator: &str) {
        let separator = self.separator(separator);
        self.chunks = Some([digest::chunk("", &self.text), digest::chunk(separator, &self.text)]);
    }

    /// The digest of its chunk, with the separator that stands before it.
    pub(crate) fn chunk(&self, separator: &str) -> Digest {
        match self.chunks {
            Some([first, _]) if separator.is_empty() => first,
            Some([_, following]) => following,
            None => digest::chunk(separator, &self.text),
        }
    }

    /// A block that says all there was to say. Blank text is as good as none.
    pub(crate) fn included(id: impl Into<Cow<'a, str>>, stability: Stability, text: String) -> Self {
        let size = Size::of(&text);
        Self { text, chars: size.chars, ..Self::without_text(id, Outcome::Included, "", stability, size, size) }
    }

    /// A block that had nothing to say.
    pub(crate) fn omitted(id: impl Into<Cow<'a, str>>, stability: Stability, reason: impl Into<Cow<'a, str>>) -> Self {
        Self::without_text(id, Outcome::Omitted, reason, stability, Size::default(), Size::default())
    }

    /// A block that had something to say, and all of it was kept out.
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

    /// The same block, made from a file.
    #[must_use]
    pub(crate) fn made_from(mut self, source: Source) -> Self {
        self.report.source = Some(Cow::Owned(source));
        self
    }

    /// The same block, with a separator of its own; `None`: its section's.
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
            stability,
            shared: None,
        };
        Self { text: String::new(), chars: 0, separator: None, report, chunks: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_that_were_ready_do_not_outlive_a_change() {
        let mut block = TextBlock::included("one", Stability::Stable, "text".into());
        block.hash("\n");
        assert_eq!([block.chunk(""), block.chunk("\n")], ["text", "\ntext"].map(|all| digest::chunk("", all)));
        block.append(" more");
        assert_eq!(block.chunk(""), digest::chunk("", "text more"));
        block.hash("\n");
        let block = block.separated_by(Some("--".into()));
        assert_eq!(block.separator("\n"), "--");
        assert_eq!(block.chunk("--"), digest::chunk("--", "text more"));
    }
}
