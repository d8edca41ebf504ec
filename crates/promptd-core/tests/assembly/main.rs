//! Assembly through the public API: what a team sees that uses this crate in-process.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a test fails by panicking"
)]

mod budgets;
mod cache_prefix;
mod cache_session;
mod conversations;
mod digests;
mod file_settings;
mod provider_rules;
mod spans;
mod support;
mod token_counts;
mod tools;
mod turn_fields;
mod windows;
