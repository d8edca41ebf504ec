//! The contract's messages: [`proto`] as generated, [`decode`] from them to checked types, [`encode`] from a prompt to bytes,
//! [`json`] for those who have no protobuf.

#![warn(unreachable_pub)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod decode;
pub mod encode;
pub mod json;
pub mod proto;
