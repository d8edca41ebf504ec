//! `workspace.yaml`: what an operator sets for one workspace.

mod budget;
mod extends;
mod inputs;
mod keys;
mod parse;
mod values;

pub use extends::{MAX_EXTENDS, Marks};
pub use keys::schema;
pub(super) use parse::{Parsed, parse};

use std::{collections::BTreeMap, sync::Arc};

use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use crate::{
    budget::WorkspaceBudget,
    globs::{NameGlobs, SkillFilter},
    id::Id,
    text::cut::Keep,
};

/// The name of the file, at the workspace's root.
pub const MANIFEST: &str = "workspace.yaml";

/// A checked `workspace.yaml`; a missing file is all defaults.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// `extends`: the workspaces below this one, from far to near.
    pub extends: Vec<Id>,
    /// `extendable_by`: the ids of the workspaces that may extend this one; default none.
    pub extendable_by: NameGlobs,
    /// `agent`.
    pub agent: AgentSettings,
    /// `profile`; default `five-layer`.
    pub profile: Id,
    /// `context`.
    pub context: ContextSettings,
    /// `skills.enabled`; default true.
    pub skills_enabled: bool,
    /// `skills.allowlist` and `skills.blocklist`.
    pub skills: SkillFilter,
    /// The same of the layers: what one of them does not admit is not shown.
    pub skills_of_layers: Vec<Arc<SkillFilter>>,
    /// `heartbeat.protocol`: replaces the built-in protocol text.
    pub heartbeat_protocol: Option<String>,
    /// `expose_paths`; default true.
    pub expose_paths: bool,
    /// `locked`: what a turn may not set.
    pub locked: Vec<Lock>,
    /// `inputs`: values for the profile's inputs; a turn's win.
    pub inputs: Map<String, Value>,
    /// `budget`: the most that a prompt may take, and what sections have of it.
    pub budget: WorkspaceBudget,
}

/// `agent` in `workspace.yaml`.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSettings {
    /// `id`; default the workspace's id.
    pub id: String,
    /// `name`; default the workspace's id.
    pub name: String,
    /// `persona`, trimmed; absent where blank.
    pub persona: Option<String>,
    /// `time_zone`; default UTC.
    pub time_zone: TimeZone,
    /// `skip_context_files`; default false.
    pub skip_context_files: bool,
    /// `ephemeral_system_prompt`, trimmed; absent where blank.
    pub ephemeral_system_prompt: Option<String>,
}

/// `context` in `workspace.yaml`. Limits count Unicode scalar values; 0 means that nothing fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextSettings {
    /// `max_chars_per_file`; default 4,000.
    pub max_chars_per_file: usize,
    /// Whether the workspace sets it: then it holds under every profile, and the default only where a section asks for it.
    pub sets_max_chars_per_file: bool,
    /// `max_chars_total`; default 12,000.
    pub max_chars_total: usize,
    /// Whether the workspace sets it: as above.
    pub sets_max_chars_total: bool,
    /// `files`, beyond the three that are always looked for.
    pub files: Vec<ExtraFile>,
    /// `nested`: names of files that are looked for in every folder from the root down to where a turn works.
    pub nested: Vec<String>,
    /// `append`: the files that are shown together with the layers' instead of replacing them, by path.
    pub append: Vec<String>,
    /// What `files` says of single ones, the three included, by path.
    pub rules: BTreeMap<String, FileRule>,
}

impl ContextSettings {
    /// What holds for one file.
    #[must_use]
    pub fn rule(&self, path: &str) -> FileRule {
        self.rules.get(path).copied().unwrap_or_default()
    }

    /// The most characters of one file: its own number, else that for each file.
    #[must_use]
    pub fn max_chars_of(&self, path: &str) -> usize {
        self.rule(path).max_chars.unwrap_or(self.max_chars_per_file)
    }
}

/// What one of `context.files` says of its limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileRule {
    /// `max_chars`, instead of `max_chars_per_file`.
    pub max_chars: Option<usize>,
    /// `priority: pinned`: it gets what it needs of `max_chars_total` before the others share the rest.
    pub is_pinned: bool,
    /// `keep`: which end survives a cut; absent: the beginning.
    pub keep: Option<Keep>,
}

/// One of `context.files`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraFile {
    /// Relative to the workspace.
    pub path: String,
    /// What the file is for, on one line; empty: no purpose line.
    pub purpose: String,
    /// Its place in `context.files`.
    pub index: usize,
}

/// One of `locked`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lock {
    /// The request's `profile`.
    Profile,
    /// `turn.persona`.
    Persona,
    /// `turn.ephemeral_system_prompt`.
    Ephemeral,
    /// `turn.agent`.
    Agent,
    /// `turn.time_zone`.
    TimeZone,
    /// `turn.inputs`.
    Inputs,
    /// `turn.working_directory`.
    WorkingDirectory,
    /// Messages of the role `system` in `turn.conversation`: they would be read like an ephemeral prompt, whose lock
    /// includes this one.
    ConversationSystem,
}

impl Lock {
    /// Each with its name in `workspace.yaml`.
    pub const NAMES: [(&'static str, Self); 8] = [
        ("profile", Self::Profile),
        ("persona", Self::Persona),
        ("ephemeral", Self::Ephemeral),
        ("agent", Self::Agent),
        ("time_zone", Self::TimeZone),
        ("inputs", Self::Inputs),
        ("working_directory", Self::WorkingDirectory),
        ("conversation_system", Self::ConversationSystem),
    ];

    /// Its name in `workspace.yaml`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find_map(|(name, lock)| (lock == self).then_some(name)).unwrap_or_default()
    }
}

impl Manifest {
    /// Whether prompts may show a skill: it and all of its layers admit it.
    #[must_use]
    pub fn admits_skill(&self, name: &str, folder_name: &str) -> bool {
        let admits = |filter: &SkillFilter| filter.admits(name, folder_name);
        self.skills_enabled && admits(&self.skills) && self.skills_of_layers.iter().all(|filter| admits(filter))
    }

    /// What a workspace without `workspace.yaml` has.
    #[must_use]
    pub fn defaults(id: &Id) -> Self {
        Self {
            extends: Vec::new(),
            extendable_by: NameGlobs::default(),
            agent: AgentSettings {
                id: id.to_string(),
                name: id.to_string(),
                persona: None,
                time_zone: TimeZone::UTC,
                skip_context_files: false,
                ephemeral_system_prompt: None,
            },
            profile: crate::profile::default_id(),
            context: ContextSettings {
                max_chars_per_file: 4_000,
                sets_max_chars_per_file: false,
                max_chars_total: 12_000,
                sets_max_chars_total: false,
                files: Vec::new(),
                nested: Vec::new(),
                append: Vec::new(),
                rules: BTreeMap::new(),
            },
            skills_enabled: true,
            skills: SkillFilter::default(),
            skills_of_layers: Vec::new(),
            heartbeat_protocol: None,
            expose_paths: true,
            locked: Vec::new(),
            inputs: Map::new(),
            budget: WorkspaceBudget::default(),
        }
    }
}
