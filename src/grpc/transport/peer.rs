//! A connection as the calls on it see it: what it holds, whether its caller was let in, and the way to end it.

use std::{
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http::Extensions;
use tokio::time::Instant;

use crate::grpc::{
    budget::{Exhausted, Hold, Share},
    deadline::now,
    limits::Limits,
};

/// The most health checks of one connection whose requests have not arrived yet.
const MAX_WAITING_HEALTH_CHECKS: usize = 4;

/// A connection, among the extensions of each of its requests.
#[derive(Debug, Clone)]
pub(crate) struct Peer(Arc<State>);

#[derive(Debug)]
struct State {
    requests: AtomicUsize,
    admitted: AtomicBool,
    waiting_health_checks: AtomicUsize,
    unread: Arc<Share>,
    unsent: Arc<Share>,
    /// Answers to single requests that the client has not taken.
    answers: AtomicUsize,
    opened: Instant,
    /// When such an answer was last made or taken, in milliseconds since `opened`.
    progress: AtomicU64,
    ended: AtomicBool,
    waker: AtomicWaker,
}

impl Peer {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self(Arc::new(State {
            requests: AtomicUsize::new(0),
            admitted: AtomicBool::new(false),
            waiting_health_checks: AtomicUsize::new(0),
            unread: Share::new(&limits.unread),
            unsent: Share::new(&limits.unsent),
            answers: AtomicUsize::new(0),
            opened: now(),
            progress: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        }))
    }

    /// The connection of a request.
    pub(crate) fn of(extensions: &Extensions, limits: &Limits) -> Self {
        extensions.get().cloned().unwrap_or_else(|| Self::new(limits))
    }

    /// Counts a request.
    pub(crate) fn add_request(&self) {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// How many requests have come.
    pub(super) fn requests(&self) -> usize {
        self.0.requests.load(Ordering::Relaxed)
    }

    /// Marks a connection whose caller was let in: it is no longer closed to make room for others.
    pub(crate) fn admit(&self) {
        if !self.is_admitted() {
            self.0.admitted.store(true, Ordering::Relaxed);
        }
    }

    fn is_admitted(&self) -> bool {
        self.0.admitted.load(Ordering::Relaxed)
    }

    /// The bytes of its requests that are being received or answered.
    pub(crate) fn unread(&self) -> &Arc<Share> {
        &self.0.unread
    }

    /// The bytes of its answers that the client has not taken.
    pub(crate) fn unsent(&self) -> &Arc<Share> {
        &self.0.unsent
    }

    /// A place among the health checks whose requests have not arrived yet.
    pub(crate) fn await_health_check(&self) -> Option<WaitingHealthCheck> {
        let one_more = |count: usize| (count < MAX_WAITING_HEALTH_CHECKS).then(|| count + 1);
        let waiting = &self.0.waiting_health_checks;
        waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        Some(WaitingHealthCheck(self.clone()))
    }

    /// The bytes of an answer, counted until they are sent or dropped.
    pub(crate) fn answer(&self, bytes: Bytes) -> Result<Bytes, Exhausted> {
        let hold = self.0.unsent.hold(bytes.len())?;
        self.0.answers.fetch_add(1, Ordering::Relaxed);
        self.progressed();
        Ok(Bytes::from_owner(Answer { bytes, _hold: hold, peer: self.clone() }))
    }

    /// The bytes of a stream's message, counted until they are sent or dropped. A reader may leave them for as long as it
    /// likes.
    pub(crate) fn message(&self, bytes: Bytes) -> Result<Bytes, Exhausted> {
        let hold = self.0.unsent.hold(bytes.len())?;
        Ok(Bytes::from_owner(Message { bytes, _hold: hold }))
    }

    fn progressed(&self) {
        let millis = now().duration_since(self.0.opened).as_millis();
        self.0.progress.store(u64::try_from(millis).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Whether the client has taken none of its answers for so long.
    pub(super) fn is_stalled(&self, longest: Duration) -> bool {
        if self.0.answers.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let progress = Duration::from_millis(self.0.progress.load(Ordering::Relaxed));
        now().duration_since(self.0.opened).saturating_sub(progress) > longest
    }

    /// Ends the connection.
    pub(super) fn end(&self) {
        self.0.ended.store(true, Ordering::Release);
        self.0.waker.wake();
    }

    /// Ready once the connection must end.
    pub(super) fn poll_ended(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.waker.register(cx.waker());
        if self.0.ended.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// An answer's bytes.
struct Answer {
    bytes: Bytes,
    _hold: Hold,
    peer: Peer,
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.peer.0.answers.fetch_sub(1, Ordering::Relaxed);
        self.peer.progressed();
    }
}

/// A stream message's bytes.
struct Message {
    bytes: Bytes,
    _hold: Hold,
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A health check whose request has not arrived, until it is dropped.
pub(crate) struct WaitingHealthCheck(Peer);

impl Drop for WaitingHealthCheck {
    fn drop(&mut self) {
        self.0.0.waiting_health_checks.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Connections in the order in which they came, until they close.
#[derive(Debug, Default)]
pub(super) struct Peers(Mutex<Vec<Weak<State>>>);

impl Peers {
    pub(super) fn add(&self, peer: &Peer) {
        let mut peers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that have closed are dropped when the list would grow otherwise.
        if peers.len() == peers.capacity() {
            peers.retain(|peer| peer.strong_count() > 0);
        }
        peers.push(Arc::downgrade(&peer.0));
    }

    /// Ends all of them.
    pub(super) fn end_all(&self) {
        let peers = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        peers.iter().filter_map(Weak::upgrade).for_each(|peer| Peer(peer).end());
    }

    /// Ends the oldest of those whose caller was not let in, where there are `max` of them.
    pub(super) fn make_room(&self, max: usize) {
        let mut peers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if peers.len() < max {
            return;
        }
        peers.retain(|peer| peer.upgrade().is_some_and(|peer| !peer.admitted.load(Ordering::Relaxed)));
        if peers.len() >= max
            && !peers.is_empty()
            && let Some(oldest) = peers.remove(0).upgrade()
        {
            Peer(oldest).end();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;
    use crate::grpc::Options;

    fn limits() -> Limits {
        Limits::new(&Options { max_unsent_bytes: 8_000, ..Options::default() })
    }

    fn has_ended(peer: &Peer) -> bool {
        peer.poll_ended(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn an_answers_bytes_are_counted_until_they_are_dropped() {
        let peer = Peer::new(&limits());
        let answer = peer.answer(Bytes::from_static(b"answer")).unwrap();
        assert_eq!((&answer[..], peer.unsent().held()), (&b"answer"[..], 6));
        let part = answer.slice(2..);
        drop(answer);
        assert_eq!(peer.unsent().held(), 6);
        drop(part);
        assert_eq!(peer.unsent().held(), 0);
        assert_eq!(peer.answer(vec![0; 1_001].into()), Err(Exhausted::Connection));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_no_answer_is_stalled_and_a_slow_watch_is_not() {
        let (second, peer) = (Duration::from_secs(1), Peer::new(&limits()));
        let _message = peer.message(Bytes::from_static(b"state")).unwrap();
        tokio::time::sleep(3 * second).await;
        assert!(!peer.is_stalled(second));
        let answers = [1, 2].map(|_| peer.answer(Bytes::from_static(b"answer")).unwrap());
        assert!(!peer.is_stalled(second));
        tokio::time::sleep(2 * second).await;
        assert!(peer.is_stalled(second));
        let [first, last] = answers;
        drop(first);
        assert!(!peer.is_stalled(second), "it takes one after the other");
        tokio::time::sleep(2 * second).await;
        assert!(peer.is_stalled(second));
        drop(last);
        assert!(!peer.is_stalled(second));
    }

    #[test]
    fn the_oldest_connection_without_a_caller_makes_room() {
        let (limits, peers) = (limits(), Peers::default());
        let all: Vec<_> = (0..4).map(|_| Peer::new(&limits)).collect();
        for peer in &all {
            peers.add(peer);
        }
        all[0].admit();
        peers.make_room(4);
        assert!(!all.iter().any(has_ended), "three are below the bound");
        peers.make_room(3);
        let ended: Vec<_> = all.iter().map(has_ended).collect();
        assert_eq!(ended, [false, true, false, false]);
        peers.end_all();
        assert!(all[2..].iter().all(has_ended));
    }
}
