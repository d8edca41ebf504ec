//! Sets of a turn's fields: what a section depends on, and what a turn sets.

use std::{fmt, ops};

use super::{Conversation, ResponseFormat, Stage, Turn};

/// A set of fields of a turn.
///
/// A section records which fields it depends on ([`crate::profile::SectionSpec::deps`]); a section that depends on none
/// of the fields that a turn sets is rendered once a revision and shared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnFields(u32);

impl TurnFields {
    /// No field: the workspace alone.
    pub const NONE: Self = Self(0);
    /// `turn.agent`.
    pub const AGENT: Self = Self(1);
    /// `turn.user`.
    pub const USER: Self = Self(1 << 1);
    /// `turn.channel`.
    pub const CHANNEL: Self = Self(1 << 2);
    /// `turn.now` and `turn.time_zone`: every turn has a clock.
    pub const NOW: Self = Self(1 << 3);
    /// `turn.heartbeat`.
    pub const HEARTBEAT: Self = Self(1 << 4);
    /// `turn.variables`.
    pub const VARIABLES: Self = Self(1 << 5);
    /// `turn.persona`.
    pub const PERSONA: Self = Self(1 << 6);
    /// `turn.knowledge`.
    pub const KNOWLEDGE: Self = Self(1 << 7);
    /// `turn.conversation_summary`.
    pub const SUMMARY: Self = Self(1 << 8);
    /// `turn.response_format`.
    pub const FORMAT: Self = Self(1 << 9);
    /// `turn.ephemeral_system_prompt`.
    pub const EPHEMERAL: Self = Self(1 << 10);
    /// `turn.skip_context_files` and `turn.context_files`; the first one can change inputs too.
    pub const CONTEXT_FILES: Self = Self(1 << 11);
    /// `turn.skill_filter` and the token's skill globs.
    pub const SKILLS: Self = Self(1 << 12);
    /// The messages of `turn.conversation`, and how many of them are left out.
    pub const CONVERSATION: Self = Self(1 << 13);
    /// Inputs that the profile declares as stable.
    pub const STABLE_INPUTS: Self = Self(1 << 14);
    /// `turn.stage`.
    pub const STAGE: Self = Self(1 << 15);
    /// Inputs that the profile declares as the same through a session; the default.
    pub const SESSION_INPUTS: Self = Self(1 << 16);
    /// Inputs that the profile declares as volatile.
    pub const VOLATILE_INPUTS: Self = Self(1 << 17);
    /// The summaries of `turn.conversation` that take the place of what is left out.
    pub const SUMMARIES: Self = Self(1 << 18);
    /// `turn.inputs`, whatever their stability.
    pub const INPUTS: Self = Self(Self::STABLE_INPUTS.0 | Self::SESSION_INPUTS.0 | Self::VOLATILE_INPUTS.0);
    /// `turn.working_directory`.
    pub const WORKING_DIRECTORY: Self = Self(1 << 19);
    /// Every field.
    pub const ALL: Self = Self((1 << 20) - 1);

    /// The fields that `turn` sets. Every turn has a clock.
    ///
    /// A new field of [`Turn`] does not compile until it is listed here.
    #[must_use]
    pub fn set_by(turn: &Turn) -> Self {
        let Turn {
            agent,
            user,
            channel,
            now: _,
            time_zone: _,
            heartbeat,
            variables,
            persona,
            knowledge,
            conversation_summary,
            response_format,
            ephemeral_system_prompt,
            skip_context_files,
            skill_filter,
            skill_access,
            context_files,
            conversation,
            inputs,
            stage,
            // It changes no section by itself: where it is exceeded, what is cut is assembled again.
            budget: _,
            working_directory,
        } = turn;
        let Conversation { messages, segments, first_index: _, held_cut: _, rest_is_stored: _ } = conversation;
        Self::NOW
            .and_if(agent.is_some(), Self::AGENT)
            .and_if(user.is_some(), Self::USER)
            .and_if(channel.is_some(), Self::CHANNEL)
            .and_if(*heartbeat, Self::HEARTBEAT)
            .and_if(!variables.is_empty(), Self::VARIABLES)
            .and_if(persona.is_some(), Self::PERSONA)
            .and_if(!knowledge.is_empty(), Self::KNOWLEDGE)
            .and_if(!conversation_summary.is_empty(), Self::SUMMARY)
            .and_if(*response_format != ResponseFormat::Text, Self::FORMAT)
            .and_if(ephemeral_system_prompt.is_some(), Self::EPHEMERAL)
            .and_if(*skip_context_files || !context_files.is_empty(), Self::CONTEXT_FILES)
            .and_if(skill_filter.is_some() || skill_access.is_some(), Self::SKILLS)
            .and_if(!messages.is_empty() || !segments.is_empty(), Self::CONVERSATION | Self::SUMMARIES)
            // Inputs without a value may have the text of a context file.
            .and_if(!inputs.is_empty() || *skip_context_files, Self::INPUTS)
            .and_if(*stage != Stage::First, Self::STAGE)
            .and_if(!working_directory.is_root(), Self::WORKING_DIRECTORY)
    }

    /// Whether the two have a field in common.
    #[must_use]
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The fields of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These fields, less those of `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// This, and `other` if `condition` holds.
    #[must_use]
    pub fn and_if(self, condition: bool, other: Self) -> Self {
        if condition { self | other } else { self }
    }
}

impl ops::BitOr for TurnFields {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.with(other)
    }
}

impl ops::BitOrAssign for TurnFields {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Binary for TurnFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Binary::fmt(&self.0, f)
    }
}
