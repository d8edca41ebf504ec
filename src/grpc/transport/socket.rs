//! The socket of a connection: it fails when a peer reads nothing for too long, and lingers at the end for a slow one.
//!
//! Keepalive cannot do this: its ping, and the GOAWAY when no answer comes, wait behind the bytes that the peer does not
//! read.

use std::{
    future::Future as _,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};

use crate::grpc::deadline::now;

/// How long a closed connection lingers while its peer neither sends anything nor closes it. If it were closed at once, the
/// system would answer the peer's next bytes, such as a window update, with a reset, and discard what is still on its way
/// to a slow reader.
const LINGER: Duration = Duration::from_secs(2);
/// How long it lingers at most, for a peer that goes on sending.
const MAX_LINGER: Duration = Duration::from_secs(10);

/// A socket. A write fails with `TimedOut` when the peer read nothing for the whole timeout.
pub(super) struct Socket<T> {
    io: T,
    write_timeout: Duration,
    /// Runs while a write is blocked.
    stuck: Option<Pin<Box<Sleep>>>,
    /// Runs after shutdown.
    linger: Option<Linger>,
}

struct Linger {
    end: Pin<Box<Sleep>>,
    latest: Instant,
}

impl<T> Socket<T> {
    pub(super) fn new(io: T, write_timeout: Duration) -> Self {
        Self { io, write_timeout, stuck: None, linger: None }
    }

    /// Fails a write that has been blocked for too long.
    fn check<R>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.write_timeout)));
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
        self.check(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.check(cx, written)
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
            let now = now();
            let end = Box::pin(tokio::time::sleep_until(now + LINGER));
            self.linger = Some(Linger { end, latest: now + MAX_LINGER });
        }
        let this = &mut *self;
        let mut ignored = [0; 1 << 10];
        loop {
            let mut buf = ReadBuf::new(&mut ignored);
            match Pin::new(&mut this.io).poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => {
                    let Some(linger) = &mut this.linger else { continue };
                    let now = now();
                    // The timer alone does not see it: reading without a pause uses up what a task may do in one poll.
                    if now >= linger.latest {
                        return Poll::Ready(Ok(()));
                    }
                    linger.end.as_mut().reset(linger.latest.min(now + LINGER));
                }
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => break,
            }
        }
        this.linger.as_mut().map_or(Poll::Ready(()), |linger| linger.end.as_mut().poll(cx)).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        time::Instant,
    };

    use super::*;

    const WRITE_TIMEOUT: Duration = Duration::from_secs(80);

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_nothing_times_out_and_a_slow_one_does_not() {
        let (near, mut far) = tokio::io::duplex(1);
        let mut socket = Socket::new(near, WRITE_TIMEOUT);
        let slow = async {
            for _ in 0..4 {
                tokio::time::sleep(WRITE_TIMEOUT.mul_f32(0.9)).await;
                far.read_u8().await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(socket.write_all(b"abcd"), slow);
        written.unwrap();
        let began = Instant::now();
        let error = socket.write_all(b"efgh").await.unwrap_err();
        assert_eq!((error.kind(), began.elapsed()), (io::ErrorKind::TimedOut, WRITE_TIMEOUT));
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_goes_on_sending_does_not_keep_a_closed_connection() {
        let (near, mut far) = tokio::io::duplex(64);
        let mut socket = Socket::new(near, WRITE_TIMEOUT);
        let began = Instant::now();
        let sending = async {
            loop {
                tokio::time::sleep(Duration::from_millis(500)).await;
                if far.write_all(b"more").await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        tokio::select! {
            closed = socket.shutdown() => closed.unwrap(),
            () = sending => {}
        }
        assert_eq!(began.elapsed(), MAX_LINGER);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_peer_is_waited_for_a_moment() {
        let (near, _far) = tokio::io::duplex(64);
        let began = Instant::now();
        Socket::new(near, WRITE_TIMEOUT).shutdown().await.unwrap();
        assert_eq!(began.elapsed(), LINGER);
    }
}
