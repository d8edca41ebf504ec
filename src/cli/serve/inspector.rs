//! The inspector beside the service.

use std::net::SocketAddr;

use promptd::{
    config::{Config, InspectorListen},
    grpc::{Inspector, ServerError},
};

use super::{Failure, bind_help};
use crate::cli::schema::Schema;

/// Takes the inspector's address, where it has one. That of its default may be taken: then the service goes on without it.
pub(super) async fn bind(config: &Config) -> Result<Option<Inspector>, Failure> {
    match config.inspector {
        InspectorListen::Off => Ok(None),
        InspectorListen::Default(address) => {
            let bound = at(address).await;
            if let Err(error) = &bound {
                tracing::warn!("the inspector is off: {error}; give another address with --inspector, or `off`");
            }
            Ok(bound.ok())
        }
        InspectorListen::At(address) => at(address).await.map(Some).map_err(|error| match &error {
            ServerError::Bind(address, why) => Failure::input(format!(
                "error: cannot listen on {address} for `inspector.listen`: {why}{}",
                bind_help(why, "--inspector")
            )),
            ServerError::Failed(_) => Failure::input(format!("error: {error}")),
        }),
    }
}

/// The inspector at an address.
pub(in crate::cli) async fn at(address: SocketAddr) -> Result<Inspector, ServerError> {
    Inspector::bind(address, Schema::Turn.text()).await
}

/// What a browser opens.
pub(in crate::cli) fn url(address: SocketAddr, tls: bool) -> String {
    format!("{}://{address}/", if tls { "https" } else { "http" })
}
