//! Accepting connections: bounded, without delay, with TLS where it is configured.

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
use tokio_rustls::server::TlsStream;
use tokio_stream::wrappers::ReceiverStream;

use super::{
    Observer, Tls,
    gather::Gather,
    live::{Place, Places},
    socket::Socket,
};

/// How long a client may take for its TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait where the system cannot give another connection, for lack of descriptors for instance.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long a client may take to say that it speaks HTTP. Whoever connects and says nothing would keep a place for
/// ever: keepalive asks only those who speak.
const GREETING_TIMEOUT: Duration = Duration::from_secs(10);
/// The bytes of HTTP/2's greeting; a request of HTTP/1.1 has more.
const GREETING_BYTES: usize = 24;

/// A connection, and its place among those that the server holds.
pub(super) struct Connection {
    io: Io,
    greeting: Option<Greeting>,
    _place: Place,
}

/// What is still awaited of a new client.
struct Greeting {
    bytes: usize,
    timeout: Pin<Box<Sleep>>,
}

type Tcp = Socket<TcpStream>;

enum Io {
    Plain(Tcp),
    Tls(Box<TlsStream<Tcp>>),
}

/// The listener's connections, until the stream is dropped: then the port is closed. A peer that takes nothing for as
/// long as `patience` is given up.
pub(super) fn connections(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    patience: Duration,
    places: Arc<Places>,
    observer: Arc<dyn Observer>,
) -> ReceiverStream<io::Result<Gather<Connection>>> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(accept(listener, tls, patience, places, observer, sender));
    ReceiverStream::new(receiver)
}

async fn accept(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    patience: Duration,
    places: Arc<Places>,
    observer: Arc<dyn Observer>,
    sender: mpsc::Sender<io::Result<Gather<Connection>>>,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
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
        let Some(place) = places.take() else {
            observer.connection_refused();
            continue;
        };
        // Not fatal: the connection works without it, only slower.
        let _ = stream.set_nodelay(true);
        let stream = Socket::new(stream, patience);
        match &tls {
            None => _ = sender.send(Ok(connection(Io::Plain(stream), place))).await,
            Some(tls) => _ = tokio::spawn(handshake(stream, tls.acceptor(), place, sender.clone())),
        }
    }
}

fn connection(io: Io, place: Place) -> Gather<Connection> {
    let timeout = Box::pin(tokio::time::sleep(GREETING_TIMEOUT));
    Gather::new(Connection { io, greeting: Some(Greeting { bytes: GREETING_BYTES, timeout }), _place: place })
}

/// On its own, so that a slow client delays nobody else.
async fn handshake(
    stream: Tcp,
    acceptor: tokio_rustls::TlsAcceptor,
    place: Place,
    sender: mpsc::Sender<io::Result<Gather<Connection>>>,
) {
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => _ = sender.send(Ok(connection(Io::Tls(Box::new(stream)), place))).await,
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
        if let Some(greeting) = &mut self.greeting {
            greeting.bytes = greeting.bytes.saturating_sub(buf.filled().len() - before);
            if greeting.bytes == 0 {
                self.greeting = None;
            } else if greeting.timeout.as_mut().poll(cx).is_ready() {
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
    use crate::grpc::{Live, Options, Unobserved};

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_is_not_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let places = Arc::clone(&Live::new(&Options::default()).connections);
        let mut incoming = connections(listener, None, Duration::MAX, places, Arc::new(Unobserved));
        let silent = TcpStream::connect(address).await.unwrap();
        let mut connection = incoming.next().await.unwrap().unwrap();
        let error = connection.read(&mut [0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(silent);
    }
}
