//! A message put together: its sections' texts joined, each with its place.

use std::{borrow::Cow, ops::Range};

use super::{CachePrefix, SectionReport, Size, answer::measure, block::TextBlock, digest};
use crate::{
    digest::Digest,
    profile::{MessageSpec, Stability},
    text::clamped,
};

/// A message made of its sections.
pub struct BuiltMessage {
    /// Its text; empty: no message.
    pub content: String,
    /// The text's size.
    pub size: Size,
    /// The least stable of the sections with text.
    pub stability: Stability,
    /// The message's digest.
    pub digest: Digest,
    /// The stable sections that it begins with.
    pub cache_prefix: CachePrefix,
}

/// Joins the sections of a message that will stand at `index`, and adds their reports to `reports`.
pub fn build<'a>(
    spec: &MessageSpec,
    sections: Vec<Cow<'a, [TextBlock<'a>]>>,
    index: u32,
    reports: &mut Vec<SectionReport<'a>>,
) -> BuiltMessage {
    let length = sections.iter().flat_map(|blocks| blocks.iter()).map(|block| block.text().len() + 2).sum();
    let mut joined = MessageBuilder::with_capacity(length);
    for (blocks, section) in sections.into_iter().zip(&spec.sections) {
        let separator = section.separator.as_deref().unwrap_or(&spec.separator);
        let mut place = |block: &TextBlock<'_>| joined.add(block, separator).map(|range| (index, range));
        match blocks {
            Cow::Borrowed(blocks) => reports.extend(blocks.iter().map(|block| block.report.at(place(block)))),
            Cow::Owned(blocks) => {
                reports.extend(blocks.into_iter().map(|block| SectionReport { place: place(&block), ..block.report }));
            }
        }
    }
    joined.finish(spec)
}

/// The sections joined so far.
struct MessageBuilder {
    content: String,
    chars: u64,
    stability: Stability,
    chunks: Vec<Digest>,
    /// How many bytes and chunks the stable front has.
    front: (u64, usize),
}

impl MessageBuilder {
    fn with_capacity(bytes: usize) -> Self {
        let content = String::with_capacity(bytes);
        Self { content, chars: 0, stability: Stability::Stable, chunks: Vec::with_capacity(8), front: (0, 0) }
    }

    /// Adds a block, after its separator where it is not the first; gives its place. `None`: it has no text.
    fn add(&mut self, block: &TextBlock<'_>, separator: &str) -> Option<Range<u32>> {
        if block.text().is_empty() {
            return None;
        }
        let separator = if self.content.is_empty() { "" } else { block.separator(separator) };
        self.content.push_str(separator);
        let start = self.content.len();
        self.content.push_str(block.text());
        self.chars += measure(separator).chars + block.chars();
        self.chunks.push(block.chunk(separator));
        self.stability = self.stability.max(block.report.stability);
        if self.stability == Stability::Stable {
            self.front = (self.content.len() as u64, self.chunks.len());
        }
        Some(clamped(start)..clamped(self.content.len()))
    }

    fn finish(mut self, spec: &MessageSpec) -> BuiltMessage {
        let digest = digest::message(spec.role, &spec.name, &self.chunks);
        self.chunks.truncate(self.front.1);
        BuiltMessage {
            size: Size { bytes: self.content.len() as u64, chars: self.chars, tokens: None },
            content: self.content,
            stability: self.stability,
            digest,
            cache_prefix: CachePrefix { bytes: self.front.0, digests: self.chunks },
        }
    }
}
