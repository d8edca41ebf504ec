//! promptd assembles what an agent's model is told, turn by turn, from layers.
//!
//! ARCHITECTURE.md at the repository's root is the map. In short: [`source`] reads files and watches them,
//! [`workspace`] turns bytes into a [`workspace::Snapshot`], [`profile`] holds the recipes, [`prompt`] assembles
//! a [`prompt::Prompt`] as a pure function of snapshot, profile and turn, [`render`] and [`grpc`] hand it out.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod admin;
pub mod config;
pub mod finding;
pub mod globs;
#[allow(clippy::disallowed_methods, reason = "calls are timed, and a turn without a clock gets one")]
pub mod grpc;
pub mod id;
pub mod profile;
pub mod prompt;
pub mod proto;
pub mod render;
pub mod reply;
pub mod request;
pub mod settings;
#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the one place for files and their clocks")]
pub mod source;
pub mod store;
pub mod text;
pub mod tokens;
pub mod wire;
pub mod workspace;
pub mod yaml;
pub mod zone;
