//! The command line, through the real binary.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod check;
mod color;
mod config;
mod descriptors;
mod diff;
mod docs;
mod init;
mod install;
mod layers;
mod logs;
mod manual;
#[cfg(feature = "memory")]
mod memory;
mod profile;
#[cfg(feature = "record")]
mod record;
mod render;
#[cfg(feature = "record")]
mod replay;
mod serve;
mod snapshot;
mod support;
#[cfg(not(any(feature = "etcd", feature = "mcp", feature = "memory")))]
mod unbuilt;
