//! Limits that can be replaced while the server runs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use tokio::sync::Semaphore;

use super::{Options, budget::Budget};
use promptd_contract::decode;

/// The most bytes of refusals and of answers to health checks that clients have not taken, all connections together.
const SMALL_ANSWERS_BYTES: usize = 64 << 20;

/// The limits in use; shared by the server and whoever replaces them.
#[derive(Debug)]
pub struct Limits {
    pub(super) request: ArcSwap<decode::Limits>,
    pub(super) in_flight: Arc<Permits>,
    pub(super) streams: Arc<Permits>,
    pub(super) connections: Arc<Permits>,
    pub(super) blocking: Arc<Permits>,
    /// Calls whose work takes long wait for one of these.
    pub(super) heavy: Arc<Semaphore>,
    pub(super) unread: Arc<Budget>,
    pub(super) unsent: Arc<Budget>,
    /// Answers that are always given: refusals, and those of health checks.
    pub(super) small: Arc<Budget>,
    max_call_micros: AtomicU64,
    retry: Duration,
}

impl Limits {
    pub(super) fn new(options: &Options) -> Self {
        let limits = Self {
            request: ArcSwap::default(),
            in_flight: Arc::default(),
            streams: Arc::default(),
            connections: Arc::default(),
            blocking: Arc::default(),
            heavy: Arc::new(Semaphore::new(options.max_heavy.unwrap_or_else(heavy_by_cores))),
            unread: Arc::default(),
            unsent: Arc::default(),
            small: Arc::default(),
            max_call_micros: AtomicU64::new(0),
            retry: options.retry_delay,
        };
        limits.small.set_max(SMALL_ANSWERS_BYTES);
        limits.replace(options);
        limits
    }

    /// Uses the limits of `options` from now on: those on requests, on what is open at once, and on the time of a
    /// call. What is open already stays open. All other options are ignored.
    pub fn replace(&self, options: &Options) {
        self.request.store(Arc::new(options.request.clone()));
        self.in_flight.set_max(options.max_in_flight);
        self.blocking.set_max(options.max_in_flight);
        self.streams.set_max(options.max_streams);
        self.connections.set_max(options.max_connections);
        self.unread.set_max(options.max_unread_bytes);
        self.unsent.set_max(options.max_unsent_bytes);
        let micros = u64::try_from(options.max_call_time.as_micros()).unwrap_or(u64::MAX);
        self.max_call_micros.store(micros, Ordering::Relaxed);
    }

    /// How long UNAVAILABLE asks callers to wait.
    pub(super) fn retry(&self) -> Duration {
        self.retry
    }

    /// The longest that one call may take.
    pub(super) fn max_call_time(&self) -> Duration {
        Duration::from_micros(self.max_call_micros.load(Ordering::Relaxed))
    }
}

/// One core stays free for all other calls.
fn heavy_by_cores() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get().saturating_sub(1).max(1))
}

/// A bounded number of permits. Not a semaphore: nobody waits for one, and the bound can change.
#[derive(Debug, Default)]
pub(super) struct Permits {
    max: AtomicUsize,
    held: AtomicUsize,
}

/// One permit, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Permit(Arc<Permits>);

impl Permits {
    /// A permit, if one is free.
    pub(super) fn acquire(self: &Arc<Self>) -> Option<Permit> {
        let max = self.max.load(Ordering::Relaxed);
        let one_more = |held: usize| (held < max).then(|| held + 1);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        Some(Permit(Arc::clone(self)))
    }

    pub(super) fn max(&self) -> usize {
        self.max.load(Ordering::Relaxed)
    }

    pub(super) fn set_max(&self, max: usize) {
        self.max.store(max, Ordering::Relaxed);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_bound_counts_the_permits_that_are_held() {
        let mut options = Options { max_in_flight: 2, ..Options::default() };
        let limits = Limits::new(&options);
        let held = [limits.in_flight.acquire().unwrap(), limits.in_flight.acquire().unwrap()];
        assert!(limits.in_flight.acquire().is_none());
        options.max_in_flight = 1;
        limits.replace(&options);
        let [first, second] = held;
        drop(first);
        assert!(limits.in_flight.acquire().is_none());
        drop(second);
        assert!(limits.in_flight.acquire().is_some());
        options.max_in_flight = usize::MAX;
        options.max_call_time = Duration::from_secs(7);
        limits.replace(&options);
        let many: Vec<_> = (0..100).map(|_| limits.in_flight.acquire().unwrap()).collect();
        assert_eq!((many.len(), limits.max_call_time()), (100, Duration::from_secs(7)));
    }
}
