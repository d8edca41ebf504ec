//! The inspector's page: the files of `assets/`, embedded, and the headers that everything at its address is sent with.
//!
//! It opens no socket and knows no RPC. The daemon listens, checks who asks, and answers the page's calls.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
#![warn(unreachable_pub)]

mod asset;
mod gzip;
mod headers;

pub use asset::{Asset, assets};
pub use headers::{CONTENT_SECURITY_POLICY, protect};
