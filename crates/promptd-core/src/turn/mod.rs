//! What a caller supplies for one turn, checked.

mod conversation;
mod fields;
mod working_directory;

pub use conversation::{Conversation, ConversationMessage, Role, Segment, ToolCall};
pub use fields::TurnFields;
pub use working_directory::{MAX_WORKING_DIRECTORY_BYTES, NotInside, WorkingDirectory};

use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use crate::{budget::PromptBudget, globs::SkillFilter, time::Moment};

/// One turn, checked. The contract crate decodes it from the contract's `Turn`; in-process callers fill it in.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Overrides the workspace's agent, field by field where not empty.
    pub agent: Option<Agent>,
    /// The person that the agent talks to.
    pub user: Option<User>,
    /// The channel that the turn came in on.
    pub channel: Option<Channel>,
    /// The turn's clock.
    pub now: Moment,
    /// Overrides the workspace's zone.
    pub time_zone: Option<TimeZone>,
    /// Whether the heartbeat timer started it.
    pub heartbeat: bool,
    /// Custom facts, in key order; no key equals a built-in label.
    pub variables: Vec<(String, Value)>,
    /// Overrides the workspace's persona; present and blank: none.
    pub persona: Option<String>,
    /// Retrieved snippets.
    pub knowledge: Vec<Snippet>,
    /// Summary of earlier conversations; blank: none.
    pub conversation_summary: String,
    /// What the reply must be.
    pub response_format: ResponseFormat,
    /// Overrides the workspace's ephemeral prompt; present and blank: none.
    pub ephemeral_system_prompt: Option<String>,
    /// Leaves the context files out.
    pub skip_context_files: bool,
    /// Narrows the workspace's skills.
    pub skill_filter: Option<SkillFilter>,
    /// Narrows further: the token's own skill globs. Not the caller's to set.
    pub skill_access: Option<SkillFilter>,
    /// Keeps only these context files; empty: all.
    pub context_files: Vec<String>,
    /// The conversation so far.
    pub conversation: Conversation,
    /// Values for the profile's inputs, still to be checked against its declarations.
    pub inputs: Map<String, Value>,
    /// Which stage of the turn.
    pub stage: Stage,
    /// The most that the prompt may take; beside the workspace's own it only narrows.
    pub budget: Option<PromptBudget>,
    /// The folder that the turn works in: the workspace's nested context files on the way to it are shown.
    pub working_directory: WorkingDirectory,
}

impl Turn {
    /// A turn that sets nothing but its clock.
    #[must_use]
    pub fn at(now: Moment) -> Self {
        Self {
            agent: None,
            user: None,
            channel: None,
            now,
            time_zone: None,
            heartbeat: false,
            variables: Vec::new(),
            persona: None,
            knowledge: Vec::new(),
            conversation_summary: String::new(),
            response_format: ResponseFormat::Text,
            ephemeral_system_prompt: None,
            skip_context_files: false,
            skill_filter: None,
            skill_access: None,
            context_files: Vec::new(),
            conversation: Conversation::default(),
            inputs: Map::new(),
            stage: Stage::First,
            budget: None,
            working_directory: WorkingDirectory::default(),
        }
    }
}

/// The agent that the turn is for; an empty field is the workspace's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agent {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// Who is talking; an empty field is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
}

/// Where the turn came in; an empty field is unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Channel {
    /// `telegram`, `slack`, `cli` …
    pub name: String,
    /// The user's id there.
    pub user_id: String,
    /// `direct`, `group` …
    pub chat_type: String,
    /// The group's id.
    pub group_id: String,
}

/// A retrieved snippet; blank ones are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The text.
    pub content: String,
    /// Where it is from; may be empty.
    pub source: String,
    /// Its title; may be empty.
    pub title: String,
}

/// What the reply must be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResponseFormat {
    /// Anything.
    #[default]
    Text,
    /// One JSON object.
    JsonObject,
}

/// Which stage of the turn the prompt is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// The first.
    #[default]
    First,
    /// Answering from tool results: no section that could start another search.
    Synthesis,
}

/// The labels that the service writes itself, in their order. A turn's variable may not take one of them.
pub const RUNTIME_LABELS: [&str; 12] = [
    "Agent ID",
    "Agent name",
    "Remote user ID",
    "Remote user name",
    "Incoming channel",
    "Channel user ID",
    "Chat type",
    "Group ID",
    "Current time",
    "Time zone",
    "Workspace",
    "Heartbeat run",
];
