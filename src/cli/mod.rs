//! The command line: one file a subcommand.
//!
//! Exit codes: 0 all is well; 1 the input is at fault (a config, a workspace, a turn); 2 the command could not run (its
//! arguments, a missing folder). Results go to standard output, everything said about them to standard error.

mod check;
mod contract;
mod docs;
mod explain;
mod init;
mod load;
mod logs;
mod profile;
mod render;
mod serve;
mod settings;
mod turn;

use std::{
    fmt,
    io::{self, Write as _},
    process::ExitCode,
};

use clap::{Parser, Subcommand};

/// Assembles what an agent's model is told, turn by turn, from a workspace's files.
#[derive(Parser)]
#[command(name = "promptd", version, arg_required_else_help = true, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(Box<serve::Arguments>),
    Render(render::Arguments),
    Check(check::Arguments),
    Init(init::Arguments),
    Profile(profile::Arguments),
    Docs(docs::Arguments),
}

/// Runs the command that the arguments name.
pub(crate) fn run() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Render(arguments) => render::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Profile(arguments) => profile::run(&arguments),
        Command::Docs(arguments) => docs::run(&arguments),
    };
    done.unwrap_or_else(|failure| {
        eprintln!("{}", failure.text.trim_end());
        failure.code
    })
}

/// What a subcommand comes to.
type Outcome = Result<ExitCode, Failure>;

/// Writes a result. A reader that has left, as `head` does, has what it wanted: that is no fault.
fn print(text: impl fmt::Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    written(write!(out, "{text}").and_then(|()| out.flush()))
}

/// How writing a result to standard output went.
fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::run(format!("the result cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Why a command ends early: the code, and what is printed.
#[derive(Debug)]
struct Failure {
    code: ExitCode,
    text: String,
}

impl Failure {
    /// The input is at fault; the text is a whole report.
    fn input(text: impl fmt::Display) -> Self {
        Self { code: ExitCode::from(1), text: text.to_string() }
    }

    /// The command could not run.
    fn run(text: impl fmt::Display) -> Self {
        Self { code: ExitCode::from(2), text: format!("error: {text}") }
    }
}
