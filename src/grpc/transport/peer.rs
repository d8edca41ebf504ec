//! A connection as the calls on it see it: what it holds, whether its caller was let in, and the way to end it.

use std::{
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http::{Extensions, HeaderValue, Response};
use http_body::{Body as _, Frame, SizeHint};
use tokio::time::Instant;
use tonic::{Status, body::Body};

use crate::grpc::{
    budget::{Exhausted, Hold, Share},
    deadline::now,
    limits::Limits,
};

/// The most health checks of one connection whose requests have not arrived yet.
const MAX_WAITING_HEALTH_CHECKS: usize = 4;

/// What an answer takes beside its message, until the client has taken it: the stream, and its headers.
const ANSWER_BYTES: usize = 2 << 10;
/// The bytes of small answers that each connection may leave, whatever others leave.
const OWN_SMALL_BYTES: usize = 16 << 10;

/// A connection, among the extensions of each of its requests.
#[derive(Debug, Clone)]
pub(crate) struct Peer(Arc<State>);

/// Where a connection comes from, and where it was accepted.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "etcd"), expect(dead_code, reason = "only publishing asks"))]
pub(crate) struct Ends {
    pub(crate) remote: SocketAddr,
    pub(crate) local: SocketAddr,
}

#[derive(Debug)]
struct State {
    /// `None`: the call is made in this process.
    #[cfg_attr(not(feature = "etcd"), expect(dead_code, reason = "only publishing asks"))]
    ends: Option<Ends>,
    requests: AtomicUsize,
    admitted: AtomicBool,
    waiting_health_checks: AtomicUsize,
    calling: AtomicUsize,
    unread: Arc<Share>,
    unsent: Arc<Share>,
    own_small: Arc<Share>,
    small: Arc<Share>,
    /// Answers to single requests that the client has not taken.
    answers: AtomicUsize,
    opened: Instant,
    /// When such an answer was last made or taken, in milliseconds since `opened`.
    progress: AtomicU64,
    ended: AtomicBool,
    waker: AtomicWaker,
}

impl Ends {
    /// Whether both are of this machine, whatever other machines can reach.
    #[cfg(feature = "etcd")]
    pub(crate) fn are_loopback(self) -> bool {
        [self.remote, self.local].iter().all(|end| end.ip().to_canonical().is_loopback())
    }
}

impl Peer {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self::between(limits, None)
    }

    /// The connection between these ends.
    pub(super) fn between(limits: &Limits, ends: Option<Ends>) -> Self {
        Self(Arc::new(State {
            ends,
            requests: AtomicUsize::new(0),
            admitted: AtomicBool::new(false),
            waiting_health_checks: AtomicUsize::new(0),
            calling: AtomicUsize::new(0),
            unread: Share::new(&limits.unread),
            unsent: Share::new(&limits.unsent),
            own_small: Share::alone(OWN_SMALL_BYTES),
            small: Share::new(&limits.small),
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

    /// Its two ends; `None`: the call is made in this process.
    #[cfg(feature = "etcd")]
    pub(crate) fn ends(&self) -> Option<Ends> {
        self.0.ends
    }

    /// Counts a request.
    pub(crate) fn add_request(&self) {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// How many requests have come.
    pub(super) fn requests(&self) -> usize {
        self.0.requests.load(Ordering::Relaxed)
    }

    /// Marks a request that does not come by gRPC as under way, until the guard is dropped.
    pub(crate) fn calling(&self) -> Calling {
        self.0.calling.fetch_add(1, Ordering::Relaxed);
        Calling(self.clone())
    }

    /// Whether such a request is under way.
    pub(super) fn is_calling(&self) -> bool {
        self.0.calling.load(Ordering::Relaxed) > 0
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
        let untaken = self.untaken(bytes.len())?;
        Ok(Bytes::from_owner(Held { bytes, _by: untaken }))
    }

    /// An answer whose body has so many bytes and is there already, counted until it is sent or dropped.
    pub(crate) fn whole_answer(&self, response: Response<Body>, bytes: usize) -> Result<Response<Body>, Exhausted> {
        let untaken = self.untaken(bytes)?;
        Ok(response.map(|body| Body::new(HeldBody { body, _by: untaken })))
    }

    fn untaken(&self, bytes: usize) -> Result<Untaken, Exhausted> {
        let hold = self.0.unsent.hold(bytes + ANSWER_BYTES)?;
        self.0.answers.fetch_add(1, Ordering::Relaxed);
        self.progressed();
        Ok(Untaken { _hold: hold, peer: self.clone() })
    }

    /// The bytes of a stream's message, counted until they are sent or dropped. A reader may leave them for as long as it
    /// likes.
    pub(crate) fn message(&self, bytes: Bytes) -> Result<Bytes, Exhausted> {
        let hold = self.0.unsent.hold(bytes.len())?;
        Ok(Bytes::from_owner(Held { bytes, _by: hold }))
    }

    /// An answer that is always given: a refusal, or that of a health check. It is counted until its headers and its body are
    /// sent. Where a client leaves too many of them, its connection ends. `content`: how many bytes of its body are in memory for it
    /// alone.
    pub(crate) fn small_answer(&self, response: Response<Body>, content: usize) -> Response<Body> {
        let fields = response.headers().iter().map(|(name, value)| name.as_str().len() + value.len());
        let bytes = (ANSWER_BYTES + fields.sum::<usize>()).saturating_add(content);
        let Ok(hold) = self.0.own_small.hold(bytes).or_else(|_| self.0.small.hold(bytes)) else {
            self.end();
            return response;
        };
        let (mut parts, body) = response.into_parts();
        let hold = Arc::new(hold);
        // One is enough: headers are sent and dropped together.
        if let Some(value) = parts.headers.values_mut().next() {
            hold_by(value, &hold);
        }
        if body.is_end_stream() {
            return Response::from_parts(parts, body);
        }
        Response::from_parts(parts, Body::new(HeldBody { body, _by: hold }))
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

/// An answer that the client has not taken.
struct Untaken {
    _hold: Hold,
    peer: Peer,
}

impl Drop for Untaken {
    fn drop(&mut self) {
        self.peer.0.answers.fetch_sub(1, Ordering::Relaxed);
        self.peer.progressed();
    }
}

/// Bytes that are counted.
struct Held<H> {
    bytes: Bytes,
    _by: H,
}

impl<H> AsRef<[u8]> for Held<H> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Lets a header's value be counted: it is dropped once it is sent.
fn hold_by(value: &mut HeaderValue, hold: &Arc<Hold>) {
    let bytes = Bytes::from_owner(Held { bytes: Bytes::copy_from_slice(value.as_bytes()), _by: Arc::clone(hold) });
    if let Ok(mut held) = HeaderValue::from_maybe_shared(bytes) {
        held.set_sensitive(value.is_sensitive());
        *value = held;
    }
}

/// A body that is counted.
struct HeldBody<H> {
    body: Body,
    _by: H,
}

impl<H: Unpin> http_body::Body for HeldBody<H> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A health check whose request has not arrived, until it is dropped.
pub(crate) struct WaitingHealthCheck(Peer);

impl Drop for WaitingHealthCheck {
    fn drop(&mut self) {
        self.0.0.waiting_health_checks.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A request that is under way, until it is dropped.
pub(crate) struct Calling(Peer);

impl Drop for Calling {
    fn drop(&mut self) {
        self.0.0.calling.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Connections in the order in which they came, until they close.
#[derive(Debug, Default)]
pub(crate) struct Peers(Mutex<Vec<Weak<State>>>);

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
mod tests;
