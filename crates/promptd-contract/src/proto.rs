//! The messages of `proto/promptd/v1/promptd.proto`, and the descriptors of the whole contract.
//!
//! The services are generated apart, into [`crate::grpc`], which alone knows tonic.

#![allow(missing_docs, clippy::pedantic, reason = "generated")]

include!(concat!(env!("OUT_DIR"), "/promptd.v1.rs"));

/// The contract as an encoded `FileDescriptorSet`, comments and imports included.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/promptd.fds"));
