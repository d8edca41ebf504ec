//! Bytes from and to the network: accepted connections, TLS, sockets that do not wait for ever, coalesced writes.

mod coalesce;
mod listen;
mod socket;
mod tls;

pub(super) use coalesce::Requests;
pub(super) use listen::Listener;
pub use tls::{Pem, Tls, TlsError};
