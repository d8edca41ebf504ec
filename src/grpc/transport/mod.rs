//! Bytes from and to the network: accepted connections, TLS, sockets that do not wait for ever, coalesced writes.

mod coalesce;
mod connection;
mod listen;
mod peer;
mod socket;
mod tls;

pub(super) use listen::Listener;
pub(super) use peer::Peer;
pub use tls::{Pem, Tls, TlsError};
