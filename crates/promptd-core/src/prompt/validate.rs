//! Whether a turn may be assembled: the workspace's locks, and the names of its context files.

use std::fmt;

use crate::{
    budget::PromptBudget,
    profile::{Body, Profile},
    text::thousands,
    turn::{Role, Turn},
    workspace::{Lock, Snapshot},
    yaml::nearest,
};

/// A turn that cannot be assembled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnError {
    /// A field's value is wrong. INVALID_ARGUMENT.
    Invalid {
        /// The field's path, such as `turn.inputs.window`.
        field: String,
        /// What is wrong and what would be right: one sentence.
        message: String,
    },
    /// What must not be cut exceeds the prompt's budget. `FAILED_PRECONDITION`.
    BudgetTooSmall(BudgetTooSmall),
    /// The operator locked a field that the turn sets. PERMISSION_DENIED.
    Locked {
        /// The field's path.
        field: String,
    },
}

/// A budget that cannot be kept, in its own unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetTooSmall {
    /// The budget.
    pub budget: PromptBudget,
    /// What the parts take that are not cut, the conversation included unless the profile trims it.
    pub pinned: usize,
    /// What other sections must have: their floors.
    pub floors: usize,
}

impl fmt::Display for BudgetTooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [pinned, floors] = [self.pinned, self.floors].map(|size| thousands(size as u64));
        write!(f, "the prompt's budget of {} is too small: what is never cut takes {pinned}", self.budget)?;
        if self.floors > 0 { write!(f, ", and floors take {floors}") } else { Ok(()) }
    }
}

impl TurnError {
    /// The operator locked a field.
    pub fn locked(field: impl Into<String>) -> Self {
        Self::Locked { field: field.into() }
    }

    /// A field's value is wrong.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), message: message.into() }
    }
}

impl fmt::Display for TurnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { field, message } => write!(f, "{field}: {message}"),
            Self::BudgetTooSmall(error) => error.fmt(f),
            Self::Locked { field } => write!(f, "{field}: locked by the workspace"),
        }
    }
}

impl std::error::Error for TurnError {}

/// Checks a turn against the workspace.
///
/// # Errors
///
/// The turn sets a locked field, or names a context file that the workspace and the profile do not have.
pub(super) fn check(snapshot: &Snapshot, profile: &Profile, turn: &Turn) -> Result<(), TurnError> {
    check_locks(snapshot, profile, turn)?;
    check_context_files(snapshot, profile, turn)
}

fn check_locks(snapshot: &Snapshot, profile: &Profile, turn: &Turn) -> Result<(), TurnError> {
    let manifest = &snapshot.manifest;
    for lock in &manifest.locked {
        let (set, field) = match lock {
            Lock::Profile => (profile.name != manifest.profile, "profile"),
            Lock::Persona => (turn.persona.is_some(), "turn.persona"),
            Lock::Ephemeral => (turn.ephemeral_system_prompt.is_some(), "turn.ephemeral_system_prompt"),
            Lock::Agent => (turn.agent.is_some(), "turn.agent"),
            Lock::TimeZone => (turn.time_zone.is_some(), "turn.time_zone"),
            Lock::Inputs => (!turn.inputs.is_empty(), "turn.inputs"),
            Lock::WorkingDirectory => (!turn.working_directory.is_root(), "turn.working_directory"),
            Lock::ConversationSystem => match first_system(turn) {
                Some(index) => return Err(TurnError::locked(format!("turn.conversation.messages[{index}].role"))),
                None => continue,
            },
        };
        if set {
            return Err(TurnError::locked(field));
        }
    }
    Ok(())
}

/// The conversation's first message of the role `system`.
fn first_system(turn: &Turn) -> Option<usize> {
    turn.conversation.messages.iter().position(|message| message.role == Role::System)
}

fn check_context_files(snapshot: &Snapshot, profile: &Profile, turn: &Turn) -> Result<(), TurnError> {
    if turn.context_files.is_empty() {
        return Ok(());
    }
    let mut known: Vec<&str> = snapshot.manifest.context.files.iter().map(|file| &*file.path).collect();
    for (_, section) in profile.sections() {
        if let Body::ContextFiles { files, .. } = &section.body {
            known.extend(files.iter().map(|(path, _)| path.as_str()));
        }
    }
    for (index, path) in turn.context_files.iter().enumerate() {
        if !known.contains(&path.as_str()) && !snapshot.nested.looks_for(path) {
            let hint = match nearest(path, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known: {}", known.join(", ")),
            };
            let field = format!("turn.context_files[{index}]");
            return Err(TurnError::invalid(field, format!("not a context file of this workspace; {hint}")));
        }
    }
    Ok(())
}
