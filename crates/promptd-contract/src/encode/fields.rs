//! The contract's messages within an answer, field by field, by their numbers in `promptd.proto`.

use super::{
    Shape,
    sink::{Fields, Sink},
};
use crate::proto;
use promptd_core::{
    digest::Digest,
    finding::{Finding, Place},
    prompt::{
        Behind, CachePlan, CarriedConversation, Holder, Message, Origin, Position, SectionReport, Size, Source, Span,
    },
    turn::ToolCall,
};

/// About how many bytes the numbers and names of a message or a section take.
const SMALL_FIELDS: usize = 40;

/// A card, and whether the caller holds it.
pub(super) struct Card<'a> {
    pub card: &'a Message<'a>,
    pub not_modified: bool,
}

impl Fields for Card<'_> {
    fn write(&self, sink: &mut Sink) {
        let Message { name, content, digest, .. } = self.card;
        sink.text(1, name);
        if !self.not_modified {
            sink.text(2, content);
        }
        sink.digest(3, *digest);
        sink.number(4, self.not_modified);
    }

    fn size_hint(&self) -> usize {
        self.card.content.len() + Digest::HEX_DIGITS + SMALL_FIELDS
    }
}

/// A message, and what of it is sent.
pub(super) struct Sent<'a> {
    pub message: &'a Message<'a>,
    pub shape: &'a Shape,
}

impl Fields for Sent<'_> {
    fn write(&self, sink: &mut Sink) {
        let Message { role, name, content, ephemeral, digest, origin, .. } = self.message;
        let not_modified = self.shape.holds(digest);
        sink.number(1, number(proto::Role::from(*role)));
        if self.has_content() {
            sink.text(2, content);
        }
        sink.text(3, name);
        sink.number(4, *ephemeral);
        if let Some(origin) = origin {
            sink.text(5, &origin.message.tool_call_id);
            for call in &origin.message.tool_calls {
                sink.message(6, call);
            }
        }
        sink.digest(7, *digest);
        sink.number(8, not_modified);
        if let Some(origin) = origin {
            sink.text(9, &origin.message.name);
            sink.some_number(10, origin.index.into());
        }
    }

    fn size_hint(&self) -> usize {
        let content = if self.has_content() { self.message.content.len() } else { 0 };
        content + Digest::HEX_DIGITS + SMALL_FIELDS
    }
}

impl Sent<'_> {
    fn has_content(&self) -> bool {
        let Message { digest, origin, .. } = self.message;
        let referenced = self.shape.reference_conversation && origin.is_some_and(|origin| origin.unchanged);
        !self.shape.holds(digest) && !referenced
    }
}

impl Fields for ToolCall {
    fn write(&self, sink: &mut Sink) {
        sink.text(1, &self.id);
        sink.text(2, &self.name);
        sink.text(3, &self.arguments_json);
    }
}

impl Fields for SectionReport<'_> {
    fn write(&self, sink: &mut Sink) {
        sink.text(1, &self.id);
        sink.number(2, number(proto::Outcome::from(self.outcome)));
        sink.text(3, &self.reason);
        if let Some(Position { holder, bytes }) = &self.position {
            if let Holder::Message(index) = holder {
                sink.some_number(4, (*index).into());
            }
            sink.number(5, bytes.start);
            sink.number(6, bytes.end);
        }
        if let Some(source) = &self.source {
            sink.message(7, &**source);
        }
        sink.message(8, &self.original);
        sink.message(9, &self.included);
        sink.number(10, number(proto::Stability::from(self.stability)));
        if let Some(Position { holder: Holder::Card(index), .. }) = &self.position {
            sink.some_number(11, (*index).into());
        }
        for span in &self.spans {
            sink.message(12, span);
        }
        if let Some(max_chars) = self.max_chars {
            sink.some_number(13, max_chars);
        }
    }

    fn size_hint(&self) -> usize {
        let source = self.source.as_ref().map_or(0, |source| source.path.len() + source.sha256.len());
        let spans: usize = self.spans.iter().map(|span| span.size_hint() + 2).sum();
        self.id.len() + self.reason.len() + source + spans + SMALL_FIELDS
    }
}

impl Fields for Span {
    fn write(&self, sink: &mut Sink) {
        sink.number(1, self.bytes.start);
        sink.number(2, self.bytes.end);
        if let Some(file) = &self.origin.file {
            sink.message(3, file);
        }
        sink.number(4, self.source.start);
        sink.number(5, self.source.end);
        sink.message(6, &*self.origin);
        sink.number(7, number(proto::How::from(self.how)));
    }

    fn size_hint(&self) -> usize {
        let file = self.origin.file.as_ref().map_or(0, |file| file.path.len() + file.sha256.len());
        file + self.origin.size_hint() + SMALL_FIELDS
    }
}

impl Fields for Origin {
    fn write(&self, sink: &mut Sink) {
        sink.number(1, number(proto::OriginKind::from(self.kind)));
        sink.text(2, &self.name);
        sink.text(3, &self.profile);
    }

    fn size_hint(&self) -> usize {
        self.name.len() + self.profile.len() + 8
    }
}

impl Fields for Source {
    fn write(&self, sink: &mut Sink) {
        sink.text(1, &self.path);
        sink.text(2, &self.sha256);
        sink.text(3, self.layer.as_deref().unwrap_or_default());
    }
}

impl Fields for Size {
    fn write(&self, sink: &mut Sink) {
        sink.number(1, self.bytes);
        sink.number(2, self.chars);
        if let Some(tokens) = self.tokens {
            sink.some_number(3, tokens);
        }
    }
}

impl Fields for Finding {
    fn write(&self, sink: &mut Sink) {
        sink.number(1, number(proto::Severity::from(self.severity)));
        sink.text(2, self.code.as_str());
        sink.text(3, &self.message);
        match &self.place {
            Place::Unplaced => {}
            Place::Field(field) => sink.text(7, field),
            Place::File { path, line, column } => {
                sink.text(4, path);
                sink.number(5, *line);
                sink.number(6, *column);
            }
        }
    }
}

impl Fields for CachePlan {
    fn write(&self, sink: &mut Sink) {
        sink.number(1, self.stable_messages);
        sink.number(2, self.stable_bytes);
        sink.digest(3, self.stable_digest);
        sink.text(4, self.behind_conversation.map_or("", Behind::as_str));
    }
}

impl Fields for CarriedConversation {
    fn write(&self, sink: &mut Sink) {
        sink.number(1, self.cut);
        sink.number(2, self.held);
        sink.number(3, self.uncovered);
        sink.number(4, self.estimated_tokens);
        sink.number(5, self.token_budget);
        for id in &self.summaries {
            sink.text(6, id);
        }
    }
}

/// An enum's number. None of the contract's is negative.
pub(super) fn number(value: impl Into<i32>) -> u64 {
    u64::from(value.into().unsigned_abs())
}
