//! A message of the profile's own: its sections' texts joined, each with its position.

use std::borrow::Cow;

use crate::{
    digest::Digest,
    profile::{MessageSpec, Stability},
    prompt::{
        output::{CachePrefix, Holder, Memo, Message, Position, SectionReport, Size, digest::MessageDigest},
        section::{Blocks, TextBlock},
    },
    text::clamped,
};

/// A section of a message: one that the revision shares, or one that was rendered for this turn.
#[expect(clippy::large_enum_variant, reason = "they lie in one list, made once a prompt")]
pub(super) enum Section<'a> {
    Shared(&'a [TextBlock<'a>]),
    Own(Blocks<'a>),
}

impl<'a> Section<'a> {
    fn blocks(&self) -> &[TextBlock<'a>] {
        match self {
            Self::Shared(blocks) => blocks,
            Self::Own(blocks) => blocks,
        }
    }
}

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
        sections: &mut Vec<Section<'a>>,
        holder: Holder,
        reports: &mut Vec<SectionReport<'a>>,
    ) -> Self {
        let mut builder = Builder::new(spec, holder, sections);
        for (blocks, section) in sections.drain(..).zip(&spec.sections) {
            let separator = section.separator.as_deref().unwrap_or(&spec.separator);
            match blocks {
                Section::Shared(blocks) => reports.extend(blocks.iter().map(|block| {
                    let position = builder.place(block, separator);
                    builder.push(block.text());
                    block.report.at(position)
                })),
                Section::Own(blocks) => reports.extend(blocks.into_iter().map(|mut block| {
                    let position = builder.place(&block, separator);
                    let spans = position.as_ref().map(|at| block.spans(at.bytes.start)).unwrap_or_default();
                    builder.push_own(&mut block);
                    SectionReport { position, spans, ..block.report }
                })),
            }
        }
        builder.finish()
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
    holder: Holder,
    content: String,
    /// How many bytes the content will have at most, and of how many texts.
    length: usize,
    texts: usize,
    chars: u64,
    stability: Stability,
    digest: MessageDigest,
    cache_prefix: CachePrefix,
}

impl Builder {
    /// Nothing yet of a message of these sections.
    fn new(spec: &MessageSpec, holder: Holder, sections: &[Section<'_>]) -> Self {
        /// Separators are short.
        const SEPARATOR: usize = 2;
        let blocks = sections.iter().flat_map(Section::blocks).filter(|block| !block.text().is_empty());
        let (length, texts) =
            blocks.fold((0, 0), |(length, texts), block| (length + block.text().len() + SEPARATOR, texts + 1));
        Self {
            holder,
            content: String::new(),
            length,
            texts,
            chars: 0,
            stability: Stability::Stable,
            digest: MessageDigest::new(spec.role, &spec.name),
            cache_prefix: CachePrefix::default(),
        }
    }

    /// Makes place for a block's text, after its separator where it is not the first; `None`: it has no text.
    fn place(&mut self, block: &TextBlock<'_>, separator: &str) -> Option<Position> {
        if block.text().is_empty() {
            self.cache_prefix.has_gap |= block.report.stability == Stability::Volatile;
            return None;
        }
        let separator = if self.content.is_empty() { "" } else { block.separator(separator) };
        self.push(separator);
        let (start, end) = (self.content.len(), self.content.len() + block.text().len());
        self.chars += Size::of(separator).chars + block.chars();
        let chunk = block.chunk(separator);
        self.digest.add(chunk);
        self.stability = self.stability.max(block.report.stability);
        let prefix = &mut self.cache_prefix;
        if self.stability == Stability::Stable && !prefix.has_gap {
            prefix.bytes = end as u64;
            prefix.chunks.push(chunk);
        }
        if self.stability <= Stability::Session && !prefix.has_gap {
            prefix.session_bytes = end as u64;
        }
        Some(Position { holder: self.holder, bytes: clamped(start)..clamped(end) })
    }

    fn push(&mut self, text: &str) {
        if self.content.capacity() == 0 && !text.is_empty() {
            self.content.reserve_exact(self.length);
        }
        self.content.push_str(text);
    }

    /// The same of a block that is not needed any more: a message's only text is its content, and not copied.
    fn push_own(&mut self, block: &mut TextBlock<'_>) {
        if self.texts == 1 && self.content.is_empty() {
            self.content = block.take_text();
        } else {
            self.push(block.text());
        }
    }

    fn finish(self) -> JoinedMessage {
        JoinedMessage {
            size: Size { bytes: self.content.len() as u64, chars: self.chars, tokens: None },
            content: self.content,
            stability: self.stability,
            digest: self.digest.finish(),
            cache_prefix: self.cache_prefix,
        }
    }
}
