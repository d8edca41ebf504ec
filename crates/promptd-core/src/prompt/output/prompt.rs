//! An assembled prompt.

use std::{any::Any, borrow::Cow, sync::OnceLock};

use super::{
    digest,
    report::{Holder, SectionReport, Size},
};
use crate::{
    digest::Digest,
    finding::Finding,
    profile::{CachePlacement, Stability},
    text::clamped,
    turn::{ConversationMessage, Role},
};

/// An assembled prompt. It borrows what the snapshot and the turn already hold.
#[derive(Debug, Clone)]
pub struct Prompt<'a> {
    /// In context-window order.
    pub messages: Vec<Message<'a>>,
    /// What is for the user interface: no part of what the model is given.
    pub cards: Vec<Message<'a>>,
    /// One for each section in profile order, those without text included.
    pub sections: Vec<SectionReport<'a>>,
    /// What the caller should know about this prompt, most severe first.
    pub findings: Vec<Cow<'a, Finding>>,
    /// SHA-256 over the digests of messages, then of cards.
    pub digest: Digest,
    /// The sum over all messages.
    pub size: Size,
    /// How much of the prompt's beginning stays the same from turn to turn.
    pub cache_plan: CachePlan,
    /// The names of the tools that the profile allows, of those that the turn brings or the profile has.
    pub allowed_tools: Vec<String>,
    /// Where [`render`](crate::render::render) marks the prefixes that a provider is asked to keep.
    pub cache_placement: CachePlacement,
    /// What of the conversation is carried; `None`: nothing.
    pub conversation: Option<CarriedConversation>,
}

/// What a prompt carries of the conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CarriedConversation {
    /// The index, in the whole history, of the first message that is carried. The user's newest message may come before it.
    pub cut: u64,
    /// Whether it is the turn's held cut.
    pub held: bool,
    /// How many messages of the history are neither carried nor in a summary that the prompt shows, where the profile trims.
    pub uncovered: u64,
    /// The estimated tokens of what is carried, where the profile trims.
    pub estimated_tokens: u64,
    /// How many it may have, where the profile trims; 0: no limit.
    pub token_budget: u64,
    /// The ids of the segments whose summaries are shown, in order.
    pub summaries: Vec<String>,
}

impl Prompt<'_> {
    /// The text of a section, markers included; `None`: it has no text.
    #[must_use]
    pub fn section_text(&self, section: &SectionReport<'_>) -> Option<&str> {
        let position = section.position.as_ref()?;
        let holder = match position.holder {
            Holder::Message(index) => self.messages.get(index as usize),
            Holder::Card(index) => self.cards.get(index as usize),
        };
        holder?.content.get(position.range())
    }

    /// Adds findings, such as those of [`render`](crate::render::render), in their place.
    pub fn add_findings(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings.into_iter().map(Cow::Owned));
        sort_findings(&mut self.findings);
    }
}

/// Sorts findings, the most severe first, and removes those that are there twice.
pub(crate) fn sort_findings(findings: &mut Vec<Cow<'_, Finding>>) {
    findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.cmp(b)));
    findings.dedup();
}

/// One message of a prompt, or a card.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// Its role.
    pub role: Role,
    /// The profile's name for it; empty on a message of the conversation.
    pub name: &'a str,
    /// Its text.
    pub content: Cow<'a, str>,
    /// Must not be written to the conversation history.
    pub ephemeral: bool,
    /// SHA-256 of role, name and content; docs/rules.md has the exact bytes.
    pub digest: Digest,
    /// The size of `content`.
    pub size: Size,
    /// The least stable of its sections.
    pub stability: Stability,
    /// The sections that it begins with and that stay the same.
    pub cache_prefix: Cow<'a, CachePrefix>,
    /// Set on a message of the conversation.
    pub origin: Option<ConversationOrigin<'a>>,
    /// Set on a message that the revision shares: a place for its encoded form.
    pub memo: Option<&'a Memo>,
}

/// The message of the turn's conversation that a prompt's message carries.
#[derive(Debug, Clone, Copy)]
pub struct ConversationOrigin<'a> {
    /// Its index in the turn's conversation.
    pub index: u32,
    /// The message as the caller sent it.
    pub message: &'a ConversationMessage,
    /// Whether `content` is the caller's, byte for byte.
    pub unchanged: bool,
}

/// The sections that a message begins with and that stay the same, up to the first place where another turn may have others:
/// also where this one has nothing in a volatile section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CachePrefix {
    /// The length in bytes of the stable ones, separators included.
    pub bytes: u64,
    /// The digest of each stable section's chunk.
    pub chunks: Vec<Digest>,
    /// The length in bytes of those that stay the same through a session, separators included.
    pub session_bytes: u64,
    /// Whether a volatile section of the message has no text: another turn may have a longer message here.
    pub has_gap: bool,
}

/// How much of a prompt's beginning stays the same from turn to turn, so that a provider can keep it in its cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CachePlan {
    /// How many messages lie wholly in the stable prefix.
    pub stable_messages: u32,
    /// The prefix's length in bytes, separators included.
    pub stable_bytes: u64,
    /// SHA-256 of the prefix; docs/rules.md has the exact bytes.
    pub stable_digest: Digest,
    /// Where [`render`](crate::render::render) has put the system messages behind the conversation; `None`: there are none, or nothing
    /// was rendered.
    pub behind_conversation: Option<Behind>,
}

/// Where the system messages behind the conversation are in a provider's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    /// There, as messages of the system.
    System,
    /// There, as the user's.
    User,
    /// At the end of the system part: the provider, or this conversation, allows none there.
    SystemPart,
}

impl Behind {
    /// Its name in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::SystemPart => "system_part",
        }
    }
}

impl CachePlan {
    /// The stable prefix of these: whole messages, then the stable sections that the next one begins with.
    #[must_use]
    pub(crate) fn of(messages: &[Message<'_>]) -> Self {
        let is_stable =
            |message: &&Message<'_>| message.cache_prefix.bytes == message.size.bytes && message.origin.is_none();
        let whole = messages.iter().take_while(is_stable).count();
        let (whole, rest) = messages.split_at(whole);
        let chunks = rest.first().map_or(&[][..], |next| &next.cache_prefix.chunks);
        Self {
            stable_messages: clamped(whole.len()),
            stable_bytes: whole.iter().map(|message| message.size.bytes).sum::<u64>()
                + rest.first().map_or(0, |next| next.cache_prefix.bytes),
            stable_digest: digest::list(whole.iter().map(|message| message.digest).chain(chunks.iter().copied())),
            behind_conversation: None,
        }
    }
}

/// A place for one value that a transport makes of a shared message once a revision, such as its encoded form.
///
/// Assembly never looks into it, so that this crate needs no transport's types.
#[derive(Debug, Default)]
pub struct Memo(OnceLock<Box<dyn Any + Send + Sync>>);

impl Memo {
    /// The value, made now if there is none yet; `None`: the place holds a value of another type.
    pub fn get_or_init<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        self.0.get_or_init(|| Box::new(make())).downcast_ref()
    }
}
