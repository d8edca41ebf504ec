//! A message of the profile's own: its sections' texts joined, each with its position.

use std::{borrow::Cow, ops::Range};

use crate::{
    digest::Digest,
    profile::{MessageSpec, Stability},
    prompt::{
        output::{CachePrefix, Holder, Memo, Message, Position, SectionReport, Size, digest},
        section::TextBlock,
    },
    text::clamped,
};

/// A message joined from its sections.
#[derive(Debug)]
pub(super) struct JoinedMessage {
    /// Its text; empty: there is no message.
    pub content: String,
    size: Size,
    stability: Stability,
    digest: Digest,
    pub cache_prefix: CachePrefix,
}

impl JoinedMessage {
    /// Joins the sections of a message that will be at `holder`, and adds their reports to `reports`.
    pub(super) fn new<'a>(
        spec: &MessageSpec,
        sections: Vec<Cow<'a, [TextBlock<'a>]>>,
        holder: Holder,
        reports: &mut Vec<SectionReport<'a>>,
    ) -> Self {
        let length = sections.iter().flat_map(|blocks| blocks.iter()).map(|block| block.text().len() + 2).sum();
        let mut builder = Builder::with_capacity(length);
        for (blocks, section) in sections.into_iter().zip(&spec.sections) {
            let separator = section.separator.as_deref().unwrap_or(&spec.separator);
            let mut position =
                |block: &TextBlock<'_>| builder.add(block, separator).map(|bytes| Position { holder, bytes });
            match blocks {
                Cow::Borrowed(blocks) => reports.extend(blocks.iter().map(|block| block.report.at(position(block)))),
                Cow::Owned(blocks) => reports.extend(blocks.into_iter().map(|block| {
                    let position = position(&block);
                    let spans = position.as_ref().map(|at| block.spans(at.bytes.start)).unwrap_or_default();
                    SectionReport { position, spans, ..block.report }
                })),
            }
        }
        builder.finish(spec)
    }

    /// The prompt's message, made for one turn.
    pub(super) fn into_message(self, spec: &MessageSpec) -> Message<'_> {
        let Self { content, size, stability, digest, cache_prefix } = self;
        Message {
            role: spec.role,
            name: &spec.name,
            content: Cow::Owned(content),
            ephemeral: spec.ephemeral,
            digest,
            size,
            stability,
            cache_prefix: Cow::Owned(cache_prefix),
            origin: None,
            memo: None,
        }
    }

    /// The prompt's message, shared by all prompts of a revision.
    pub(super) fn shared<'a>(&'a self, spec: &'a MessageSpec, memo: &'a Memo) -> Message<'a> {
        Message {
            role: spec.role,
            name: &spec.name,
            content: Cow::Borrowed(&self.content),
            ephemeral: spec.ephemeral,
            digest: self.digest,
            size: self.size,
            stability: self.stability,
            cache_prefix: Cow::Borrowed(&self.cache_prefix),
            origin: None,
            memo: Some(memo),
        }
    }
}

/// The sections joined so far.
struct Builder {
    content: String,
    chars: u64,
    stability: Stability,
    chunks: Vec<Digest>,
    /// How many bytes and chunks are in the stable prefix.
    stable: (u64, usize),
    /// How many bytes are in the prefix that stays the same through a session.
    session: u64,
    has_gap: bool,
}

impl Builder {
    fn with_capacity(bytes: usize) -> Self {
        let content = String::with_capacity(bytes);
        let chunks = Vec::with_capacity(8);
        Self { content, chars: 0, stability: Stability::Stable, chunks, stable: (0, 0), session: 0, has_gap: false }
    }

    /// Adds a block, after its separator where it is not the first, and returns its byte range; `None`: it has no text.
    fn add(&mut self, block: &TextBlock<'_>, separator: &str) -> Option<Range<u32>> {
        if block.text().is_empty() {
            self.has_gap |= block.report.stability == Stability::Volatile;
            return None;
        }
        let separator = if self.content.is_empty() { "" } else { block.separator(separator) };
        self.content.push_str(separator);
        let start = self.content.len();
        self.content.push_str(block.text());
        self.chars += Size::of(separator).chars + block.chars();
        self.chunks.push(block.chunk(separator));
        self.stability = self.stability.max(block.report.stability);
        let end = self.content.len() as u64;
        if self.stability == Stability::Stable && !self.has_gap {
            self.stable = (end, self.chunks.len());
        }
        if self.stability <= Stability::Session && !self.has_gap {
            self.session = end;
        }
        Some(clamped(start)..clamped(self.content.len()))
    }

    fn finish(mut self, spec: &MessageSpec) -> JoinedMessage {
        let digest = digest::message(spec.role, &spec.name, &self.chunks);
        let (bytes, chunks) = self.stable;
        self.chunks.truncate(chunks);
        JoinedMessage {
            size: Size { bytes: self.content.len() as u64, chars: self.chars, tokens: None },
            content: self.content,
            stability: self.stability,
            digest,
            cache_prefix: CachePrefix {
                bytes,
                chunks: self.chunks,
                session_bytes: self.session,
                has_gap: self.has_gap,
            },
        }
    }
}
