//! Assembling a prompt: messages in profile order, from prepared parts where the turn changes nothing.

use std::borrow::Cow;

use super::{
    CachePlan, Deps, Digest, Front, Message, Outcome, Prompt, ResponseFormat, Section, Size, Stability, Stage, Turn,
    TurnError,
    answer::measure,
    budget::Budgets,
    conversation::{self, Conversed},
    digest, inputs, lock,
    piece::{Piece, Rendered},
    prepared::PreparedProfile,
    scope::TurnScope,
    section,
};
use crate::{
    finding::Finding,
    profile::{MessageSpec, Part, Profile},
    workspace::Snapshot,
};

/// Assembles the prompt for one turn.
///
/// # Errors
///
/// The turn sets a field that the workspace locks, names a context file that is none, or gives inputs that the profile
/// does not declare so.
pub fn assemble<'a>(snapshot: &'a Snapshot, profile: &'a Profile, turn: &'a Turn) -> Result<Prompt<'a>, TurnError> {
    lock::check(snapshot, profile, turn)?;
    let Some(prepared) = snapshot.prepared.get(snapshot, profile) else {
        return Err(TurnError::invalid("profile", format!("the workspace was loaded without `{}`", profile.name)));
    };
    let inputs = if turn.inputs.is_empty() && prepared.inputs.len() == profile.inputs.len() {
        Cow::Borrowed(prepared.inputs.as_slice())
    } else {
        Cow::Owned(inputs::resolve(profile, snapshot, &turn.inputs)?)
    };
    let mut told = Vec::new();
    let mut scope = TurnScope::new(snapshot, profile, turn, inputs, &mut told);
    section::check_active_skill(&scope)?;
    // Sections that stand before the conversation may speak of what it leaves out.
    let mut conversed = profile.conversation().map(|spec| conversation::carry(spec, &scope));
    scope.trimmed = conversed.as_mut().and_then(|conversed| conversed.trimmed.take());
    let mut assembly = Assembly {
        sets: sets(turn),
        budgets: Budgets::new(profile, &scope.inputs),
        messages: Vec::with_capacity(profile.parts.len() + turn.conversation.messages.len()),
        sections: Vec::with_capacity(32),
        findings: told.into_iter().map(Cow::Owned).collect(),
    };
    assembly.findings.extend(snapshot.standing.iter().map(Cow::Borrowed));
    for (index, part) in profile.parts.iter().enumerate() {
        match part {
            Part::Message(spec) => assembly.message(spec, index, &scope, prepared),
            Part::Conversation(spec) => {
                let carried = conversed.take().unwrap_or_else(|| conversation::carry(spec, &scope));
                assembly.conversation(carried);
            }
        }
    }
    if profile.conversation().is_none() && !turn.conversation.messages.is_empty() {
        assembly.sections.extend(conversation::not_carried().sections.into_iter().map(Cow::Owned));
    }
    Ok(assembly.finish())
}

struct Assembly<'a> {
    sets: Deps,
    budgets: Budgets,
    messages: Vec<Message<'a>>,
    sections: Vec<Cow<'a, Section>>,
    findings: Vec<Cow<'a, Finding>>,
}

impl<'a> Assembly<'a> {
    fn message(&mut self, spec: &'a MessageSpec, part: usize, scope: &TurnScope<'_>, prepared: &'a PreparedProfile) {
        let is_live = |section: &crate::profile::SectionSpec| section.deps.intersects(self.sets);
        if !spec.sections.iter().any(is_live) {
            return self.shared(spec, part, prepared);
        }
        let live: Vec<Option<Rendered>> = spec
            .sections
            .iter()
            .map(|section| {
                section.deps.intersects(self.sets).then(|| section::render(section, scope, &mut self.budgets)).map(live)
            })
            .collect();
        let shared = &prepared.sections[part];
        let pieces = live.iter().zip(shared).map(|(live, shared)| live.as_ref().unwrap_or(shared).pieces.as_slice());
        let draft = build(spec, pieces, count(&self.messages));
        for (live, shared) in live.into_iter().zip(shared) {
            match live {
                Some(rendered) => self.findings.extend(rendered.findings.into_iter().map(Cow::Owned)),
                None => self.findings.extend(shared.findings.iter().map(Cow::Borrowed)),
            }
        }
        self.sections.extend(draft.sections.into_iter().map(Cow::Owned));
        if !draft.content.is_empty() {
            self.messages.push(Message {
                role: spec.role,
                name: &spec.name,
                content: Cow::Owned(draft.content),
                ephemeral: spec.ephemeral,
                digest: draft.digest,
                size: draft.size,
                stability: draft.stability,
                front: Cow::Owned(draft.front),
                spoken: None,
                encoded: None,
            });
        }
    }

    fn conversation(&mut self, carried: Conversed<'a>) {
        let first = count(&self.messages);
        self.messages.extend(carried.messages);
        self.sections.extend(carried.sections.into_iter().map(|mut section| {
            if let Some((at, _)) = &mut section.place {
                *at = at.saturating_add(first);
            }
            Cow::Owned(section)
        }));
        self.findings.extend(carried.findings.into_iter().map(Cow::Owned));
    }

    /// A message that no part of this turn changes.
    fn shared(&mut self, spec: &'a MessageSpec, part: usize, prepared: &'a PreparedProfile) {
        let Some(message) = prepared.messages[part].as_ref() else { return };
        let index = count(&self.messages);
        if index == message.index {
            self.sections.extend(message.sections.iter().map(Cow::Borrowed));
        } else {
            self.sections.extend(message.sections.iter().map(|section| {
                let mut section = section.clone();
                if let Some((at, _)) = &mut section.place {
                    *at = index;
                }
                Cow::Owned(section)
            }));
        }
        self.findings.extend(message.findings.iter().map(Cow::Borrowed));
        if !message.content.is_empty() {
            self.messages.push(Message {
                role: spec.role,
                name: &spec.name,
                content: Cow::Borrowed(&message.content),
                ephemeral: spec.ephemeral,
                digest: message.digest,
                size: message.size,
                stability: message.stability,
                front: Cow::Borrowed(&message.front),
                spoken: None,
                encoded: Some(&message.encoded),
            });
        }
    }

    fn finish(mut self) -> Prompt<'a> {
        self.findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.cmp(b)));
        self.findings.dedup();
        let size = self.messages.iter().fold(Size::default(), |sum, message| Size {
            bytes: sum.bytes + message.size.bytes,
            chars: sum.chars + message.size.chars,
            tokens: None,
        });
        Prompt {
            digest: digest::list(self.messages.iter().map(|message| message.digest)),
            cache_plan: plan(&self.messages),
            size,
            messages: self.messages,
            sections: self.sections,
            findings: self.findings,
        }
    }
}

/// A message made of its sections.
pub struct Draft {
    /// Its text; empty: no message.
    pub content: String,
    /// The reports, their places filled in.
    pub sections: Vec<Section>,
    /// The text's size.
    pub size: Size,
    /// The least stable of the sections with text.
    pub stability: Stability,
    /// The message's digest.
    pub digest: Digest,
    /// The stable sections that it begins with.
    pub front: Front,
}

/// Joins the sections of a message that will stand at `index`.
pub fn build<'p>(spec: &MessageSpec, pieces: impl Iterator<Item = &'p [Piece]>, index: u32) -> Draft {
    let pieces: Vec<(&Piece, &str)> = pieces
        .zip(&spec.sections)
        .flat_map(|(pieces, section)| {
            let separator = section.separator.as_deref().unwrap_or(&spec.separator);
            pieces.iter().map(move |piece| (piece, piece.separator.as_deref().unwrap_or(separator)))
        })
        .collect();
    let length = pieces.iter().map(|(piece, separator)| piece.text.len() + separator.len()).sum();
    let mut content = String::with_capacity(length);
    let mut stability = Stability::Stable;
    let mut sections = Vec::with_capacity(pieces.len());
    let mut chunks = Vec::with_capacity(pieces.len());
    let (mut front_bytes, mut front_chunks) = (0, 0);
    for (piece, separator) in pieces {
        let mut report = piece.report.clone();
        if !piece.text.is_empty() {
            let separator = if content.is_empty() { "" } else { separator };
            content.push_str(separator);
            let start = content.len();
            content.push_str(&piece.text);
            report.place = Some((index, offset(start)..offset(content.len())));
            chunks.push(piece.chunk(separator));
            stability = stability.max(report.stability);
            if stability == Stability::Stable {
                (front_bytes, front_chunks) = (content.len() as u64, chunks.len());
            }
        }
        sections.push(report);
    }
    let size = measure(&content);
    let digest = digest::message(spec.role, &spec.name, &chunks);
    chunks.truncate(front_chunks);
    let front = Front { bytes: front_bytes, chunks };
    Draft { content, sections, size, stability, digest, front }
}

/// What a turn's own values made is not stable: other turns have others.
fn live(mut rendered: Rendered) -> Rendered {
    for piece in &mut rendered.pieces {
        if piece.report.outcome != Outcome::Omitted {
            piece.report.stability = piece.report.stability.max(Stability::Session);
        }
    }
    rendered
}

/// Which parts of a turn are set.
fn sets(turn: &Turn) -> Deps {
    Deps::NOW
        .and_if(turn.agent.is_some(), Deps::AGENT)
        .and_if(turn.user.is_some(), Deps::USER)
        .and_if(turn.channel.is_some(), Deps::CHANNEL)
        .and_if(turn.heartbeat, Deps::HEARTBEAT)
        .and_if(!turn.variables.is_empty(), Deps::VARIABLES)
        .and_if(turn.persona.is_some(), Deps::PERSONA)
        .and_if(!turn.knowledge.is_empty(), Deps::KNOWLEDGE)
        .and_if(!turn.conversation_summary.is_empty(), Deps::SUMMARY)
        .and_if(turn.response_format != ResponseFormat::Text, Deps::FORMAT)
        .and_if(turn.ephemeral_system_prompt.is_some(), Deps::EPHEMERAL)
        .and_if(turn.skip_context_files || !turn.context_files.is_empty(), Deps::CONTEXT_FILES)
        .and_if(turn.skill_filter.is_some() || turn.skill_wall.is_some(), Deps::SKILLS)
        .and_if(!turn.conversation.messages.is_empty() || !turn.conversation.segments.is_empty(), Deps::CONVERSATION)
        .and_if(!turn.inputs.is_empty(), Deps::INPUTS)
        .and_if(turn.stage != Stage::First, Deps::STAGE)
}

/// The stable front: whole messages, then the stable sections that the next one begins with.
fn plan(messages: &[Message<'_>]) -> CachePlan {
    let is_stable = |message: &&Message<'_>| message.stability == Stability::Stable && message.spoken.is_none();
    let whole = messages.iter().take_while(is_stable).count();
    let (whole, rest) = messages.split_at(whole);
    let chunks = rest.first().map_or(&[][..], |next| &next.front.chunks);
    CachePlan {
        stable_messages: count(whole),
        stable_bytes: whole.iter().map(|message| message.size.bytes).sum::<u64>()
            + rest.first().map_or(0, |next| next.front.bytes),
        stable_digest: digest::list(whole.iter().map(|message| message.digest).chain(chunks.iter().copied())),
    }
}

fn count(messages: &[Message<'_>]) -> u32 {
    u32::try_from(messages.len()).unwrap_or(u32::MAX)
}

/// Messages are far below 4 GiB: their parts come from requests and files with limits.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
