//! The `promptd` command.
//!
//! The only part that reads the environment, the clock and the arguments; everything below gets what it needs.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line prints")]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
