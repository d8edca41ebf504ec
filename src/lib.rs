//! The daemon: promptd's services behind gRPC, its config and its admin pages.
//!
//! ARCHITECTURE.md at the repository's root is the map.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod admin;
pub mod config;
#[allow(clippy::disallowed_methods, reason = "calls are timed, and a turn without a clock gets one")]
pub mod grpc;
