//! The socket of a connection: it gives up on a peer that takes nothing, and lets a slow one have the rest at the end.
//!
//! Keepalive does not: its ping, and what would close the connection when no answer comes, wait behind the bytes that the
//! peer leaves where they are.

use std::{
    future::Future as _,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

/// How long a closed connection is kept while its peer says nothing and does not close it either. Closed at once, the
/// system would answer the peer's next bytes, such as a window update, with a reset, and with that drop what is still on
/// its way to a slow reader.
const LINGER: Duration = Duration::from_secs(2);

/// A socket. It is an error where a write has waited for longer than its patience and not a byte was taken.
pub(super) struct Socket<T> {
    io: T,
    patience: Duration,
    /// When the peer must have taken something, while it takes nothing.
    stuck: Option<Pin<Box<Sleep>>>,
    /// When it is closed for good, once nothing more is written.
    linger: Option<Pin<Box<Sleep>>>,
}

impl<T> Socket<T> {
    pub(super) fn new(io: T, patience: Duration) -> Self {
        Self { io, patience, stuck: None, linger: None }
    }

    /// What has become of a write.
    fn written<R>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.patience)));
        stuck.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Socket<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Socket<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, buf);
        self.written(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.written(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger.is_none() {
            ready!(Pin::new(&mut self.io).poll_shutdown(cx))?;
            self.linger = Some(Box::pin(tokio::time::sleep(LINGER)));
        }
        let this = &mut *self;
        let mut ignored = [0; 1 << 10];
        loop {
            let mut buf = ReadBuf::new(&mut ignored);
            match Pin::new(&mut this.io).poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => {
                    this.linger = Some(Box::pin(tokio::time::sleep(LINGER)));
                }
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => break,
            }
        }
        this.linger.as_mut().map_or(Poll::Ready(()), |linger| linger.as_mut().poll(cx)).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        time::Instant,
    };

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(80);

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_given_up_and_a_slow_one_is_not() {
        let (near, mut far) = tokio::io::duplex(1);
        let mut socket = Socket::new(near, PATIENCE);
        let slow = async {
            for _ in 0..4 {
                tokio::time::sleep(PATIENCE.mul_f32(0.9)).await;
                far.read_u8().await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(socket.write_all(b"abcd"), slow);
        written.unwrap();
        let began = Instant::now();
        let error = socket.write_all(b"efgh").await.unwrap_err();
        assert_eq!((error.kind(), began.elapsed()), (io::ErrorKind::TimedOut, PATIENCE));
    }
}
