//! The client against the real server, which `PROMPTD_BIN` names.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod calls;
mod conversations;
mod last_good;
mod refusals;
mod server;
mod session;
mod tls;
