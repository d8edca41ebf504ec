//! Turn files: `--turn`, and those that a workspace keeps for comparing prompts.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use promptd::{config::Config, turn_file as turn};
use promptd_contract::decode::{self, Violation};
use promptd_core::{
    finding::{Code, Finding, Place},
    profile::ProfileSet,
    turn::Turn,
};

use super::{Failure, settings};

/// Where a workspace keeps turns for comparing its prompts.
pub(super) const TURNS_FOLDER: &str = ".promptd/turns";
/// What the names of turn files there end with. JSON is YAML too.
pub(super) const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// What is assembled, except for the workspace.
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
    parse(&text, &name, Timestamp::now(), config, profiles).map_err(|findings| {
        let (violations, faults): (Vec<_>, _) =
            findings.into_iter().partition(|finding| matches!(finding.place, Place::Field(_)));
        if violations.is_empty() {
            return Failure::input(settings::report(&faults, &name, Some(&text)));
        }
        let lines: Vec<_> = violations.iter().map(|violation| format!("error: {violation}")).collect();
        Failure::input(format!("{}\n  in {name}", lines.join("\n")))
    })
}

/// The turn of a file's text; `now` is its time if it sets none. Faults are at a place of the file, or in a field of the turn.
pub(super) fn parse(
    text: &str,
    name: &str,
    now: Timestamp,
    config: &Config,
    profiles: &ProfileSet,
) -> Result<TurnAndProfile, Vec<Finding>> {
    let file = turn::read(text, name, profiles)?;
    let fault =
        |violation: Violation| Finding::new(Code::InvalidValue, Place::Field(violation.field), violation.message);
    let turn = decode::turn(file.turn, &config.grpc.request, now);
    let turn = turn.map_err(|violations| violations.into_iter().map(fault).collect::<Vec<_>>())?;
    Ok(TurnAndProfile { turn, profile: file.profile })
}

/// The files of a workspace's folder of turns whose names end with one of these, in name order.
pub(super) fn of_workspace(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, Failure> {
    let turns = folder.join(TURNS_FOLDER);
    let failure = |error: io::Error| Failure::run(format!("cannot read the folder {}: {error}", turns.display()));
    let entries = match fs::read_dir(&turns) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failure)?,
    };
    let paths = entries.map(|entry| Ok(entry.map_err(failure)?.path())).collect::<Result<Vec<_>, Failure>>()?;
    let has_extension = |path: &PathBuf| path.extension().is_some_and(|own| extensions.iter().any(|one| own == *one));
    let mut paths: Vec<_> = paths.into_iter().filter(has_extension).collect();
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
