//! Accepting connections: a bounded number, without delay, with TLS where it is configured.

use std::{future::poll_fn, io, sync::Arc, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
};
use tokio_stream::wrappers::ReceiverStream;

use super::{
    coalesce::Coalesce,
    connection::{Connection, Io},
    peer::{Ends, Peer, Peers},
    socket::Socket,
    tls::Tls,
};
use crate::grpc::{Limits, Telemetry, limits::Permit};

/// How long a client may take for its TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait after the system could not give another connection, for example because descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The part of all connections that is kept for callers who were let in: one of so many. Where the others have the rest, the
/// oldest of these is closed for a new one.
const KEPT: usize = 8;

/// How connections are accepted.
pub(crate) struct Listener {
    pub(crate) tcp: TcpListener,
    pub(crate) tls: Option<Arc<Tls>>,
    /// How long a peer may read nothing of what is written, or take none of its answers, before its connection is closed.
    pub(crate) write_timeout: Duration,
    pub(crate) coalesce_writes: bool,
    /// The connections whose callers were not let in yet, of all listeners of the server.
    pub(crate) strangers: Arc<Peers>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) telemetry: Arc<dyn Telemetry>,
}

type Accepted = io::Result<Coalesce<Connection>>;

impl Listener {
    /// The connections, until the stream is dropped: then the port is closed.
    pub(crate) fn connections(self) -> ReceiverStream<Accepted> {
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(self.accept(sender));
        ReceiverStream::new(receiver)
    }

    async fn accept(self, sender: mpsc::Sender<Accepted>) {
        let strangers = &self.strangers;
        loop {
            let accepted = tokio::select! {
                accepted = self.tcp.accept() => accepted,
                () = sender.closed() => return,
            };
            let (stream, remote) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(kind = ?error.kind(), "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let max = self.limits.connections.max();
            strangers.make_room(max - max / KEPT);
            let Some(permit) = self.limits.connections.acquire() else {
                self.telemetry.connection_refused();
                continue;
            };
            // Not fatal: the connection works without it, only slower.
            let _ = stream.set_nodelay(true);
            let ends = stream.local_addr().ok().map(|local| Ends { remote, local });
            let peer = Peer::between(&self.limits, ends);
            strangers.add(&peer);
            self.open(stream, peer, permit, sender.clone()).await;
        }
    }

    /// Hands the connection over; after its TLS handshake, which is a task of its own, so that a slow client delays no other.
    async fn open(&self, stream: TcpStream, peer: Peer, permit: Permit, sender: mpsc::Sender<Accepted>) {
        let (timeout, coalesce) = (self.write_timeout, self.coalesce_writes);
        let stream = Socket::new(stream, timeout);
        let hand_over = move |io, sender: mpsc::Sender<Accepted>, peer: Peer, permit| async move {
            let connection = Connection::new(io, peer.clone(), timeout, permit);
            _ = sender.send(Ok(Coalesce::new(connection, peer, coalesce))).await;
        };
        let Some(tls) = self.tls.clone() else {
            return hand_over(Io::Plain(stream), sender, peer, permit).await;
        };
        tokio::spawn(async move {
            let ended = poll_fn(|cx| peer.poll_ended(cx));
            let handshake = tokio::select! {
                handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(stream, &peer)) => handshake,
                () = ended => return,
            };
            match handshake {
                Ok(Ok(stream)) => hand_over(Io::Tls(Box::new(stream)), sender, peer, permit).await,
                Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                Err(_) => tracing::debug!("a TLS handshake took too long"),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        time::Instant,
    };
    use tokio_stream::StreamExt as _;

    use super::*;
    use crate::grpc::{NoTelemetry, Options};

    /// A connection as the server has it, and its client's side.
    async fn connect() -> (Coalesce<Connection>, TcpStream) {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = tcp.local_addr().unwrap();
        let (limits, telemetry) = (Arc::new(Limits::new(&Options::default())), Arc::new(NoTelemetry));
        let write_timeout = Duration::MAX;
        let strangers = Arc::default();
        let listener = Listener { tcp, tls: None, write_timeout, coalesce_writes: true, strangers, limits, telemetry };
        let mut incoming = listener.connections();
        let client = TcpStream::connect(address).await.unwrap();
        (incoming.next().await.unwrap().unwrap(), client)
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_connection_is_closed() {
        let (mut connection, _client) = connect().await;
        let (opened, error) = (Instant::now(), connection.read(&mut [0; 64]).await.unwrap_err());
        assert_eq!((error.kind(), opened.elapsed().as_secs()), (io::ErrorKind::TimedOut, 10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_request_is_closed() {
        let (mut connection, mut client) = connect().await;
        let opened = Instant::now();
        client.write_all(&[0; 24]).await.unwrap();
        let error = loop {
            if let Err(error) = connection.read(&mut [0; 64]).await {
                break error;
            }
        };
        assert_eq!((error.kind(), opened.elapsed().as_secs()), (io::ErrorKind::TimedOut, 30));
    }
}
