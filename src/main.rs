//! The `promptd` command.
//!
//! The only part that reads the environment, the clock and the arguments; everything below is told what it needs.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line prints")]

mod cli;

use std::process::ExitCode;

/// A tenth of a call's time under the system's allocator, and far more under musl's, which the static image has.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}
