//! What one state of a workspace changes in the prompts of another.

use tempfile::TempDir;

use super::{place::Files, pull};
use crate::cli::{
    Failure, diff, is_styled,
    load::{Offline, WorkspaceArgument},
};

/// What differs between two states, for people; empty: nothing does. `after` is what the folder has where it is `None`. The turns
/// are those of the folder.
pub(super) fn difference(
    offline: &Offline,
    workspace: &WorkspaceArgument,
    before: &Files,
    after: Option<&Files>,
) -> Result<String, Failure> {
    let (_held, before) = unpacked(workspace, before)?;
    let (_held_too, after) = match after {
        Some(after) => unpacked(workspace, after).map(|(folder, after)| (Some(folder), after))?,
        None => (None, workspace.clone()),
    };
    let (Ok(before), Ok(after)) = (offline.load_as(workspace, &before), offline.load_as(workspace, &after)) else {
        return Ok("what is published has no prompt to compare with\n".to_owned());
    };
    let turns = diff::turns_of(workspace.path())?;
    let compared = diff::of_turns(offline, turns, |file| file.display().to_string(), None, &[before, after])?;
    Ok(diff::human::render(&compared, is_styled(&std::io::stdout())))
}

/// The workspace with other files, in a folder that is removed when it is dropped.
pub(super) fn unpacked(workspace: &WorkspaceArgument, files: &Files) -> Result<(TempDir, WorkspaceArgument), Failure> {
    let failed = |error: std::io::Error| Failure::run(format!("cannot compare with what is published: {error}"));
    let folder = tempfile::tempdir().map_err(failed)?;
    pull::write_all(folder.path(), files)?;
    let files = workspace.at(folder.path().to_owned(), "what is published".to_owned());
    Ok((folder, files))
}
