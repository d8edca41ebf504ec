//! What is written to a connection goes out together.
//!
//! The library for HTTP/2 writes and flushes at every data frame, so that an answer of 20 KB would be two or three calls
//! of the kernel, and those cost more than the answer itself. Copying the bytes once more costs a tenth of one call.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

/// The most bytes that are held back: a few answers. The loopback device takes as much in one piece, and the allocator
/// keeps a buffer that is below 64 KiB for the next one.
const BATCH_BYTES: usize = 60 << 10;
/// The least that is made room for; an answer of one large frame has room for the small ones after it.
const MIN_BYTES: usize = 4 << 10;
/// What every HTTP/2 connection begins with, and no other. Where it comes in pieces, nothing is gathered.
const HTTP2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection that gathers what is written to it.
///
/// A flush is put off until its task is polled again, for which the task is woken at once: the calls that are running
/// have come to their answers by then. It is due when something is read, which HTTP/2 does at every poll. HTTP/1.1 does
/// not, so there every write goes through. So it does where calls come one by one: a task that wakes itself makes the
/// runtime call another thread in, which costs more than there is to save.
pub(super) struct Gather<T> {
    io: T,
    requests: Requests,
    /// How many requests had come when something was last read.
    seen: usize,
    /// How many requests come with one read: the most of late.
    crowd: usize,
    /// Whether it is HTTP/2, once something was read.
    http2: Option<bool>,
    held: Vec<u8>,
    /// How many of the bytes held are sent.
    sent: usize,
    /// A flush was put off.
    due: bool,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Gather<T> {
    pub(super) fn new(io: T) -> Self {
        let requests = Requests::default();
        Self { io, requests, seen: 0, crowd: 0, http2: None, held: Vec::new(), sent: 0, due: false }
    }

    /// Whether what is written now is to be held.
    fn gathers(&self) -> bool {
        let more = || self.crowd.max(self.requests.count() - self.seen) > 1;
        self.http2 == Some(true) && (!self.held.is_empty() || more())
    }

    /// Takes note of what was read.
    fn note(&mut self, new: &[u8]) {
        if !new.is_empty() {
            self.http2.get_or_insert_with(|| new.starts_with(HTTP2));
            let seen = self.requests.count();
            self.crowd = (self.crowd / 2).max(seen - self.seen);
            self.seen = seen;
        }
    }

    /// Sends what is held, all of it.
    fn send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.held.len() {
            match ready!(Pin::new(&mut self.io).poll_write(cx, &self.held[self.sent..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                more => self.sent += more,
            }
        }
        // Not kept: there can be ten thousand connections, most of them idle.
        (self.held, self.sent) = (Vec::new(), 0);
        ready!(Pin::new(&mut self.io).poll_flush(cx))?;
        self.due = false;
        Poll::Ready(Ok(()))
    }

    /// Holds as much of `parts` as there is room for.
    fn hold(&mut self, cx: &mut Context<'_>, parts: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        if !self.held.is_empty() && self.held.len() + bytes > BATCH_BYTES {
            ready!(self.send(cx))?;
        }
        if self.held.is_empty() && bytes > 0 {
            self.held.reserve_exact((2 * bytes).clamp(MIN_BYTES, BATCH_BYTES));
        }
        let before = self.held.len();
        for part in parts {
            let room = BATCH_BYTES - self.held.len();
            self.held.extend_from_slice(&part[..part.len().min(room)]);
        }
        Poll::Ready(Ok(self.held.len() - before))
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for Gather<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        // While the peer takes nothing it may still send.
        if self.due
            && let Poll::Ready(Err(error)) = self.send(cx)
        {
            return Poll::Ready(Err(error));
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.io).poll_read(cx, buf);
        self.note(&buf.filled()[before..]);
        read
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Gather<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.gathers() {
            self.hold(cx, &[io::IoSlice::new(buf)])
        } else {
            Pin::new(&mut self.io).poll_write(cx, buf)
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.gathers() { self.hold(cx, bufs) } else { Pin::new(&mut self.io).poll_write_vectored(cx, bufs) }
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.held.is_empty() {
            return Pin::new(&mut self.io).poll_flush(cx);
        }
        if !self.due {
            self.due = true;
            cx.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.send(cx))?;
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// How many requests have come on a connection. It is among the extensions of each.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests(Arc<AtomicUsize>);

impl Requests {
    /// One more has come.
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl<T> Connected for Gather<T> {
    type ConnectInfo = Requests;

    fn connect_info(&self) -> Requests {
        self.requests.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Wake, Waker};

    use super::*;

    /// A peer that says one thing and takes so many bytes.
    struct Peer {
        says: &'static [u8],
        takes: usize,
        /// Nothing can be written any more.
        gone: bool,
        /// What it took is still on its way, as with TLS.
        unflushed: bool,
        got: Vec<Vec<u8>>,
        closed: bool,
    }

    impl AsyncRead for Peer {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            if self.says.is_empty() {
                return Poll::Pending;
            }
            buf.put_slice(std::mem::take(&mut self.says));
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Peer {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            if self.gone {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
            let taken = buf.len().min(self.takes);
            if taken == 0 {
                return Poll::Pending;
            }
            self.takes -= taken;
            self.got.push(buf[..taken].to_vec());
            Poll::Ready(Ok(taken))
        }

        fn poll_write_vectored(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bufs: &[io::IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            self.poll_write(cx, &bufs.iter().flat_map(|part| part.to_vec()).collect::<Vec<_>>())
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            if self.unflushed { Poll::Pending } else { Poll::Ready(Ok(())) }
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.closed = true;
            Poll::Ready(Ok(()))
        }
    }

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    struct Rig {
        gather: Gather<Peer>,
        woken: Arc<Woken>,
    }

    impl Rig {
        /// A connection whose peer has said so much and takes so many bytes.
        fn new(says: &'static [u8], takes: usize) -> Self {
            let gather =
                Gather::new(Peer { says, takes, gone: false, unflushed: false, got: Vec::new(), closed: false });
            let mut rig = Self { gather, woken: Arc::default() };
            assert!(rig.read().is_ready());
            rig.come(2);
            rig
        }

        fn poll<T>(&mut self, poll: impl FnOnce(Pin<&mut Gather<Peer>>, &mut Context<'_>) -> T) -> T {
            let waker = Waker::from(Arc::clone(&self.woken));
            poll(Pin::new(&mut self.gather), &mut Context::from_waker(&waker))
        }

        fn read(&mut self) -> Poll<io::Result<()>> {
            self.poll(|gather, cx| gather.poll_read(cx, &mut ReadBuf::new(&mut [0; 64])))
        }

        /// Writes and flushes; whether all of it was taken.
        fn write(&mut self, text: &[u8]) -> bool {
            let parts = [io::IoSlice::new(&text[..text.len() / 2]), io::IoSlice::new(&text[text.len() / 2..])];
            let written = self.poll(|gather, cx| gather.poll_write_vectored(cx, &parts));
            assert!(matches!(self.poll(AsyncWrite::poll_flush), Poll::Ready(Ok(()))));
            matches!(written, Poll::Ready(Ok(bytes)) if bytes == text.len())
        }

        /// So many requests come.
        fn come(&mut self, requests: usize) {
            (0..requests).for_each(|_| self.gather.requests.add());
        }

        fn got(&self) -> &[Vec<u8>] {
            &self.gather.io.got
        }

        fn woken(&self) -> usize {
            self.woken.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn what_one_poll_writes_goes_out_at_once_in_the_next() {
        let mut rig = Rig::new(HTTP2, usize::MAX);
        assert!(rig.write(b"head") && rig.write(b"data") && rig.write(b"trailers"));
        assert!(rig.got().is_empty() && rig.woken() == 1);
        assert!(rig.read().is_pending());
        assert_eq!(rig.got(), [b"headdatatrailers"]);
        assert!(rig.gather.held.capacity() == 0, "an idle connection holds nothing");
        assert!(rig.write(b"more") && rig.woken() == 2);
    }

    #[test]
    fn no_more_is_held_than_a_batch() {
        let mut rig = Rig::new(HTTP2, usize::MAX);
        let frame = [7; 16 << 10];
        for _ in 0..8 {
            assert!(rig.write(&frame));
            assert!(rig.gather.held.len() <= BATCH_BYTES);
        }
        assert!(!rig.write(&vec![7; BATCH_BYTES + 1]), "a part of it is taken");
        assert!(rig.read().is_pending());
        assert_eq!(rig.got().concat(), vec![7; 8 * frame.len() + BATCH_BYTES]);
    }

    #[test]
    fn a_slow_peer_gets_everything_in_order() {
        let large = vec![b'x'; BATCH_BYTES];
        let mut rig = Rig::new(HTTP2, 3);
        assert!(rig.write(b"abcde"));
        assert!(rig.read().is_pending());
        assert!(rig.write(b"fg"));
        assert!(!rig.write(&large), "it has to wait");
        rig.gather.io.takes = 2;
        assert!(rig.read().is_pending());
        rig.gather.io.takes = 9;
        assert!(rig.write(&large));
        assert_eq!(rig.got().concat(), b"abcdefg");
        let woken = rig.woken();
        assert!(rig.write(b"") && rig.woken() == woken, "it is due and the task is woken already");
        rig.gather.io.takes = usize::MAX;
        assert!(rig.read().is_pending());
        assert_eq!(rig.got().concat().len(), 7 + BATCH_BYTES);
    }

    #[test]
    fn a_write_that_fails_ends_the_reading() {
        let mut rig = Rig::new(HTTP2, usize::MAX);
        assert!(rig.write(b"answer"));
        rig.gather.io.gone = true;
        assert!(matches!(rig.read(), Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe));
    }

    #[test]
    fn what_is_taken_and_not_flushed_stays_due() {
        let mut rig = Rig::new(HTTP2, usize::MAX);
        assert!(rig.write(b"answer"));
        rig.gather.io.unflushed = true;
        assert!(rig.read().is_pending() && rig.gather.due && rig.gather.held.is_empty());
        assert!(rig.poll(AsyncWrite::poll_flush).is_pending());
        rig.gather.io.unflushed = false;
        assert!(rig.read().is_pending() && !rig.gather.due);
        assert_eq!(rig.got(), [b"answer"]);
    }

    #[test]
    fn the_rest_goes_out_before_the_end() {
        let mut rig = Rig::new(HTTP2, usize::MAX);
        assert!(rig.write(b"bye"));
        assert!(matches!(rig.poll(AsyncWrite::poll_shutdown), Poll::Ready(Ok(()))));
        assert!(rig.gather.io.closed);
        assert_eq!(rig.got(), [b"bye"]);
    }

    #[test]
    fn where_calls_come_one_by_one_nothing_waits() {
        let mut rig = Rig::new(HTTP2, usize::MAX);
        for (requests, held) in [(1, true), (1, false), (1, false), (3, true), (0, true), (1, false)] {
            rig.gather.io.says = b"request";
            assert!(rig.read().is_ready());
            rig.come(requests);
            let (sent, woken) = (rig.got().len(), rig.woken());
            assert!(rig.write(b"answer"));
            assert_eq!((rig.got().len() == sent, rig.woken() > woken), (held, held), "{requests}");
            assert!(rig.read().is_pending());
        }
        assert_eq!(rig.got().concat(), b"answer".repeat(6));
    }

    #[test]
    fn http1_is_not_held_back() {
        for says in [&b"POST / HTTP/1.1\r\n\r\n"[..], b"PRIVATE / HTTP/1.1\r\n\r\n"] {
            let mut rig = Rig::new(says, usize::MAX);
            rig.write(b"answer");
            assert_eq!((rig.got().concat().as_slice(), rig.woken()), (&b"answer"[..], 0));
        }
    }
}
