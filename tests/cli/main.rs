//! The command line, through the real binary.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod check;
mod color;
mod config;
mod descriptors;
mod diff;
mod docs;
mod init;
mod logs;
mod manual;
mod profile;
mod render;
mod serve;
mod snapshot;
mod support;
