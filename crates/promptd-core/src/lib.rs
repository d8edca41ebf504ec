//! Assembles what an agent's model is told, turn by turn, from layers.
//!
//! [`workspace`] turns bytes into a [`workspace::Snapshot`], [`profile`] holds the recipes, and [`prompt::assemble`] makes a
//! [`prompt::Prompt`] of snapshot, profile and turn. All of it is pure: no file, no clock, no environment, no transport;
//! the `clippy.toml` of this crate forbids them, and its dependencies have none.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod digest;
pub mod finding;
pub mod globs;
pub mod id;
pub mod profile;
pub mod prompt;
pub mod render;
pub mod reply;
pub mod settings;
pub mod text;
pub mod tokens;
pub mod turn;
pub mod workspace;
pub mod yaml;
pub mod zone;
