//! The command line: one file a subcommand.
//!
//! Exit codes: 0 success; 1 the input has a fault (a config, a workspace, a turn); 2 the command could not run (its
//! arguments, a missing folder). Results go to standard output, messages about them to standard error.

mod check;
mod completions;
mod diff;
mod docs;
mod explain;
#[cfg(feature = "etcd")]
mod fleet;
mod folder;
mod init;
#[cfg(feature = "inspector")]
mod inspect;
mod load;
mod logs;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "memory")]
mod memory;
mod profile;
#[cfg(feature = "record")]
mod record;
mod render;
#[cfg(feature = "record")]
mod replay;
mod said;
mod schema;
mod serve;
mod settings;
mod snapshot;
mod turn_file;
mod unbuilt;

use std::{
    env, fmt,
    io::{self, Write as _},
    process::ExitCode,
};

use anstream::{AutoStream, ColorChoice, stream::RawStream};
use clap::{Parser, Subcommand, ValueEnum};
use promptd_core::text::thousands;

/// `0.1.0`; with the commit and its day in a release build from a git checkout: `0.1.0 (1b2c3d4e5 2026-11-29)`.
const VERSION: &str = env!("PROMPTD_VERSION");

/// Assembles the prompts of an agent, turn by turn, from the files of a workspace.
#[derive(Parser)]
#[command(name = "promptd", version = VERSION, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Whether output has colour.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: Color,
}

#[derive(Subcommand)]
enum Command {
    Serve(Box<serve::Arguments>),
    #[cfg(feature = "inspector")]
    Inspect(inspect::Arguments),
    #[cfg(feature = "mcp")]
    Mcp(mcp::Arguments),
    #[cfg(feature = "memory")]
    Memory(memory::Arguments),
    Render(render::Arguments),
    Check(check::Arguments),
    Diff(diff::Arguments),
    Snapshot(snapshot::Arguments),
    #[cfg(feature = "record")]
    Record(record::Arguments),
    #[cfg(feature = "record")]
    Replay(replay::Arguments),
    #[cfg(feature = "etcd")]
    Publish(fleet::publish::Arguments),
    #[cfg(feature = "etcd")]
    Proposals(fleet::proposals::Proposals),
    #[cfg(feature = "etcd")]
    Approve(fleet::proposals::Approve),
    #[cfg(feature = "etcd")]
    Reject(fleet::proposals::Reject),
    #[cfg(feature = "etcd")]
    Promote(fleet::canary::Promote),
    #[cfg(feature = "etcd")]
    Abort(fleet::canary::Abort),
    #[cfg(feature = "etcd")]
    Pull(fleet::pull::Arguments),
    #[cfg(feature = "etcd")]
    History(fleet::history::Arguments),
    #[cfg(feature = "etcd")]
    Rollback(fleet::rollback::Arguments),
    #[cfg(feature = "etcd")]
    Gc(fleet::gc::Arguments),
    Init(init::Arguments),
    Profile(profile::Arguments),
    Schema(schema::Arguments),
    Docs(docs::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

/// The values of `--color`.
#[derive(Clone, Copy, Default, ValueEnum)]
enum Color {
    /// On a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
    #[default]
    Auto,
    Always,
    Never,
}

impl Color {
    /// Makes it the choice of the whole process.
    fn apply(self) {
        let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb") && env::var_os("CLICOLOR_FORCE").is_none();
        let choice = match self {
            // anstream styles a dumb terminal where `CI` is set.
            Self::Auto if is_dumb => ColorChoice::Never,
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// Runs the command that the arguments name.
pub(crate) fn run() -> ExitCode {
    let Arguments { command, color } = Arguments::try_parse().unwrap_or_else(|error| unbuilt::explain(error).exit());
    color.apply();
    let done = match command {
        Command::Serve(arguments) => serve::run(&arguments),
        #[cfg(feature = "inspector")]
        Command::Inspect(arguments) => inspect::run(&arguments),
        #[cfg(feature = "mcp")]
        Command::Mcp(arguments) => mcp::run(&arguments),
        #[cfg(feature = "memory")]
        Command::Memory(arguments) => memory::run(&arguments),
        Command::Render(arguments) => render::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Snapshot(arguments) => snapshot::run(&arguments),
        #[cfg(feature = "record")]
        Command::Record(arguments) => record::run(&arguments),
        #[cfg(feature = "record")]
        Command::Replay(arguments) => replay::run(&arguments),
        #[cfg(feature = "etcd")]
        Command::Publish(arguments) => fleet::publish::run(&arguments),
        #[cfg(feature = "etcd")]
        Command::Proposals(arguments) => fleet::proposals::list(&arguments),
        #[cfg(feature = "etcd")]
        Command::Approve(arguments) => fleet::proposals::approve(&arguments),
        #[cfg(feature = "etcd")]
        Command::Reject(arguments) => fleet::proposals::reject(&arguments),
        #[cfg(feature = "etcd")]
        Command::Promote(arguments) => fleet::canary::promote(&arguments),
        #[cfg(feature = "etcd")]
        Command::Abort(arguments) => fleet::canary::abort(&arguments),
        #[cfg(feature = "etcd")]
        Command::Pull(arguments) => fleet::pull::run(&arguments),
        #[cfg(feature = "etcd")]
        Command::History(arguments) => fleet::history::run(&arguments),
        #[cfg(feature = "etcd")]
        Command::Rollback(arguments) => fleet::rollback::run(&arguments),
        #[cfg(feature = "etcd")]
        Command::Gc(arguments) => fleet::gc::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Profile(arguments) => profile::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Docs(arguments) => docs::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
    };
    done.unwrap_or_else(|failure| {
        eprintln!("{}", failure.text.trim_end());
        failure.code
    })
}

type CommandResult = Result<ExitCode, Failure>;

/// Whether what is written to the stream has colour.
fn is_styled(stream: &impl RawStream) -> bool {
    AutoStream::choice(stream) != ColorChoice::Never
}

/// Writes a result to standard output.
fn print(text: impl fmt::Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    check_written(write!(out, "{text}").and_then(|()| out.flush()))
}

/// A reader that closes its end early, as `head` does, is not an error.
fn check_written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::run(format!("cannot write the result: {error}")))
        }
        _ => Ok(()),
    }
}

/// `1 request`, `1,200 requests`
fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(count), if count == 1 { "" } else { "s" })
}

/// Why a command ends early: the code, and what is printed.
#[derive(Debug)]
struct Failure {
    code: ExitCode,
    text: String,
}

impl Failure {
    /// The input has a fault; the text is a whole report.
    fn input(text: impl fmt::Display) -> Self {
        Self { code: ExitCode::from(1), text: text.to_string() }
    }

    /// The command could not run.
    fn run(text: impl fmt::Display) -> Self {
        Self { code: ExitCode::from(2), text: format!("error: {text}") }
    }
}
