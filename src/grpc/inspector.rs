//! The inspector's address: a second listener of the server, for a page instead of programs.

use std::net::SocketAddr;

use bytes::Bytes;
use tokio::net::TcpListener;

use super::{ServerError, server::listen};

/// The inspector, bound to its address.
pub struct Inspector {
    pub(super) tcp: TcpListener,
    pub(super) address: SocketAddr,
    pub(super) turn_schema: Bytes,
}

impl Inspector {
    /// Takes the address; port 0 picks a free one. `turn_schema` is the JSON Schema of turns.
    pub async fn bind(address: SocketAddr, turn_schema: impl Into<Bytes>) -> Result<Self, ServerError> {
        let (tcp, address) = listen(address).await?;
        // They are compressed once, before the first reader waits for them.
        tokio::task::spawn_blocking(promptd_inspector::assets);
        Ok(Self { tcp, address, turn_schema: turn_schema.into() })
    }

    /// The bound address, with the port that was picked.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
