//! Write coalescing: what a connection writes in one poll is sent in one piece.
//!
//! h2 writes and flushes at every DATA frame, so an answer of 20 KB would take two or three system calls, which cost more
//! than the answer itself. Copying the bytes once more costs a tenth of one system call. `grpc.coalesce_writes` turns it off.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

use super::{head::HTTP2, peer::Peer};

/// The most bytes that are held back: a few answers. The loopback device takes as much in one piece, and the allocator
/// reuses a buffer below 64 KiB.
const BATCH_BYTES: usize = 60 << 10;
/// The smallest buffer: after an answer of one large frame it has room for the small frames that follow.
const MIN_BYTES: usize = 4 << 10;

/// A connection whose writes are coalesced.
///
/// Where several calls are running, a flush is deferred until the connection's task is polled again, and the task is woken at
/// once: by then they have their answers. The deferred flush happens at the next read, which h2 does in every poll. HTTP/1.1
/// does not, so there every write goes straight through.
///
/// Where calls come one at a time, only what one poll writes is gathered: a task that wakes itself makes the runtime wake
/// another thread, which costs more than that saves. h2 flushes after each large DATA frame, and once more when it has
/// nothing left to write: that flush is the one that counts.
pub(crate) struct Coalesce<T> {
    io: T,
    peer: Peer,
    /// The number of requests at the last read.
    seen: usize,
    /// How many requests come with one read: a decaying maximum.
    batch: usize,
    /// Whether writes may be held: known once the first bytes were read. They are not where HTTP/2's preface comes in pieces.
    http2: Option<bool>,
    held: Vec<u8>,
    /// How many bytes of `held` are sent.
    sent: usize,
    /// A flush was deferred to the next read.
    due: bool,
    /// The last write ended with a large DATA frame: one more flush follows the next.
    more: bool,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Coalesce<T> {
    /// Without `enabled`, every write goes straight through.
    pub(super) fn new(io: T, peer: Peer, enabled: bool) -> Self {
        let http2 = if enabled { None } else { Some(false) };
        Self { io, peer, seen: 0, batch: 0, http2, held: Vec::new(), sent: 0, due: false, more: false }
    }

    /// Whether writes are held.
    fn holds(&self) -> bool {
        self.http2 == Some(true)
    }

    /// Whether several calls are running.
    fn is_busy(&self) -> bool {
        self.batch.max(self.peer.requests() - self.seen) > 1
    }

    fn note_read(&mut self, new: &[u8]) {
        if !new.is_empty() {
            self.http2.get_or_insert_with(|| new.starts_with(HTTP2));
            let seen = self.peer.requests();
            self.batch = (self.batch / 2).max(seen - self.seen);
            self.seen = seen;
        }
    }

    /// Sends all that is held.
    fn send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.held.len() {
            match ready!(Pin::new(&mut self.io).poll_write(cx, &self.held[self.sent..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                more => self.sent += more,
            }
        }
        // The buffer is not kept: there can be ten thousand connections, most of them idle.
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
        // h2 writes a large DATA frame's payload in place, behind what it has buffered.
        self.more = parts.len() > 1;
        let before = self.held.len();
        for part in parts {
            let room = BATCH_BYTES - self.held.len();
            self.held.extend_from_slice(&part[..part.len().min(room)]);
        }
        Poll::Ready(Ok(self.held.len() - before))
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for Coalesce<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        // A peer that reads nothing may still send.
        if (self.due || !self.held.is_empty())
            && let Poll::Ready(Err(error)) = self.send(cx)
        {
            return Poll::Ready(Err(error));
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.io).poll_read(cx, buf);
        self.note_read(&buf.filled()[before..]);
        read
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Coalesce<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.holds() { self.hold(cx, &[io::IoSlice::new(buf)]) } else { Pin::new(&mut self.io).poll_write(cx, buf) }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.holds() { self.hold(cx, bufs) } else { Pin::new(&mut self.io).poll_write_vectored(cx, bufs) }
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.held.is_empty() {
            return Pin::new(&mut self.io).poll_flush(cx);
        }
        let more = std::mem::take(&mut self.more);
        if !self.is_busy() {
            return if more { Poll::Ready(Ok(())) } else { self.send(cx) };
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

impl<T> Connected for Coalesce<T> {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        task::{Wake, Waker},
    };

    use super::*;
    use crate::grpc::{Limits, Options};

    fn peer() -> Peer {
        Peer::new(&Limits::new(&Options::default()))
    }

    /// A peer that sends one piece and reads so many bytes.
    struct FakePeer {
        says: &'static [u8],
        takes: usize,
        closed_early: bool,
        /// Written bytes are not flushed yet, as with TLS.
        unflushed: bool,
        got: Vec<Vec<u8>>,
        closed: bool,
    }

    impl AsyncRead for FakePeer {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            if self.says.is_empty() {
                return Poll::Pending;
            }
            buf.put_slice(std::mem::take(&mut self.says));
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for FakePeer {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            if self.closed_early {
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
        connection: Coalesce<FakePeer>,
        woken: Arc<Woken>,
    }

    impl Rig {
        fn new(says: &'static [u8], takes: usize) -> Self {
            let connection = Coalesce::new(
                FakePeer { says, takes, closed_early: false, unflushed: false, got: Vec::new(), closed: false },
                peer(),
                true,
            );
            let mut rig = Self { connection, woken: Arc::default() };
            assert!(rig.read().is_ready());
            rig.receive(2);
            rig
        }

        fn poll<T>(&mut self, poll: impl FnOnce(Pin<&mut Coalesce<FakePeer>>, &mut Context<'_>) -> T) -> T {
            let waker = Waker::from(Arc::clone(&self.woken));
            poll(Pin::new(&mut self.connection), &mut Context::from_waker(&waker))
        }

        fn read(&mut self) -> Poll<io::Result<()>> {
            self.poll(|connection, cx| connection.poll_read(cx, &mut ReadBuf::new(&mut [0; 64])))
        }

        /// Writes, as h2 does a large frame, and flushes; whether all of it was taken.
        fn write(&mut self, text: &[u8]) -> bool {
            let (head, rest) = text.split_at(text.len() / 2);
            self.write_parts(&[head, rest])
        }

        /// The same of a small frame.
        fn write_small(&mut self, text: &[u8]) -> bool {
            self.write_parts(&[text])
        }

        fn write_parts(&mut self, parts: &[&[u8]]) -> bool {
            let text = parts.concat();
            let parts: Vec<_> = parts.iter().map(|part| io::IoSlice::new(part)).collect();
            let written = self.poll(|connection, cx| connection.poll_write_vectored(cx, &parts));
            assert!(matches!(self.poll(AsyncWrite::poll_flush), Poll::Ready(Ok(()))));
            matches!(written, Poll::Ready(Ok(bytes)) if bytes == text.len())
        }

        fn receive(&mut self, requests: usize) {
            (0..requests).for_each(|_| self.connection.peer.add_request());
        }

        fn got(&self) -> &[Vec<u8>] {
            &self.connection.io.got
        }

        fn woken(&self) -> usize {
            self.woken.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn what_one_poll_writes_is_sent_in_one_piece_by_the_next() {
        let mut rig = Rig::new(HTTP2, usize::MAX);
        assert!(rig.write(b"head") && rig.write(b"data") && rig.write(b"trailers"));
        assert!(rig.got().is_empty() && rig.woken() == 1);
        assert!(rig.read().is_pending());
        assert_eq!(rig.got(), [b"headdatatrailers"]);
        assert!(rig.connection.held.capacity() == 0, "an idle connection has no buffer");
        assert!(rig.write(b"more") && rig.woken() == 2);
    }

    #[test]
    fn at_most_one_batch_is_held() {
        let mut rig = Rig::new(HTTP2, usize::MAX);
        let frame = [7; 16 << 10];
        for _ in 0..8 {
            assert!(rig.write(&frame));
            assert!(rig.connection.held.len() <= BATCH_BYTES);
        }
        assert!(!rig.write(&vec![7; BATCH_BYTES + 1]), "only a part is accepted");
        assert!(rig.read().is_pending());
        assert_eq!(rig.got().concat(), vec![7; 8 * frame.len() + BATCH_BYTES]);
    }

    #[test]
    fn a_slow_peer_receives_everything_in_order() {
        let large = vec![b'x'; BATCH_BYTES];
        let mut rig = Rig::new(HTTP2, 3);
        assert!(rig.write(b"abcde"));
        assert!(rig.read().is_pending());
        assert!(rig.write(b"fg"));
        assert!(!rig.write(&large), "it must wait");
        rig.connection.io.takes = 2;
        assert!(rig.read().is_pending());
        rig.connection.io.takes = 9;
        assert!(rig.write(&large));
        assert_eq!(rig.got().concat(), b"abcdefg");
        let woken = rig.woken();
        assert!(rig.write(b"") && rig.woken() == woken, "a flush is due already and the task was woken");
        rig.connection.io.takes = usize::MAX;
        assert!(rig.read().is_pending());
        assert_eq!(rig.got().concat().len(), 7 + BATCH_BYTES);
    }

    #[test]
    fn a_failed_write_fails_the_read() {
        let mut rig = Rig::new(HTTP2, usize::MAX);
        assert!(rig.write(b"answer"));
        rig.connection.io.closed_early = true;
        assert!(matches!(rig.read(), Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe));
    }

    #[test]
    fn a_flush_that_is_pending_stays_due() {
        let mut rig = Rig::new(HTTP2, usize::MAX);
        assert!(rig.write(b"answer"));
        rig.connection.io.unflushed = true;
        assert!(rig.read().is_pending() && rig.connection.due && rig.connection.held.is_empty());
        assert!(rig.poll(AsyncWrite::poll_flush).is_pending());
        rig.connection.io.unflushed = false;
        assert!(rig.read().is_pending() && !rig.connection.due);
        assert_eq!(rig.got(), [b"answer"]);
    }

    #[test]
    fn shutdown_sends_what_is_held() {
        let mut rig = Rig::new(HTTP2, usize::MAX);
        assert!(rig.write(b"bye"));
        assert!(matches!(rig.poll(AsyncWrite::poll_shutdown), Poll::Ready(Ok(()))));
        assert!(rig.connection.io.closed);
        assert_eq!(rig.got(), [b"bye"]);
    }

    #[test]
    fn calls_that_come_one_by_one_are_answered_in_the_same_poll() {
        let mut rig = Rig::new(HTTP2, usize::MAX);
        for (requests, busy) in [(1, true), (1, false), (1, false), (3, true), (0, true), (1, false)] {
            rig.connection.io.says = b"request";
            assert!(rig.read().is_ready());
            rig.receive(requests);
            let (sent, woken) = (rig.got().len(), rig.woken());
            assert!(rig.write(b"answer"));
            assert_eq!((rig.got().len() == sent, rig.woken() > woken), (true, busy), "{requests}");
            assert!(rig.write_small(b", trailers"));
            assert_eq!((rig.got().len() == sent, rig.woken() > woken), (busy, busy), "{requests}");
            assert!(rig.read().is_pending());
        }
        assert_eq!(rig.got(), vec![b"answer, trailers"; 6]);
    }

    #[test]
    fn a_large_frame_with_nothing_after_it_waits_for_no_other_call() {
        let mut rig = Rig::new(HTTP2, usize::MAX);
        for _ in 0..2 {
            rig.connection.io.says = b"request";
            assert!(rig.read().is_ready());
        }
        assert!(rig.write(b"message") && rig.got().is_empty());
        assert!(matches!(rig.poll(AsyncWrite::poll_flush), Poll::Ready(Ok(()))));
        assert_eq!((rig.got(), rig.woken()), (&[b"message".to_vec()][..], 0));
        // Should the flush not come, the next poll sends it.
        assert!(rig.write(b"more") && rig.got().len() == 1);
        assert!(rig.read().is_pending());
        assert_eq!(rig.got()[1], b"more");
    }

    #[test]
    fn http1_is_not_held() {
        for says in [&b"POST / HTTP/1.1\r\n\r\n"[..], b"PRIVATE / HTTP/1.1\r\n\r\n"] {
            let mut rig = Rig::new(says, usize::MAX);
            rig.write(b"answer");
            assert_eq!((rig.got().concat().as_slice(), rig.woken()), (&b"answer"[..], 0));
        }
    }

    #[test]
    fn it_can_be_turned_off() {
        let fake = FakePeer {
            says: HTTP2,
            takes: usize::MAX,
            closed_early: false,
            unflushed: false,
            got: Vec::new(),
            closed: false,
        };
        let mut rig = Rig { connection: Coalesce::new(fake, peer(), false), woken: Arc::default() };
        assert!(rig.read().is_ready());
        rig.receive(2);
        rig.write(b"answer");
        assert_eq!((rig.got().concat().as_slice(), rig.woken()), (&b"answer"[..], 0));
    }
}
