//! Assembly through the public API: what a team sees that uses this crate in-process.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod digests;
mod support;
mod turn_fields;
