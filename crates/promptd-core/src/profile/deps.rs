//! What of a turn something depends on.

use std::{fmt, ops};

/// Which parts of a turn something depends on; a set. What depends on none is rendered once a revision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deps(u32);

impl Deps {
    /// Nothing of the turn: the workspace alone.
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
    /// `turn.skip_context_files` and `turn.context_files`.
    pub const CONTEXT_FILES: Self = Self(1 << 11);
    /// `turn.skill_filter` and the token's skill globs.
    pub const SKILLS: Self = Self(1 << 12);
    /// `turn.conversation`.
    pub const CONVERSATION: Self = Self(1 << 13);
    /// `turn.inputs`.
    pub const INPUTS: Self = Self(1 << 14);
    /// `turn.stage`.
    pub const STAGE: Self = Self(1 << 15);

    /// Whether the two have a part in common.
    #[must_use]
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// This, and `other` if `condition` holds.
    #[must_use]
    pub fn and_if(self, condition: bool, other: Self) -> Self {
        if condition { self | other } else { self }
    }
}

impl ops::BitOr for Deps {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl ops::BitOrAssign for Deps {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl fmt::Binary for Deps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Binary::fmt(&self.0, f)
    }
}
