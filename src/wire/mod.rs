//! The answer of `AssemblePrompt`, written straight into the contract's bytes.
//!
//! The generated types would want every text as a `String` of their own: an allocation and a copy for each of some
//! fifty, and one more copy of the prompt. Here a prompt's borrowed text is copied once, into a buffer of the right
//! size. A test holds the bytes to what the generated types read and write.

mod encoded;
mod numbers;
mod sink;

use self::{
    numbers::number,
    sink::{Fields, Sink},
};
use bytes::Bytes;
pub use encoded::Encoded;

use crate::{
    finding::{Code, Finding, Place},
    prompt::{CachePlan, Digest, Message, Prompt, Section, Size, Source, ToolCall},
    proto,
};

/// The most findings of one answer; what is beyond is counted in one more.
pub const MAX_FINDINGS: usize = 100;

/// About what the numbers and names of a message or a section take.
const SMALL_FIELDS: usize = 40;

/// An answer to be written.
pub struct Answer<'a> {
    /// The prompt.
    pub prompt: &'a Prompt<'a>,
    /// The snapshot's revision.
    pub revision: &'a str,
    /// The profile that was used.
    pub profile: &'a str,
    /// A provider's request fragment; may be empty.
    pub rendered: &'a str,
    /// What of it the caller wants.
    pub shape: &'a Shape,
}

/// What of an answer the caller wants.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    /// Digests of what the caller holds already, sorted.
    pub held: Vec<Digest>,
    /// Messages of the conversation that are unchanged come without content.
    pub reference_conversation: bool,
    /// Section reports are left out.
    pub omit_sections: bool,
}

impl Shape {
    fn holds(&self, digest: &Digest) -> bool {
        self.held.binary_search(digest).is_ok()
    }
}

impl Answer<'_> {
    /// An encoded `AssemblePromptResponse`.
    #[must_use]
    pub fn encode(&self) -> Encoded {
        let mut sink = Sink::with_capacity(self.size_hint());
        self.write(&mut sink);
        sink.into_encoded()
    }
}

impl Fields for Answer<'_> {
    fn write(&self, sink: &mut Sink) {
        let Self { prompt, shape, .. } = self;
        let not_modified = shape.holds(&prompt.digest);
        if !not_modified {
            for message in &prompt.messages {
                match message.encoded.filter(|_| !shape.holds(&message.digest)) {
                    Some(encoded) => sink.shared(encoded.get_or_init(|| shared(message))),
                    None => sink.message(1, &Sent { message, shape }),
                }
            }
            for section in prompt.sections.iter().filter(|_| !shape.omit_sections) {
                sink.message(2, section);
            }
        }
        for finding in prompt.findings.iter().take(MAX_FINDINGS) {
            sink.message(3, &**finding);
        }
        if let Some(rest) = prompt.findings.len().checked_sub(MAX_FINDINGS + 1) {
            sink.message(3, &omitted(rest + 1));
        }
        sink.text(4, self.revision);
        sink.digest(5, prompt.digest);
        sink.text(6, self.profile);
        sink.number(7, not_modified);
        if !not_modified {
            sink.text(8, self.rendered);
        }
        sink.message(9, &prompt.size);
        sink.message(10, &prompt.cache_plan);
    }

    /// Enough for all but long reasons and findings.
    fn size_hint(&self) -> usize {
        let own = self.prompt.messages.iter().filter(|message| message.encoded.is_none());
        let messages: usize = own.map(|message| message.content.len() + 128).sum();
        messages + self.rendered.len() + 192 * self.prompt.sections.len() + 256 * self.prompt.findings.len() + 512
    }
}

/// The field of a message that a revision shares, for callers who do not hold it: encoded once a revision.
fn shared(message: &Message<'_>) -> Bytes {
    let mut sink = Sink::with_capacity(0);
    sink.message(1, &Sent { message, shape: &Shape::default() });
    sink.into_encoded().to_vec().into()
}

/// The finding that counts those left out.
#[must_use]
pub fn omitted(count: usize) -> Finding {
    Finding::new(Code::FindingsOmitted, Place::Unplaced, format!("{count} more findings are left out"))
}

struct Sent<'a> {
    message: &'a Message<'a>,
    shape: &'a Shape,
}

impl Fields for Sent<'_> {
    fn write(&self, sink: &mut Sink) {
        let Message { role, name, content, ephemeral, digest, spoken, .. } = self.message;
        let not_modified = self.shape.holds(digest);
        sink.number(1, number(proto::Role::from(*role)));
        if self.has_content() {
            sink.text(2, content);
        }
        sink.text(3, name);
        sink.number(4, *ephemeral);
        if let Some(spoken) = spoken {
            sink.text(5, &spoken.original.tool_call_id);
            for call in &spoken.original.tool_calls {
                sink.message(6, call);
            }
        }
        sink.digest(7, *digest);
        sink.number(8, not_modified);
        if let Some(spoken) = spoken {
            sink.text(9, &spoken.original.name);
            sink.some_number(10, spoken.index.into());
        }
    }

    fn size_hint(&self) -> usize {
        let content = if self.has_content() { self.message.content.len() } else { 0 };
        content + Digest::HEX_DIGITS + SMALL_FIELDS
    }
}

impl Sent<'_> {
    fn has_content(&self) -> bool {
        let Message { digest, spoken, .. } = self.message;
        let referenced = self.shape.reference_conversation && spoken.is_some_and(|spoken| spoken.unchanged);
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

impl Fields for Section<'_> {
    fn write(&self, sink: &mut Sink) {
        sink.text(1, &self.id);
        sink.number(2, number(proto::Outcome::from(self.outcome)));
        sink.text(3, &self.reason);
        if let Some((message, range)) = &self.place {
            sink.some_number(4, (*message).into());
            sink.number(5, range.start);
            sink.number(6, range.end);
        }
        if let Some(source) = &self.source {
            sink.message(7, &**source);
        }
        sink.message(8, &self.original);
        sink.message(9, &self.included);
        sink.number(10, number(proto::Stability::from(self.stability)));
    }

    fn size_hint(&self) -> usize {
        let source = self.source.as_ref().map_or(0, |source| source.path.len() + source.sha256.len());
        self.id.len() + self.reason.len() + source + SMALL_FIELDS
    }
}

impl Fields for Source {
    fn write(&self, sink: &mut Sink) {
        sink.text(1, &self.path);
        sink.text(2, &self.sha256);
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
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use prost::Message as _;

    use super::*;
    use crate::prompt::{Carried, Outcome, Role, Spoken, Stability};

    fn spoken() -> Spoken {
        Spoken {
            tool_call_id: "c0".into(),
            name: "Dana".into(),
            tool_calls: vec![ToolCall { id: "c1".into(), name: "tide".into(), arguments_json: "{}".into() }],
            ..Spoken::new(Role::Assistant, "calling")
        }
    }

    fn prompt(spoken: &Spoken) -> Prompt<'_> {
        let size = Size { bytes: 300, chars: 200, tokens: Some(0) };
        let message = |index: u32, spoken| Message {
            role: Role::System,
            name: if index == 0 { "skeleton" } else { "" },
            content: Cow::Owned("界".repeat(100)),
            ephemeral: index == 0,
            digest: Digest([u8::from(index > 0); 32]),
            size,
            stability: Stability::Stable,
            front: Cow::default(),
            encoded: None,
            spoken,
        };
        let section = |place, source| Section {
            id: "workspace_context/AGENTS.md".into(),
            outcome: Outcome::Truncated,
            reason: "cut".into(),
            place,
            source,
            original: size,
            included: Size::default(),
            stability: Stability::Session,
            shared: None,
        };
        let source = Source { path: "AGENTS.md".into(), sha256: "ab".into() };
        let findings = [Place::Unplaced, Place::field("turn.user"), Place::at("AGENTS.md", 3, 0)];
        Prompt {
            messages: vec![message(0, None), message(1, Some(Carried { index: 0, original: spoken, unchanged: true }))],
            sections: vec![section(Some((0, 0..300)), Some(Cow::Owned(source))), section(None, None)],
            findings: findings.map(|place| Cow::Owned(Finding::new(Code::SkillInvalid, place, "x"))).into(),
            digest: Digest([9; 32]),
            size,
            cache_plan: CachePlan { stable_messages: 1, stable_bytes: 300, stable_digest: Digest([8; 32]) },
        }
    }

    fn encoded(prompt: &Prompt<'_>, shape: &Shape) -> (Vec<u8>, proto::AssemblePromptResponse) {
        let bytes = Answer { prompt, revision: "r", profile: "p", rendered: "text", shape }.encode().to_vec();
        let read = proto::AssemblePromptResponse::decode(&*bytes).unwrap();
        (bytes, read)
    }

    #[test]
    fn the_bytes_are_those_of_the_generated_types() {
        let spoken = spoken();
        let prompt = prompt(&spoken);
        let held =
            |digests: &[u8]| Shape { held: digests.iter().map(|b| Digest([*b; 32])).collect(), ..Shape::default() };
        let shapes = [
            Shape::default(),
            held(&[0]),
            held(&[9]),
            Shape { omit_sections: true, reference_conversation: true, ..Shape::default() },
        ];
        for shape in shapes {
            let (bytes, read) = encoded(&prompt, &shape);
            assert_eq!(read.encode_to_vec(), bytes, "{shape:?}");
        }
    }

    #[test]
    fn what_a_revision_shares_is_encoded_once_and_the_same() {
        let spoken = spoken();
        let alone = prompt(&spoken);
        let cell = std::sync::OnceLock::new();
        let mut sharing = alone.clone();
        sharing.messages[0].encoded = Some(&cell);
        for shape in [Shape::default(), Shape { held: vec![Digest([0; 32])], ..Shape::default() }] {
            for _ in 0..2 {
                assert_eq!(encoded(&sharing, &shape).0, encoded(&alone, &shape).0, "{shape:?}");
            }
        }
        assert!(cell.get().is_some_and(|bytes| bytes.len() > 300));
    }

    #[test]
    fn every_field_arrives() {
        let spoken = spoken();
        let prompt = prompt(&spoken);
        let (_, read) = encoded(&prompt, &Shape::default());
        let [skeleton, carried] = &read.messages[..] else { panic!("two messages") };
        assert_eq!((skeleton.role(), &*skeleton.name, skeleton.ephemeral), (proto::Role::System, "skeleton", true));
        assert_eq!((skeleton.content.chars().count(), &*skeleton.digest), (100, &*"00".repeat(32)));
        assert_eq!((carried.conversation_index, &*carried.speaker, &*carried.tool_call_id), (Some(0), "Dana", "c0"));
        assert_eq!(carried.tool_calls[0].name, "tide");
        let section = &read.sections[0];
        assert_eq!((section.outcome(), section.stability()), (proto::Outcome::Truncated, proto::Stability::Session));
        assert_eq!((section.message_index, section.byte_start, section.byte_end), (Some(0), 0, 300));
        assert_eq!(section.source.as_ref().map(|source| &*source.path), Some("AGENTS.md"));
        assert_eq!(section.original_size.map(|size| (size.bytes, size.chars, size.tokens)), Some((300, 200, Some(0))));
        assert_eq!(read.sections[1].message_index, None);
        assert_eq!(
            (&*read.findings[1].field, &*read.findings[2].path, read.findings[2].line),
            ("turn.user", "AGENTS.md", 3)
        );
        assert_eq!((&*read.revision, &*read.profile, &*read.rendered), ("r", "p", "text"));
        assert_eq!(read.cache_plan.map(|plan| plan.stable_bytes), Some(300));
    }

    #[test]
    fn what_the_caller_holds_comes_without_content() {
        let spoken = spoken();
        let prompt = prompt(&spoken);
        let (_, read) = encoded(&prompt, &Shape { held: vec![Digest([0; 32])], ..Shape::default() });
        assert!(
            read.messages[0].not_modified
                && read.messages[0].content.is_empty()
                && !read.messages[1].content.is_empty()
        );
        let (_, read) = encoded(&prompt, &Shape { held: vec![Digest([9; 32])], ..Shape::default() });
        assert!(read.not_modified && read.messages.is_empty() && read.sections.is_empty() && read.rendered.is_empty());
        let (_, read) = encoded(&prompt, &Shape { reference_conversation: true, ..Shape::default() });
        assert!(read.messages[1].content.is_empty() && !read.messages[1].not_modified);
    }

    #[test]
    fn findings_beyond_the_bound_are_counted() {
        let spoken = spoken();
        let mut prompt = prompt(&spoken);
        prompt.findings = vec![prompt.findings[0].clone(); 250];
        let (_, read) = encoded(&prompt, &Shape::default());
        assert_eq!((read.findings.len(), &*read.findings[100].code), (101, "FINDINGS_OMITTED"));
        assert!(read.findings[100].message.starts_with("150 more"));
    }
}
