//! The daemon: promptd's services behind gRPC, its config and its admin pages.
//!
//! ARCHITECTURE.md at the repository's root is the map.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod admin;
pub mod config;
pub mod features;
pub mod grpc;
pub mod turn_file;
