//! `promptd man`: the manual pages of the commands.

use std::{path::PathBuf, process::ExitCode};

use clap::CommandFactory as _;
use clap_mangen::{Man, generate_to};

use super::{CommandResult, Failure, print, unbuilt};

/// Prints the manual page of promptd or of one of its commands, or writes all of them to a folder.
///
/// To read one: `promptd man serve | man -l -`.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The command, such as `serve` or `profile show`.
    #[arg(conflicts_with = "folder")]
    command: Vec<String>,
    /// Writes every page to this folder, which exists: promptd.1, promptd-serve.1, and so on.
    #[arg(long = "dir", value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let mut promptd = super::Arguments::command().disable_help_subcommand(true);
    promptd.build();
    if let Some(folder) = &arguments.folder {
        generate_to(promptd, folder)
            .map_err(|error| Failure::run(format!("cannot write the pages to {}: {error}", folder.display())))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut command = &promptd;
    for name in &arguments.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            if let Some(message) = unbuilt::command(name) {
                return Failure::run(message);
            }
            let known: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Failure::run(format!("{} has no command `{name}`\nhelp: its commands: {known}", command.get_name()))
        })?;
    }
    let mut page = Vec::new();
    Man::new(command.clone())
        .render(&mut page)
        .map_err(|error| Failure::run(format!("cannot write the page: {error}")))?;
    print(String::from_utf8_lossy(&page))?;
    Ok(ExitCode::SUCCESS)
}
