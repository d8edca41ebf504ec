//! An open connection: plain or TLS, with what ends it before its client does.

use std::{
    future::Future as _,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::Sleep,
};
use tokio_rustls::server::TlsStream;

use super::{
    head::{HTTP2, Head},
    peer::Peer,
    socket::Socket,
};
use crate::grpc::limits::Permit;

/// How long a client may take to send the start of HTTP, before which keepalive pings cannot be sent.
const PREFACE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long after the connection was opened its first request is due.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How much is read before other tasks have their turn: those of the calls, which take what was read and count it.
const TURN_BYTES: usize = 64 << 10;

/// A connection, and its permit. Reading fails where its client sends no request at first, takes no answer for too long, or
/// the connection must make room.
pub(crate) struct Connection {
    io: Io,
    peer: Peer,
    opening: Option<Opening>,
    head: Head,
    /// What was read in this turn.
    turn: usize,
    /// How long the client may leave its answers where they are.
    answer_timeout: Duration,
    _permit: Permit,
}

/// What a new connection waits for.
struct Opening {
    /// So many bytes of HTTP/2's preface are not there yet; a request of HTTP/1.1 is longer.
    preface_bytes: usize,
    timeout: Pin<Box<Sleep>>,
}

pub(super) enum Io {
    Plain(Socket<TcpStream>),
    Tls(Box<TlsStream<Socket<TcpStream>>>),
}

impl Connection {
    pub(super) fn new(io: Io, peer: Peer, answer_timeout: Duration, permit: Permit) -> Self {
        let timeout = Box::pin(tokio::time::sleep(PREFACE_TIMEOUT));
        let opening = Some(Opening { preface_bytes: HTTP2.len(), timeout });
        Self { io, peer, opening, head: Head::Unknown(0), turn: 0, answer_timeout, _permit: permit }
    }

    /// Fails once the connection must end.
    fn check(&mut self, cx: &mut Context<'_>, read: usize) -> io::Result<()> {
        if self.peer.poll_ended(cx).is_ready() {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        // Pings, which go on meanwhile, have this checked.
        if self.peer.is_stalled(self.answer_timeout) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let Some(opening) = &mut self.opening else { return Ok(()) };
        if self.peer.requests() > 0 {
            self.opening = None;
            return Ok(());
        }
        if opening.preface_bytes > 0 {
            opening.preface_bytes = opening.preface_bytes.saturating_sub(read);
            if opening.preface_bytes == 0 {
                let rest = FIRST_REQUEST_TIMEOUT.saturating_sub(PREFACE_TIMEOUT);
                let due = opening.timeout.deadline() + rest;
                opening.timeout.as_mut().reset(due);
            }
        }
        if opening.timeout.as_mut().poll(cx).is_ready() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.turn >= TURN_BYTES {
            self.turn = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buf.filled().len();
        let read = match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_read(cx, buf),
            Io::Tls(io) => Pin::new(io).poll_read(cx, buf),
        };
        let bytes = buf.filled().len() - before;
        self.turn = if read.is_ready() { self.turn + bytes } else { 0 };
        self.check(cx, bytes)?;
        let this = &mut *self;
        this.head.note(&buf.filled()[before..], &this.peer)?;
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
