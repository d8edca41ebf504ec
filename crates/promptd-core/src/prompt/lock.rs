//! What a turn may set: the workspace's locks, and the names of its context files.

use super::TurnError;
use crate::{
    profile::{Body, Profile},
    turn::Turn,
    workspace::{Lock, Snapshot},
    yaml::nearest,
};

/// Checks a turn against the workspace.
pub fn check(snapshot: &Snapshot, profile: &Profile, turn: &Turn) -> Result<(), TurnError> {
    let manifest = &snapshot.manifest;
    for lock in &manifest.locked {
        let (set, field) = match lock {
            Lock::Profile => (profile.name != manifest.profile, "profile"),
            Lock::Persona => (turn.persona.is_some(), "turn.persona"),
            Lock::Ephemeral => (turn.ephemeral_system_prompt.is_some(), "turn.ephemeral_system_prompt"),
            Lock::Agent => (turn.agent.is_some(), "turn.agent"),
            Lock::TimeZone => (turn.time_zone.is_some(), "turn.time_zone"),
            Lock::Inputs => (!turn.inputs.is_empty(), "turn.inputs"),
        };
        if set {
            return Err(TurnError::Locked { field });
        }
    }
    if turn.context_files.is_empty() {
        return Ok(());
    }
    let mut known: Vec<&str> = manifest.context.files.iter().map(|file| &*file.path).collect();
    for (_, section) in profile.sections() {
        if let Body::ContextFiles { files, .. } = &section.body {
            known.extend(files.iter().map(|(path, _)| path.as_str()));
        }
    }
    for (index, path) in turn.context_files.iter().enumerate() {
        if !known.contains(&path.as_str()) {
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
