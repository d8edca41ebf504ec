//! Assembling a prompt: messages in profile order, from prepared parts where the turn changes nothing.

use std::borrow::Cow;

use super::{
    fit,
    message::{JoinedMessage, Section},
    prepared::{self, Prepared, PreparedMessage, PreparedPart, PreparedProfile},
    spans::{self, MAX_SPANS},
};
use crate::{
    budget::in_force,
    finding::Finding,
    profile::{MessageSpec, Part, Profile, SectionSpec, Stability},
    prompt::{
        budget::{Budgets, Rooms},
        conversation::{self, ConversationWindow},
        output::{
            CachePlan, CarriedConversation, Holder, Message, Outcome, Position, Prompt, SectionReport, Size, digest,
            sort_findings,
        },
        scope::{Inputs, TurnScope},
        section::{self, RenderedSection},
        validate::{self, TurnError},
    },
    text::clamped,
    time::Moment,
    turn::{Turn, TurnFields},
    workspace::Snapshot,
};

/// Assembles the prompt for one turn.
///
/// The same snapshot, profile and turn give the same bytes. `profile` is one of the snapshot's
/// [`profiles`](Snapshot::profiles).
///
/// # Errors
///
/// [`TurnError::Locked`]: the turn sets a field that the workspace locks. [`TurnError::Invalid`]: it names a context file
/// that does not exist, an input that the profile does not declare or of another type, or a skill that it may not see.
/// [`TurnError::BudgetTooSmall`]: what must not be cut exceeds the prompt's budget.
pub fn assemble<'a>(prepared: &'a Prepared, profile: &'a Profile, turn: &'a Turn) -> Result<Prompt<'a>, TurnError> {
    within_budget(prepared, profile, turn, None)
}

/// Assembles the same prompt, its section reports with spans: which of their bytes came from where, and how.
///
/// It takes longer than [`assemble`]: every section is rendered for this call. An answer has at most [`MAX_SPANS`] spans.
///
/// # Errors
///
/// Those of [`assemble`].
pub fn assemble_with_spans<'a>(
    prepared: &'a Prepared,
    profile: &'a Profile,
    turn: &'a Turn,
) -> Result<Prompt<'a>, TurnError> {
    let nothing = Turn::at(Moment::EPOCH);
    let shared = prepared.profile(profile).map(|shared| prepared::traced(prepared, profile, &nothing, &shared.inputs));
    let mut prompt = within_budget(prepared, profile, turn, shared.as_deref())?;
    let finding = spans::limit(&mut prompt.sections, profile, MAX_SPANS);
    prompt.add_findings(finding);
    Ok(prompt)
}

/// The sections that a revision shares, by part, rendered with spans.
pub(super) type Traced<'t> = [Vec<RenderedSection<'t>>];

/// Assembles the prompt, within its budget if it has one.
fn within_budget<'a>(
    prepared: &'a Prepared,
    profile: &'a Profile,
    turn: &'a Turn,
    traced: Option<&Traced<'_>>,
) -> Result<Prompt<'a>, TurnError> {
    let own = prepared.manifest.budget.limit;
    if own.is_none() && turn.budget.is_none() {
        return assemble_in(prepared, profile, turn, traced, &Rooms::default());
    }
    fit::assemble(prepared, profile, turn, traced, &in_force(own, turn.budget))
}

/// Assembles the prompt with these rooms for its sections.
pub(super) fn assemble_in<'a>(
    prepared: &'a Prepared,
    profile: &'a Profile,
    turn: &'a Turn,
    traced: Option<&Traced<'_>>,
    rooms: &Rooms,
) -> Result<Prompt<'a>, TurnError> {
    let snapshot: &Snapshot = prepared;
    validate::check(snapshot, profile, turn)?;
    let Some(prepared) = prepared.profile(profile) else {
        return Err(TurnError::invalid("profile", format!("the workspace was loaded without `{}`", profile.name)));
    };
    let inputs = inputs(prepared, profile, snapshot, turn)?;
    let mut findings = Vec::new();
    let mut scope = TurnScope::new(snapshot, profile, turn, inputs, &mut findings);
    scope.traced = traced.is_some();
    findings.extend(scope.finding_of_working_directory());
    section::check_active_skill(&scope)?;
    // Before the messages: sections above the conversation may depend on what it leaves out.
    let mut window = profile.conversation().map(|spec| match &rooms.conversation {
        Some(room) => conversation::carry_within(spec, &scope, room, rooms),
        None => conversation::carry(spec, &scope),
    });
    if let Some(window) = &mut window {
        scope.trimmed = std::mem::take(&mut window.trimmed);
    }
    let mut assembly = Assembly {
        turn_fields: profile.set_by(turn),
        budgets: Budgets::new(&scope),
        messages: Vec::with_capacity(profile.parts.len() + turn.conversation.messages.len()),
        cards: Vec::new(),
        sections: Vec::with_capacity(32),
        rendered: Vec::new(),
        findings: findings.into_iter().map(Cow::Owned).collect(),
        carried: None,
        has_gap: false,
    };
    assembly.findings.extend(snapshot.active.iter().map(Cow::Borrowed));
    if profile.name != snapshot.manifest.profile {
        assembly.findings.extend(snapshot.profiles.error(profile.name.as_str()).map(Cow::Borrowed));
    }
    for (index, (part, prepared)) in profile.parts.iter().zip(&prepared.parts).enumerate() {
        match part {
            Part::Message(spec) => {
                assembly.message(spec, &scope, prepared, traced.map(|traced| traced[index].as_slice()), rooms);
            }
            Part::Conversation(spec) => {
                assembly.conversation(window.take().unwrap_or_else(|| conversation::carry(spec, &scope)));
            }
        }
    }
    if profile.conversation().is_none() && !turn.conversation.messages.is_empty() {
        assembly.conversation(conversation::not_carried(profile, turn));
    }
    let allowed_tools = scope.inputs.allowed_tools(profile);
    Ok(Prompt { allowed_tools, ..assembly.finish(profile) })
}

/// The profile's inputs: the prepared ones where the turn changes none.
fn inputs<'a>(
    prepared: &'a PreparedProfile,
    profile: &Profile,
    snapshot: &Snapshot,
    turn: &Turn,
) -> Result<Cow<'a, Inputs>, TurnError> {
    let is_changed = !turn.inputs.is_empty() || turn.skip_context_files;
    if !is_changed && prepared.inputs.values.len() == profile.inputs.len() {
        return Ok(Cow::Borrowed(&prepared.inputs));
    }
    Inputs::resolve(profile, snapshot, turn).map(Cow::Owned)
}

/// The prompt so far.
struct Assembly<'a> {
    /// The fields that the turn sets.
    turn_fields: TurnFields,
    budgets: Budgets,
    messages: Vec<Message<'a>>,
    cards: Vec<Message<'a>>,
    sections: Vec<SectionReport<'a>>,
    /// Empty between messages: room for the sections of one.
    rendered: Vec<Section<'a>>,
    findings: Vec<Cow<'a, Finding>>,
    carried: Option<CarriedConversation>,
    /// Whether a volatile section before here has no text: what follows is at another place in a turn that has some.
    has_gap: bool,
}

impl<'a> Assembly<'a> {
    /// Adds a message of the profile's own: the prepared one unless the turn sets a field that it depends on, or the prompt's
    /// budget cuts it.
    fn message(
        &mut self,
        spec: &'a MessageSpec,
        scope: &TurnScope<'a>,
        prepared: &'a PreparedPart,
        traced: Option<&[RenderedSection<'_>]>,
        rooms: &Rooms,
    ) {
        let set = self.turn_fields;
        let depends = |section: &SectionSpec| section.deps.intersects(set);
        let room = |section: &SectionSpec| rooms.sections.get(&section.id);
        if traced.is_none() && !spec.sections.iter().any(|section| depends(section) || room(section).is_some()) {
            if let Some(message) = &prepared.message {
                self.prepared_message(spec, message);
            }
            return;
        }
        let mut blocks = std::mem::take(&mut self.rendered);
        blocks.reserve(spec.sections.len());
        for (index, (section, shared)) in spec.sections.iter().zip(&prepared.sections).enumerate() {
            if let Some(room) = room(section) {
                let rendered = section::render_within(section, scope, &mut self.budgets, room);
                let rendered = if depends(section) { for_this_turn(rendered) } else { rendered };
                self.findings.extend(rendered.findings.into_iter().map(Cow::Owned));
                blocks.push(Section::Own(rendered.blocks));
            } else if depends(section) {
                let rendered = for_this_turn(section::render(section, scope, &mut self.budgets));
                self.findings.extend(rendered.findings.into_iter().map(Cow::Owned));
                blocks.push(Section::Own(rendered.blocks));
            } else {
                self.findings.extend(shared.findings.iter().map(Cow::Borrowed));
                blocks.push(match traced {
                    None => Section::Shared(&shared.blocks),
                    Some(traced) => Section::Own(shared.traced_by(&traced[index])),
                });
            }
        }
        let joined = JoinedMessage::new(spec, &mut blocks, self.next(spec), &mut self.sections);
        self.rendered = blocks;
        let has_gap = joined.cache_prefix.has_gap;
        if !joined.content.is_empty() {
            self.add(spec, joined.into_message(spec));
        }
        self.has_gap |= has_gap && !spec.is_card;
    }

    /// Where a message that is added now will be.
    fn next(&self, spec: &MessageSpec) -> Holder {
        if spec.is_card {
            Holder::Card(clamped(self.cards.len()))
        } else {
            Holder::Message(clamped(self.messages.len()))
        }
    }

    fn add(&mut self, spec: &MessageSpec, mut message: Message<'a>) {
        if self.has_gap {
            message.cache_prefix = Cow::default();
        }
        let list = if spec.is_card { &mut self.cards } else { &mut self.messages };
        list.push(message);
    }

    fn prepared_message(&mut self, spec: &'a MessageSpec, prepared: &'a PreparedMessage) {
        let PreparedMessage { message, sections, findings, memo } = prepared;
        let holder = self.next(spec);
        let moved = |position: &Position| Position { holder, bytes: position.bytes.clone() };
        self.sections.extend(sections.iter().map(|section| section.at(section.position.as_ref().map(moved))));
        self.findings.extend(findings.iter().map(Cow::Borrowed));
        if !message.content.is_empty() {
            self.add(spec, message.shared(spec, memo));
        }
        self.has_gap |= message.cache_prefix.has_gap && !spec.is_card;
    }

    fn conversation(&mut self, window: ConversationWindow<'a>) {
        let first = clamped(self.messages.len());
        self.carried = window.carried;
        self.messages.extend(window.messages);
        self.sections.push(window.report);
        self.sections.extend(window.sections.into_iter().map(|mut section| {
            if let Some(position) = &mut section.position {
                position.holder = position.holder.after(first);
            }
            section
        }));
        self.findings.extend(window.findings.into_iter().map(Cow::Owned));
    }

    fn finish(mut self, profile: &Profile) -> Prompt<'a> {
        sort_findings(&mut self.findings);
        let size = Size::sum(self.messages.iter().map(|message| message.size));
        Prompt {
            digest: digest::list(self.messages.iter().chain(&self.cards).map(|message| message.digest)),
            cache_plan: CachePlan::of(&self.messages),
            allowed_tools: Vec::new(),
            cache_placement: profile.cache,
            conversation: self.carried,
            size,
            messages: self.messages,
            cards: self.cards,
            sections: self.sections,
            findings: self.findings,
        }
    }
}

/// What a turn's own values made is not stable: other turns have others.
fn for_this_turn(mut rendered: RenderedSection<'_>) -> RenderedSection<'_> {
    for block in rendered.blocks.iter_mut() {
        if block.report.outcome != Outcome::Omitted {
            block.report.stability = block.report.stability.max(Stability::Session);
        }
    }
    rendered
}
