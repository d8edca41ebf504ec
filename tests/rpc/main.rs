//! The gRPC server from outside: it is started on a free port and called by generated clients.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[cfg(feature = "etcd")]
mod admin;
mod assemble;
mod auth;
mod bounds;
mod call;
mod canary;
mod connect;
mod diff;
mod drain;
mod files;
mod health;
mod held;
mod hidden;
mod history;
mod http;
mod layers;
mod limits;
#[cfg(feature = "mcp")]
mod mcp;
mod metadata;
mod nested;
#[cfg(feature = "memory")]
mod notes;
mod pages;
mod peers;
mod raw;
#[cfg(feature = "memory")]
mod recall;
mod reply;
mod rig;
#[cfg(feature = "memory")]
mod segments;
#[cfg(feature = "memory")]
mod sessions;
mod tls;
mod web;
mod workspaces;
