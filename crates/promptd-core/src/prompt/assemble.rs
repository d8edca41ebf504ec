//! Assembling a prompt: messages in profile order, from prepared parts where the turn changes nothing.

use std::borrow::Cow;

use super::{
    CachePlan, Message, Outcome, Prompt, SectionReport, Size, TurnError,
    block::RenderedSection,
    budget::Budgets,
    conversation::{self, ConversationWindow},
    digest,
    draft::build,
    inputs, lock,
    prepared::{Prepared, PreparedProfile},
    scope::TurnScope,
    section,
};
use crate::{
    finding::Finding,
    profile::{MessageSpec, Part, Profile, SectionSpec, Stability},
    text::clamped,
    turn::{Turn, TurnFields},
    workspace::Snapshot,
};

/// Assembles the prompt for one turn.
///
/// # Errors
///
/// The turn sets a field that the workspace locks, names a context file that is none, or gives inputs that the profile
/// does not declare so.
pub fn assemble<'a>(prepared: &'a Prepared, profile: &'a Profile, turn: &'a Turn) -> Result<Prompt<'a>, TurnError> {
    let snapshot: &Snapshot = prepared;
    lock::check(snapshot, profile, turn)?;
    let Some(prepared) = prepared.profile(profile) else {
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
        turn_fields: TurnFields::set_by(turn),
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
        assembly.sections.extend(conversation::not_carried().sections);
    }
    Ok(assembly.finish())
}

struct Assembly<'a> {
    turn_fields: TurnFields,
    budgets: Budgets,
    messages: Vec<Message<'a>>,
    sections: Vec<SectionReport<'a>>,
    findings: Vec<Cow<'a, Finding>>,
}

impl<'a> Assembly<'a> {
    fn message(&mut self, spec: &'a MessageSpec, part: usize, scope: &TurnScope<'a>, prepared: &'a PreparedProfile) {
        let set = self.turn_fields;
        let is_live = |section: &SectionSpec| section.deps.intersects(set);
        if !spec.sections.iter().any(is_live) {
            return self.shared(spec, part, prepared);
        }
        let mut blocks = Vec::with_capacity(spec.sections.len());
        for (section, shared) in spec.sections.iter().zip(&prepared.sections[part]) {
            if is_live(section) {
                let rendered = live(section::render(section, scope, &mut self.budgets));
                self.findings.extend(rendered.findings.into_iter().map(Cow::Owned));
                blocks.push(Cow::Owned(rendered.blocks));
            } else {
                self.findings.extend(shared.findings.iter().map(Cow::Borrowed));
                blocks.push(Cow::Borrowed(shared.blocks.as_slice()));
            }
        }
        let draft = build(spec, blocks, clamped(self.messages.len()), &mut self.sections);
        if !draft.content.is_empty() {
            self.messages.push(Message {
                role: spec.role,
                name: &spec.name,
                content: Cow::Owned(draft.content),
                ephemeral: spec.ephemeral,
                digest: draft.digest,
                size: draft.size,
                stability: draft.stability,
                cache_prefix: Cow::Owned(draft.cache_prefix),
                origin: None,
                memo: None,
            });
        }
    }

    fn conversation(&mut self, carried: ConversationWindow<'a>) {
        let first = clamped(self.messages.len());
        self.messages.extend(carried.messages);
        self.sections.extend(carried.sections.into_iter().map(|mut section| {
            if let Some((at, _)) = &mut section.place {
                *at = at.saturating_add(first);
            }
            section
        }));
        self.findings.extend(carried.findings.into_iter().map(Cow::Owned));
    }

    /// A message that no part of this turn changes.
    fn shared(&mut self, spec: &'a MessageSpec, part: usize, prepared: &'a PreparedProfile) {
        let Some(message) = prepared.messages[part].as_ref() else { return };
        let index = clamped(self.messages.len());
        let here = |section: &'a SectionReport<'_>| section.at(section.place.clone().map(|(_, range)| (index, range)));
        self.sections.extend(message.sections.iter().map(here));
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
                cache_prefix: Cow::Borrowed(&message.cache_prefix),
                origin: None,
                memo: Some(&message.memo),
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
            cache_plan: CachePlan::of(&self.messages),
            size,
            messages: self.messages,
            sections: self.sections,
            findings: self.findings,
        }
    }
}

/// What a turn's own values made is not stable: other turns have others.
fn live(mut rendered: RenderedSection<'_>) -> RenderedSection<'_> {
    for block in &mut rendered.blocks {
        if block.report.outcome != Outcome::Omitted {
            block.report.stability = block.report.stability.max(Stability::Session);
        }
    }
    rendered
}
