//! Reflection: buf asks by v1; Python, Node and older grpcurl by v1alpha.

use tonic::service::RoutesBuilder;
use tonic_reflection::server::{Builder, Error};

use super::api;
use crate::proto;

/// Adds both versions, each with the contract, health, and the details that errors carry.
pub(super) fn add(routes: &mut RoutesBuilder) -> Result<(), Error> {
    let builder = || {
        Builder::configure()
            .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
            .register_encoded_file_descriptor_set(api::health::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
    };
    routes.add_service(builder().build_v1()?).add_service(builder().build_v1alpha()?);
    Ok(())
}
