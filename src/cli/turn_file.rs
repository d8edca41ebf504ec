//! Turn files: `--turn`, and those that a workspace keeps for comparing prompts.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use promptd::{config::Config, turn_file as turn};
use promptd_contract::{decode, proto};
use promptd_core::{profile::ProfileSet, turn::Turn};

use super::{Failure, settings};

/// Where a workspace keeps turns for comparing its prompts.
pub(super) const TURNS_FOLDER: &str = ".promptd/turns";
/// What the names of turn files there end with.
pub(super) const EXTENSION: &str = "yaml";

/// What is assembled, but for the workspace.
pub(super) struct TurnAndProfile {
    pub(super) turn: Turn,
    /// The profile that the file names.
    pub(super) profile: Option<String>,
}

/// Reads a turn file, `-` from standard input; `None`: a turn that sets nothing. The failure is a report of every fault.
pub(super) fn read(path: Option<&Path>, config: &Config, profiles: &ProfileSet) -> Result<TurnAndProfile, Failure> {
    let (name, text) = match path {
        None => ("the turn".to_owned(), String::new()),
        Some(path) => (path.display().to_string(), text(path)?),
    };
    let file = turn::read(&text, &name, profiles)
        .map_err(|findings| Failure::input(settings::report(&findings, &name, Some(&text))))?;
    let turn = checked(file.turn, config, &name)?;
    Ok(TurnAndProfile { turn, profile: file.profile })
}

/// The turn of a file that can be read.
pub(super) fn checked(raw: proto::Turn, config: &Config, name: &str) -> Result<Turn, Failure> {
    decode::turn(raw, &config.grpc.request, Timestamp::now()).map_err(|violations| {
        let lines: Vec<_> = violations.iter().map(|violation| format!("error: {violation}")).collect();
        Failure::input(format!("{}\n  in {name}", lines.join("\n")))
    })
}

/// The turn files of a workspace, in name order.
pub(super) fn of_workspace(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let turns = folder.join(TURNS_FOLDER);
    let failure = |error: io::Error| Failure::run(format!("cannot read the folder {}: {error}", turns.display()));
    let entries = match fs::read_dir(&turns) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failure)?,
    };
    let paths = entries.map(|entry| Ok(entry.map_err(failure)?.path())).collect::<Result<Vec<_>, Failure>>()?;
    let is_turn = |path: &PathBuf| path.extension().is_some_and(|extension| extension == EXTENSION);
    let mut paths: Vec<_> = paths.into_iter().filter(is_turn).collect();
    paths.sort();
    Ok(paths)
}

fn text(path: &Path) -> Result<String, Failure> {
    let failure = |e: io::Error| Failure::run(format!("cannot read the turn {}: {e}", path.display()));
    if path.as_os_str() != "-" {
        return fs::read_to_string(path).map_err(failure);
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).map_err(failure)?;
    Ok(text)
}
