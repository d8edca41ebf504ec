//! Limits that can be replaced while the server runs.

use std::{
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use tokio::task::JoinSet;

use super::{Options, error::Error};
use promptd_contract::decode;

/// The limits in use; shared by the server and who runs it.
#[derive(Debug)]
pub struct Live {
    pub(super) request: ArcSwap<decode::Limits>,
    pub(super) in_flight: Arc<Places>,
    pub(super) streams: Arc<Places>,
    pub(super) connections: Arc<Places>,
    beside: Arc<Places>,
    retry: Duration,
    max_call_micros: AtomicU64,
}

impl Live {
    pub(super) fn new(options: &Options) -> Self {
        let live = Self {
            request: ArcSwap::default(),
            in_flight: Arc::default(),
            streams: Arc::default(),
            connections: Arc::default(),
            beside: Arc::default(),
            retry: options.retry_delay,
            max_call_micros: AtomicU64::new(0),
        };
        live.replace(options);
        live
    }

    /// Uses the limits of `options` from now on: those on requests, on what is open at once, and on the time of a
    /// call. What is open already stays open. The rest of `options` is left alone.
    pub fn replace(&self, options: &Options) {
        self.request.store(Arc::new(options.request.clone()));
        self.in_flight.most.store(options.max_in_flight, Ordering::Relaxed);
        self.beside.most.store(options.max_in_flight, Ordering::Relaxed);
        self.streams.most.store(options.max_streams, Ordering::Relaxed);
        self.connections.most.store(options.max_connections, Ordering::Relaxed);
        let micros = u64::try_from(options.max_call_time.as_micros()).unwrap_or(u64::MAX);
        self.max_call_micros.store(micros, Ordering::Relaxed);
    }

    /// Does work that takes long or blocks on a thread of its own, so that other calls need not wait behind it. Where
    /// the caller leaves meanwhile, work that has not begun is dropped, and work that has begun keeps its place to its
    /// end: short deadlines cannot heap up more of it than `max_in_flight`.
    pub(super) async fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let place = self.beside.take().ok_or(Error::Overloaded { retry: self.retry })?;
        // A set of one, since a set aborts what it holds when it is dropped.
        let mut working = JoinSet::new();
        working.spawn_blocking(move || {
            let _place = place;
            work()
        });
        match working.join_next().await {
            Some(Ok(done)) => Ok(done),
            Some(Err(failed)) if failed.is_panic() => resume_unwind(failed.into_panic()),
            Some(Err(_)) | None => Err(Error::Internal),
        }
    }

    /// The longest that one call may take.
    pub(super) fn max_call_time(&self) -> Duration {
        Duration::from_micros(self.max_call_micros.load(Ordering::Relaxed))
    }
}

/// So many places, some of them taken. Not a semaphore: nobody waits, and how many there are can change.
#[derive(Debug, Default)]
pub(super) struct Places {
    most: AtomicUsize,
    taken: AtomicUsize,
}

/// A place that is taken until it is dropped.
#[derive(Debug)]
pub(super) struct Place(Arc<Places>);

impl Places {
    /// Takes a place, if one is free.
    pub(super) fn take(self: &Arc<Self>) -> Option<Place> {
        let most = self.most.load(Ordering::Relaxed);
        let one_more = |taken: usize| (taken < most).then(|| taken + 1);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        Some(Place(Arc::clone(self)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_places_close_the_door_and_more_open_it() {
        let mut options = Options { max_in_flight: 2, ..Options::default() };
        let live = Live::new(&options);
        let taken = [live.in_flight.take().unwrap(), live.in_flight.take().unwrap()];
        assert!(live.in_flight.take().is_none());
        options.max_in_flight = 1;
        live.replace(&options);
        let [first, second] = taken;
        drop(first);
        assert!(live.in_flight.take().is_none());
        drop(second);
        assert!(live.in_flight.take().is_some());
        options.max_in_flight = usize::MAX;
        options.max_call_time = Duration::from_secs(7);
        live.replace(&options);
        let many: Vec<_> = (0..100).map(|_| live.in_flight.take().unwrap()).collect();
        assert_eq!((many.len(), live.max_call_time()), (100, Duration::from_secs(7)));
    }
}
