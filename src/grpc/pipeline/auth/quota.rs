//! How much a token may call.

use std::{
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::time::Instant;

use crate::grpc::{
    deadline::now,
    limits::{Permit, Permits},
    pipeline::error::Exceeded,
};

const SECOND: u64 = 1_000_000_000;

/// The quotas of a token, and what it has used of them. Two are equal if they allow the same.
pub(super) struct Quota {
    per_second: Option<NonZeroUsize>,
    in_flight: Option<NonZeroUsize>,
    since: Instant,
    /// When the calls so far are paid for at the token's rate, in nanoseconds after `since`.
    paid: AtomicU64,
    open: Arc<Permits>,
}

impl Quota {
    /// `None`: no bound.
    pub(super) fn new(per_second: Option<NonZeroUsize>, in_flight: Option<NonZeroUsize>) -> Self {
        let open = Arc::new(Permits::default());
        open.set_max(in_flight.map_or(usize::MAX, NonZeroUsize::get));
        Self { per_second, in_flight, since: now(), paid: AtomicU64::new(0), open }
    }

    /// Counts a call; it is open until the permit is dropped.
    pub(super) fn call(&self) -> Result<Option<Permit>, Exceeded> {
        let permit = match self.in_flight {
            None => None,
            Some(_) => Some(self.open.acquire().ok_or(Exceeded::InFlight)?),
        };
        match self.per_second {
            Some(rate) if !self.is_in_time(rate) => Err(Exceeded::PerSecond),
            _ => Ok(permit),
        }
    }

    /// Counts a call where it comes in time: the generic cell rate algorithm, with bursts of one second's calls.
    fn is_in_time(&self, rate: NonZeroUsize) -> bool {
        let now = u64::try_from(now().duration_since(self.since).as_nanos()).unwrap_or(u64::MAX);
        let price = SECOND / u64::try_from(rate.get()).unwrap_or(SECOND).clamp(1, SECOND);
        let pay = |paid: u64| {
            let next = paid.max(now).saturating_add(price);
            (next - now <= SECOND).then_some(next)
        };
        self.paid.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pay).is_ok()
    }
}

impl PartialEq for Quota {
    fn eq(&self, other: &Self) -> bool {
        (self.per_second, self.in_flight) == (other.per_second, other.in_flight)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn so_many_calls_a_second_are_let_in() {
        let quota = Quota::new(NonZeroUsize::new(5), None);
        let in_a_burst = || (0..20).take_while(|_| quota.call().is_ok()).count();
        assert_eq!(in_a_burst(), 5);
        assert_eq!(quota.call().err(), Some(Exceeded::PerSecond));
        tokio::time::advance(Duration::from_millis(400)).await;
        assert_eq!(in_a_burst(), 2);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(in_a_burst(), 5, "what was not used is not saved up");
    }

    #[test]
    fn so_many_calls_are_open_at_once() {
        let quota = Quota::new(None, NonZeroUsize::new(2));
        let open = [quota.call().unwrap(), quota.call().unwrap()];
        assert_eq!(quota.call().err(), Some(Exceeded::InFlight));
        drop(open);
        quota.call().unwrap();
        assert!(Quota::new(None, None).call().unwrap().is_none());
    }
}
