//! `promptd completions`: what a shell needs to complete promptd's commands and flags.

use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::{Shell, generate};

use super::{CommandResult, print};

/// Prints the completions of a shell.
///
/// bash: `promptd completions bash > ~/.local/share/bash-completion/completions/promptd`.
/// zsh: to a file `_promptd` in a folder of `$fpath`. fish: to `~/.config/fish/completions/promptd.fish`.
#[derive(clap::Args)]
pub(super) struct Arguments {
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let mut script = Vec::new();
    generate(arguments.shell, &mut super::Arguments::command(), "promptd", &mut script);
    print(String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
