//! The server's settings that loading and assembling depend on, already checked.
//!
//! They are part of a revision: changing one gives every workspace a new revision. [`Default`] has
//! the one default of each.

/// The settings of all workspaces.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Whether prompts may show absolute paths; a workspace's own `expose_paths` can only turn it off. Default: true.
    pub expose_paths: bool,
    /// The most bytes read of one file. Default: 1 MiB.
    pub max_file_bytes: usize,
    /// Bounds on the skills block.
    pub skills: SkillLimits,
    /// The most characters of a one-line value, such as a name or an id; 0 leaves nothing. Default: 256.
    pub max_value_chars: usize,
    /// The most characters of one of the turn's variables. Default: 1,024.
    pub max_variable_chars: usize,
    /// What to do about risky workspace text. Default: [`RiskPolicy::Report`].
    pub risks: RiskPolicy,
}

/// Bounds on the skills block.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SkillLimits {
    /// The most characters of one description. Default: 1,024.
    pub max_description_chars: usize,
    /// The most skills shown. Default: 150.
    pub max_shown: usize,
    /// The most characters of the whole block. Default: 18,000.
    pub max_block_chars: usize,
}

/// What to do about hidden characters, forged boundaries and the like in workspace text; the later, the stricter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RiskPolicy {
    /// Report them and change nothing.
    #[default]
    Report,
    /// Report them, and drop hidden characters.
    Strip,
    /// Report them, and leave the file or skill out.
    Refuse,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            expose_paths: true,
            max_file_bytes: 1 << 20,
            skills: SkillLimits::default(),
            max_value_chars: 256,
            max_variable_chars: 1024,
            risks: RiskPolicy::default(),
        }
    }
}

impl Default for SkillLimits {
    fn default() -> Self {
        Self { max_description_chars: 1024, max_shown: 150, max_block_chars: 18_000 }
    }
}
