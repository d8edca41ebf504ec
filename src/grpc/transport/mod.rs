//! Bytes from and to the network: accepted connections, TLS, sockets that do not wait for ever, coalesced writes.

mod coalesce;
mod connection;
mod head;
mod listen;
mod peer;
mod socket;
mod tls;

pub(super) use listen::Listener;
#[cfg(feature = "etcd")]
pub(super) use peer::Ends;
pub(super) use peer::{Peer, Peers};
/// The most bytes of a request's headers that HTTP/2 takes, and of its whole head in HTTP/1.1. Those of a call have a smaller
/// limit, over which it is refused like any other. In HTTP/2, up to four times as many get HTTP 431; more closes the connection.
pub(super) const MAX_HEAD_BYTES: u32 = 96 << 10;
/// How many bytes HTTP/2 receives ahead of the call that reads them: on one stream, and on a connection.
pub(super) const RECEIVE_WINDOW_BYTES: u32 = 1 << 20;

pub use tls::{Pem, Tls, TlsError};
