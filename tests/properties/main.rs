//! What holds of every prompt, whatever the workspace and the turn.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::cast_possible_truncation, reason = "tests")]

mod arbitrary;
mod assembly;
mod budget;
mod keys;
mod layers;
mod narrowing;
mod spans;
#[path = "../cases/support/mod.rs"]
#[allow(dead_code, reason = "laying out files is for the cases")]
mod support;
