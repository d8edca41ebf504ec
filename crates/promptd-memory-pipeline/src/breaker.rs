//! When a model is taken to be away, and when a job is tried again.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::Fault;

/// How many failures of the server in a row open the breaker.
const FAILURES: u32 = 5;
/// For how long it is open at first; each time that it opens again, twice as long …
const FIRST_PAUSE: Duration = Duration::from_secs(15);
/// … up to this.
const MAX_PAUSE: Duration = Duration::from_secs(600);
/// How long a job waits after its first failure; after each further one twice as long …
const FIRST_WAIT: Duration = Duration::from_secs(2);
/// … up to this.
const MAX_WAIT: Duration = Duration::from_secs(3_600);

/// Whether the model's server is there. While it is away nothing is asked, except for one request now and then. Clones are one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Breaker(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    failures: u32,
    pauses: u32,
    open_until: Option<Instant>,
}

impl Breaker {
    /// How many requests there may be at once, of `most`.
    pub(crate) fn admits(&self, most: usize) -> Result<usize, Instant> {
        match self.state().open_until {
            None => Ok(most),
            Some(until) if until <= Instant::now() => Ok(1),
            Some(until) => Err(until),
        }
    }

    /// Whether the server is taken to be away.
    pub(crate) fn is_open(&self) -> bool {
        self.state().open_until.is_some()
    }

    /// The server answered.
    pub(crate) fn succeeded(&self) {
        *self.state() = State::default();
    }

    /// The server failed; `pause`: it asked to be left alone for so long.
    pub(crate) fn failed(&self, pause: Option<Duration>) {
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        if pause.is_none() && state.failures < FAILURES {
            return;
        }
        let own = doubled(FIRST_PAUSE, state.pauses, MAX_PAUSE);
        state.pauses += 1;
        state.open_until = Some(Instant::now() + pause.map_or(own, |pause| pause.min(MAX_WAIT)));
    }

    /// A request failed; where it is the answer that cannot be used, the server is there.
    pub(crate) fn heard(&self, fault: &Fault) {
        match fault {
            Fault::OfServer { pause, .. } => self.failed(*pause),
            Fault::OfAnswer(_) => self.succeeded(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a job waits that failed so often before: up to half as long again, so that not all come back at once.
pub(crate) fn wait(tries: u32) -> Duration {
    doubled(FIRST_WAIT, tries, MAX_WAIT).mul_f64(1.0 + fastrand::f64() / 2.0)
}

fn doubled(first: Duration, times: u32, most: Duration) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(times)).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_fails_is_left_alone_and_looked_at_now_and_then() {
        let breaker = Breaker::default();
        for _ in 1..FAILURES {
            breaker.failed(None);
            assert_eq!(breaker.admits(4), Ok(4));
        }
        breaker.failed(None);
        let mut pauses = Vec::new();
        for _ in 0..8 {
            let until = breaker.admits(4).unwrap_err();
            pauses.push((until - Instant::now()).as_secs());
            tokio::time::advance(until - Instant::now()).await;
            assert_eq!(breaker.admits(4), Ok(1), "one is tried");
            assert!(breaker.is_open());
            breaker.failed(None);
        }
        assert_eq!(pauses, [15, 30, 60, 120, 240, 480, 600, 600]);
        breaker.succeeded();
        assert_eq!(breaker.admits(4), Ok(4));
        breaker.failed(Some(Duration::from_secs(90)));
        assert_eq!((breaker.admits(4).unwrap_err() - Instant::now()).as_secs(), 90, "as it asked");
    }

    #[test]
    fn a_job_waits_longer_each_time() {
        for (tries, least) in [(0, 2), (1, 4), (5, 64), (11, 3_600), (u32::MAX, 3_600)] {
            let wait = wait(tries).as_secs_f64();
            assert!((f64::from(least)..=f64::from(least) * 1.5).contains(&wait), "{tries}: {wait}");
        }
    }
}
