//! The values of one turn over a snapshot.

mod clock;
mod files;
mod found;
mod inputs;
mod locals;
mod names;
mod one_line;
mod render;
mod working_directory;

use std::borrow::Cow;

use crate::{
    finding::{Finding, Place},
    profile::Profile,
    time::Moment,
    turn::{Agent, Channel, Segment, Snippet, Turn, User},
    workspace::{MANIFEST, Skill, Snapshot},
};

pub(super) use files::{Files, favour, want};
pub(super) use found::{Found, Places, path};
pub(super) use inputs::{InputLoss, Inputs};
pub(super) use locals::{Local, Locals};
pub(super) use one_line::one_line;
use one_line::one_line_of;

/// A turn over a snapshot: each value cleaned once, borrowed where it was clean.
pub(super) struct TurnScope<'a> {
    pub snapshot: &'a Snapshot,
    pub turn: &'a Turn,
    pub profile: &'a Profile,
    /// The clock, as exact as the profile has it.
    now: Moment,
    /// The workspace's files, as this turn may see them.
    pub files: Files<'a>,
    /// The profile's inputs.
    pub inputs: Cow<'a, Inputs>,
    /// What the conversation leaves out of the history's beginning; known once its window is.
    pub trimmed: TrimmedHistory<'a>,
    /// Whether spans are asked for.
    pub traced: bool,
    agent: [Cow<'a, str>; 2],
    user: [Cow<'a, str>; 2],
    channel: [Cow<'a, str>; 4],
}

/// What is left out of the beginning of the history, and what takes its place.
#[derive(Debug, Default, PartialEq)]
pub(super) struct TrimmedHistory<'a> {
    /// How many messages of the whole history come before the first that is carried.
    pub messages: u64,
    /// The segments whose summaries are shown, in the order of the history.
    pub summaries: Vec<&'a Segment>,
    /// Those that are not, since they lie wholly within another.
    pub shadowed: Vec<&'a Segment>,
    /// How many of them are neither carried nor in a summary that is shown.
    pub uncovered: u64,
}

impl<'a> TurnScope<'a> {
    /// Cleans the turn's one-line values; `findings` reports what was removed from them.
    pub(super) fn new(
        snapshot: &'a Snapshot,
        profile: &'a Profile,
        turn: &'a Turn,
        inputs: Cow<'a, Inputs>,
        findings: &mut Vec<Finding>,
    ) -> Self {
        let limit = snapshot.settings.max_value_chars;
        let own = &snapshot.manifest.agent;
        let (id, name) = turn.agent.as_ref().map_or(("", ""), |Agent { id, name }| (id, name));
        let fields =
            [("turn.agent.id", id, "`agent.id`", &own.id), ("turn.agent.name", name, "`agent.name`", &own.name)];
        let agent = fields.map(|(field, turns, key, own)| {
            if turns.is_empty() {
                one_line_of(own, limit, key, || Place::file(MANIFEST), findings)
            } else {
                one_line(turns, limit, field, findings)
            }
        });
        let mut line = |field: &str, value: &'a str| one_line(value, limit, field, findings);
        let user = turn
            .user
            .as_ref()
            .map_or(Default::default(), |User { id, name }| [line("turn.user.id", id), line("turn.user.name", name)]);
        let channel =
            turn.channel.as_ref().map_or(Default::default(), |Channel { name, user_id, chat_type, group_id }| {
                [
                    line("turn.channel.name", name),
                    line("turn.channel.user_id", user_id),
                    line("turn.channel.chat_type", chat_type),
                    line("turn.channel.group_id", group_id),
                ]
            });
        let files = Files::new(snapshot, profile, turn);
        let zone = turn.time_zone.as_ref().unwrap_or(&snapshot.manifest.agent.time_zone);
        let now = clock::now(profile, &inputs, turn, zone);
        Self {
            now,
            snapshot,
            turn,
            profile,
            files,
            inputs,
            trimmed: TrimmedHistory::default(),
            traced: false,
            agent,
            user,
            channel,
        }
    }

    /// The turn's persona, else the workspace's; trimmed.
    fn persona(&self) -> &str {
        let own = self.snapshot.manifest.agent.persona.as_deref();
        self.turn.persona.as_deref().or(own).unwrap_or_default().trim()
    }

    /// The turn's ephemeral prompt, else the workspace's; trimmed.
    fn ephemeral(&self) -> &str {
        let own = self.snapshot.manifest.agent.ephemeral_system_prompt.as_deref();
        self.turn.ephemeral_system_prompt.as_deref().or(own).unwrap_or_default().trim()
    }

    /// The snippets that have text.
    pub(super) fn knowledge(&self) -> impl Iterator<Item = &'a Snippet> {
        self.turn.knowledge.iter().filter(|snippet| !snippet.content.trim().is_empty())
    }

    /// The skills that this turn may see, in order.
    pub(super) fn skills(&self) -> impl Iterator<Item = &'a Skill> {
        let filters = [self.turn.skill_filter.as_ref(), self.turn.skill_access.as_ref()];
        self.snapshot.skills.iter().filter(move |skill| {
            skill.is_shown() && filters.iter().flatten().all(|filter| filter.admits(&skill.name, &skill.folder_name))
        })
    }
}
