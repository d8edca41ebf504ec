//! Workspaces in etcd: read, watched, cached, published.
//!
//! [`Mirror`] follows everything below a prefix and has each workspace as a tree of bytes; what those mean is not known here.
//! [`publish`] writes workspaces in one transaction, [`upload`] files before it, [`canary`] ends what only some turns get, [`history`]
//! reads earlier states, [`review`] has what waits until others approve it, [`gc`] removes what nothing needs, [`checkout`] writes a state to a
//! folder. [`layout`] says where everything is.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
#![warn(unreachable_pub)]

mod batch;
mod blobs;
mod cache;
pub mod canary;
mod candidate;
pub mod checkout;
mod client;
mod clock;
mod disk;
mod error;
pub mod gc;
pub mod history;
pub mod layout;
mod manifest;
mod mirror;
mod options;
pub mod proposal;
mod proto;
pub mod publish;
pub mod review;
mod status;
mod tree;
pub mod upload;

pub use candidate::Candidate;
pub use client::Client;
pub use error::{Error, ErrorKind};
pub use manifest::{
    FORMAT, FileEntry, MAX_FILE_BYTES, MAX_FILES, MAX_WORKSPACE_BYTES, Manifest, is_path, is_publishable,
};
pub use mirror::{Mirror, Workspace};
pub use options::{Cache, Credentials, Options, ReadCredentials, Tls};
pub use status::Status;

/// What the log lines of this crate are filtered by.
const LOG_TARGET: &str = "promptd::etcd";
