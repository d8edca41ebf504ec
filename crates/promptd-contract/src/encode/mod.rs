//! From the core's types to the contract's answers.
//!
//! The answer of `AssemblePrompt` is written by hand, straight into the contract's bytes. The generated types need every
//! text as a `String` of their own: an allocation and a copy for each of about fifty, and one more copy of the prompt. Here a
//! prompt's borrowed text is copied once, into a buffer of the right size. A test walks the contract's descriptors and sets
//! every field of the answer, one by one. All other answers are generated types.

mod conversation;
mod diff;
mod fields;
mod findings;
mod history;
mod profile;
mod reply;
mod sink;
mod skills;
mod workspace;

use bytes::Bytes;

pub use self::{
    conversation::{conversation_message, summary_segment},
    diff::{Side, diff_prompt_response},
    history::{plan_history_response, timestamp},
    profile::{profile, profile_summary},
    reply::{object, parse_reply_response},
    sink::Encoded,
    skills::{SkillAccess, skill, skills},
    workspace::{
        outline_summary, revision, unusable_workspace, unusable_workspace_summary, workspace, workspace_summary,
    },
};
use self::{
    fields::{Card, Sent, number},
    sink::{Fields, Sink},
};
use crate::proto;
use promptd_core::{
    canary,
    digest::Digest,
    finding::{Code, Finding, Place},
    prompt::{Message, Prompt},
};

/// The most findings of one answer; one more counts the rest.
pub const MAX_FINDINGS: usize = 100;

/// The answer of `AssemblePrompt`.
pub struct Answer<'a> {
    /// The prompt.
    pub prompt: &'a Prompt<'a>,
    /// The snapshot's revision.
    pub revision: &'a str,
    /// The profile that was used.
    pub profile: &'a str,
    /// A provider's request fragment, or empty.
    pub rendered: &'a str,
    /// Where the turn's session was read; `None`: it names none.
    pub session_position: Option<u64>,
    /// The positions of the messages that were recalled for the turn.
    pub recalled: &'a [u64],
    /// Which side of a canary the revision is; `None`: neither.
    pub side: Option<canary::Side>,
    /// What of it is sent.
    pub shape: &'a Shape,
}

/// What of an answer is sent.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    /// Digests that the caller holds, sorted.
    pub held: Vec<Digest>,
    /// Unchanged messages of the conversation are sent without content.
    pub reference_conversation: bool,
    /// SectionReport reports are left out.
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
                let memo = message.memo.filter(|_| !shape.holds(&message.digest));
                match memo.and_then(|memo| memo.get_or_init(|| shared(message))) {
                    Some(encoded) => sink.shared(encoded),
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
        if let Some(carried) = &prompt.conversation {
            sink.message(11, carried);
        }
        for name in &prompt.allowed_tools {
            sink.text(12, name);
        }
        for card in prompt.cards.iter().filter(|_| !not_modified) {
            sink.message(13, &Card { card, not_modified: shape.holds(&card.digest) });
        }
        if let Some(position) = self.session_position {
            sink.some_number(14, position);
        }
        if let Some(side) = self.side {
            sink.number(15, number(proto::CanarySide::from(side)));
        }
        for &position in self.recalled {
            sink.some_number(16, position);
        }
    }

    /// Enough except for long reasons and findings.
    fn size_hint(&self) -> usize {
        let own = self.prompt.messages.iter().filter(|message| message.memo.is_none()).chain(&self.prompt.cards);
        let messages: usize = own.map(|message| message.content.len() + 128).sum();
        messages + self.rendered.len() + 192 * self.prompt.sections.len() + 256 * self.prompt.findings.len() + 512
    }
}

/// The field of a message that the revision shares, with content: encoded once a revision.
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

#[cfg(test)]
mod every_field;
#[cfg(test)]
mod tests;
