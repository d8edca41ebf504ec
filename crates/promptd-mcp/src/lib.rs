//! promptd for clients of the Model Context Protocol: its skills by the Skills extension, its context files as resources, its
//! prompts as prompts.
//!
//! It has no data of its own. Each request becomes RPCs of promptd's, made through [`Promptd`] as if the client had made them,
//! so that tokens, locks, filters and limits are those of every other call. It serves the revisions 2026-07-28 and
//! 2025-11-25, by HTTP ([`HttpServer`]) and on standard input and output ([`serve_stdio`]). `docs/mcp.md` has the rules.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
#![warn(unreachable_pub)]

mod address;
mod arguments;
mod client;
mod error;
mod findings;
mod http;
mod promptd;
mod prompts;
mod resources;
mod server;
mod skills;
mod stdio;
mod subscriptions;
mod tools;

pub use crate::{
    http::{HttpServer, MAX_REQUEST_BYTES, is_at, listens},
    promptd::{Failure, Messages, Promptd},
    stdio::{StdioError, serve_stdio},
};
