//! The generated services: servers for this crate, clients for tests and benchmarks.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    reason = "generated"
)]

include!(concat!(env!("OUT_DIR"), "/services/promptd.v1.rs"));
include!(concat!(env!("OUT_DIR"), "/services/server/promptd.v1.rs"));

/// The health checking protocol, `List` included: tonic-health has no such method yet.
pub mod health {
    include!(concat!(env!("OUT_DIR"), "/services/grpc.health.v1.rs"));

    /// The protocol as an encoded `FileDescriptorSet`.
    pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/health.fds"));
}
