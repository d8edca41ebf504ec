//! Accepting connections: a bounded number, without delay, with TLS where it is configured.

use std::{
    future::Future as _,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::Sleep,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_stream::wrappers::ReceiverStream;

use super::{Tls, coalesce::Coalesce, socket::Socket};
use crate::grpc::{
    Telemetry,
    limits::{Permit, Permits},
};

/// How long a client may take for its TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait after the system could not give another connection, for example because descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long a client may take to send the start of HTTP. A silent connection would keep its permit for ever: keepalive
/// pings are sent only once HTTP/2 has started.
const PREFACE_TIMEOUT: Duration = Duration::from_secs(10);
/// The bytes of HTTP/2's connection preface; a request of HTTP/1.1 is longer.
const PREFACE_BYTES: usize = 24;

/// How connections are accepted.
pub(crate) struct Listener {
    pub(crate) tcp: TcpListener,
    pub(crate) tls: Option<Arc<Tls>>,
    /// How long a peer may read nothing of what is written before its connection is closed.
    pub(crate) write_timeout: Duration,
    pub(crate) coalesce_writes: bool,
    pub(crate) permits: Arc<Permits>,
    pub(crate) telemetry: Arc<dyn Telemetry>,
}

/// A connection, and its permit.
pub(crate) struct Connection {
    io: Io,
    preface: Option<Preface>,
    _permit: Permit,
}

/// What is still missing of a new connection's preface.
struct Preface {
    bytes: usize,
    timeout: Pin<Box<Sleep>>,
}

type Tcp = Socket<TcpStream>;

enum Io {
    Plain(Tcp),
    Tls(Box<TlsStream<Tcp>>),
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
        loop {
            let accepted = tokio::select! {
                accepted = self.tcp.accept() => accepted,
                () = sender.closed() => return,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(kind = ?error.kind(), "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let Some(permit) = self.permits.acquire() else {
                self.telemetry.connection_refused();
                continue;
            };
            // Not fatal: the connection works without it, only slower.
            let _ = stream.set_nodelay(true);
            let stream = Socket::new(stream, self.write_timeout);
            let coalesce = self.coalesce_writes;
            match &self.tls {
                None => _ = sender.send(Ok(connection(Io::Plain(stream), permit, coalesce))).await,
                Some(tls) => _ = tokio::spawn(handshake(stream, tls.acceptor(), permit, coalesce, sender.clone())),
            }
        }
    }
}

fn connection(io: Io, permit: Permit, coalesce: bool) -> Coalesce<Connection> {
    let timeout = Box::pin(tokio::time::sleep(PREFACE_TIMEOUT));
    let preface = Some(Preface { bytes: PREFACE_BYTES, timeout });
    Coalesce::new(Connection { io, preface, _permit: permit }, coalesce)
}

/// Runs as a task of its own, so that a slow client delays no other.
async fn handshake(stream: Tcp, acceptor: TlsAcceptor, permit: Permit, coalesce: bool, sender: mpsc::Sender<Accepted>) {
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => _ = sender.send(Ok(connection(Io::Tls(Box::new(stream)), permit, coalesce))).await,
        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_read(cx, buf),
            Io::Tls(io) => Pin::new(io).poll_read(cx, buf),
        };
        if let Some(preface) = &mut self.preface {
            preface.bytes = preface.bytes.saturating_sub(buf.filled().len() - before);
            if preface.bytes == 0 {
                self.preface = None;
            } else if preface.timeout.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_write(cx, buf),
            Io::Tls(io) => Pin::new(io).poll_write(cx, buf),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_write_vectored(cx, bufs),
            Io::Tls(io) => Pin::new(io).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.io {
            Io::Plain(io) => io.is_write_vectored(),
            Io::Tls(io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_flush(cx),
            Io::Tls(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Io::Tls(io) => Pin::new(io).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio_stream::StreamExt as _;

    use super::*;
    use crate::grpc::{Limits, NoTelemetry, Options};

    #[tokio::test(start_paused = true)]
    async fn a_silent_connection_is_closed() {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = tcp.local_addr().unwrap();
        let permits = Arc::clone(&Limits::new(&Options::default()).connections);
        let telemetry = Arc::new(NoTelemetry);
        let write_timeout = Duration::MAX;
        let listener = Listener { tcp, tls: None, write_timeout, coalesce_writes: true, permits, telemetry };
        let mut incoming = listener.connections();
        let silent = TcpStream::connect(address).await.unwrap();
        let mut connection = incoming.next().await.unwrap().unwrap();
        let error = connection.read(&mut [0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(silent);
    }
}
