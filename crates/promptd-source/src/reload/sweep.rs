//! When the safety net works: looking, whatever events say, whether what was read is still current.
//!
//! The sweep looks at every target that has events, polling at those that have none. Both go in rounds, a slice at a time so that
//! events do not wait for them, and are paced by what they cost.

use std::time::{Duration, Instant};

use super::target::TargetId;

/// The share of one core that the sweep may take: one part of so many.
pub(crate) const SWEEP_SHARE: u32 = 100;
/// The share of one core that polling may take: one part of so many.
pub(crate) const POLL_SHARE: u32 = 20;
/// The same where many are polled since watches are used up, which costs an idle service as long as nobody raises the limit.
pub(crate) const POLL_SHARE_OF_MANY: u32 = 150;
/// How long either works at once.
pub(crate) const SLICE: Duration = Duration::from_millis(2);

/// Where a round is, and when it goes on.
pub(crate) struct Round {
    /// The next target to look at.
    pub(crate) cursor: TargetId,
    began: Instant,
    next_slice: Instant,
}

impl Round {
    pub(crate) fn new(start: Instant) -> Self {
        Self { cursor: TargetId::default(), began: start, next_slice: start }
    }

    /// When there is something to do.
    pub(crate) fn due(&self) -> Instant {
        self.next_slice
    }

    /// A slice began and ended then, in the middle of a round. It may take one part of so many of a core.
    pub(crate) fn slice_ended(&mut self, began: Instant, ended: Instant, share: u32) {
        self.next_slice = began + (ended - began) * share;
    }

    /// A slice began and ended then, and with it the round; the next one begins after the interval. Gives the time from one
    /// round to the next.
    pub(crate) fn ended(&mut self, began: Instant, ended: Instant, share: u32, interval: Duration) -> Duration {
        self.cursor = TargetId::default();
        self.next_slice = (began + (ended - began) * share).max(self.began + interval);
        let took = self.next_slice - self.began;
        self.began = self.next_slice;
        took
    }
}

/// The interval, give or take a tenth, so that many servers on one disk do not sweep at once. `noise`: any number.
pub(crate) fn jittered(interval: Duration, noise: u32) -> Duration {
    interval.mul_f64(0.9 + 0.2 * f64::from(noise % 1_000) / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_slice_takes_its_share_of_a_core() {
        let start = Instant::now();
        for (share, next) in [(SWEEP_SHARE, 200), (POLL_SHARE, 40), (POLL_SHARE_OF_MANY, 300)] {
            let mut round = Round::new(start);
            assert_eq!(round.due(), start);
            round.slice_ended(start, start + 2 * MS, share);
            assert_eq!(round.due(), start + next * MS);
        }
    }

    #[test]
    fn rounds_begin_an_interval_apart_or_as_far_as_they_cost() {
        let start = Instant::now();
        for (cost, interval, apart) in [(1, 10_000, 10_000), (200, 10_000, 20_001), (1, 10, 101), (0, 10, 10)] {
            let mut round = Round::new(start);
            round.cursor = round.cursor.next();
            let took = round.ended(start + MS, start + (1 + cost) * MS, SWEEP_SHARE, interval * MS);
            assert_eq!((took, round.due()), (apart * MS, start + apart * MS), "{cost} {interval}");
            assert_eq!(round.cursor, TargetId::default());
        }
    }

    #[test]
    fn an_interval_is_given_or_taken_a_tenth() {
        for (noise, expected) in [(0, 9_000), (500, 10_000), (1_000, 9_000), (999, 10_998)] {
            assert_eq!(jittered(10_000 * MS, noise), expected * MS, "{noise}");
        }
    }
}
