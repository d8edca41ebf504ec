//! The server as a process of its own under the worst that callers can send: how much memory it takes, and how long others wait.
//!
//! `cargo test` runs short forms, with small limits and bounds on time that a busy machine and a debug build keep; `just pressure`
//! runs the long ones in a release build, with the default limits.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "tests")]

mod client;
mod isolation;
mod memory;
mod probe;
mod served;
mod worst;

/// Held by each test: all of them measure a process, and the time of others.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Whether the long forms run.
fn is_long() -> bool {
    std::env::var_os("PROMPTD_PRESSURE").is_some_and(|form| form == "long")
}
