//! Reflection: buf uses v1; Python, Node and older grpcurl use v1alpha.

use std::convert::Infallible;

use http::{Request, Response};
use tonic::body::Body;
use tonic_reflection::server::Builder;
pub(super) use tonic_reflection::server::Error as ReflectionError;
use tower::util::BoxCloneSyncService;

use super::api;
use crate::grpc::pipeline::MAX_REFLECTION_BYTES;
use promptd_contract::proto;

/// A service whose type cannot be named.
type Unnamed = BoxCloneSyncService<Request<Body>, Response<Body>, Infallible>;

/// Both versions, each with the contract, health, and the messages of error details.
pub(super) struct Reflection {
    pub(super) v1: Unnamed,
    pub(super) v1alpha: Unnamed,
}

impl Reflection {
    pub(super) fn new() -> Result<Self, ReflectionError> {
        let builder = || {
            Builder::configure()
                .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
                .register_encoded_file_descriptor_set(api::health::DESCRIPTORS)
        };
        let v1 = builder().build_v1()?.max_decoding_message_size(MAX_REFLECTION_BYTES);
        let v1alpha = builder().build_v1alpha()?.max_decoding_message_size(MAX_REFLECTION_BYTES);
        Ok(Self { v1: Unnamed::new(v1), v1alpha: Unnamed::new(v1alpha) })
    }
}
