//! When the safety net works: looking, whatever events say, whether what was read is still current.
//!
//! The sweep looks at every target in rounds, a slice at a time; polling looks at those without events, all at once. Both
//! are paced by what they cost.

use std::time::{Duration, Instant};

use super::target::TargetId;

/// The share of one core that the sweep may take: one part of so many.
const SWEEP_SHARE: u32 = 100;
/// The share of one core that polling may take: one part of so many.
const POLL_SHARE: u32 = 20;
/// How long the sweep works at once, so that events do not wait for it.
pub(crate) const SLICE: Duration = Duration::from_millis(2);

/// Where the sweep is, and when it goes on.
pub(crate) struct Sweep {
    /// The next target to look at.
    pub(crate) cursor: TargetId,
    round_began: Instant,
    next_slice: Instant,
    next_poll: Instant,
}

impl Sweep {
    pub(crate) fn new(now: Instant) -> Self {
        Self { cursor: TargetId::default(), round_began: now, next_slice: now + SLICE, next_poll: now }
    }

    /// When there is something to do; `polls`: there are targets to poll.
    pub(crate) fn due(&self, polls: bool) -> Instant {
        if polls { self.next_slice.min(self.next_poll) } else { self.next_slice }
    }

    pub(crate) fn slice_is_due(&self, now: Instant) -> bool {
        now >= self.next_slice
    }

    pub(crate) fn poll_is_due(&self, now: Instant) -> bool {
        now >= self.next_poll
    }

    /// Polling began and ended then.
    pub(crate) fn polled(&mut self, began: Instant, ended: Instant, interval: Duration) {
        self.next_poll = ended + ((ended - began) * POLL_SHARE).max(interval);
    }

    /// A slice began and ended then, in the middle of a round.
    pub(crate) fn slice_ended(&mut self, began: Instant, ended: Instant) {
        self.next_slice = began + (ended - began) * SWEEP_SHARE;
    }

    /// A slice began and ended then, and with it the round; the next one begins after the interval, give or take a
    /// tenth, so that many servers on one disk do not sweep at once. `noise`: any number.
    pub(crate) fn round_ended(&mut self, began: Instant, ended: Instant, interval: Duration, noise: u32) {
        let jittered = interval.mul_f64(0.9 + 0.2 * f64::from(noise % 1_000) / 1_000.0);
        self.cursor = TargetId::default();
        self.next_slice = (began + (ended - began) * SWEEP_SHARE).max(self.round_began + jittered);
        self.round_began = self.next_slice;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_sweep_takes_a_hundredth_of_a_core_and_a_poll_a_twentieth() {
        let start = Instant::now();
        let mut sweep = Sweep::new(start);
        assert_eq!((sweep.due(true), sweep.due(false)), (start, start + SLICE));
        assert!(sweep.poll_is_due(start) && !sweep.slice_is_due(start + MS) && sweep.slice_is_due(start + SLICE));
        sweep.slice_ended(start, start + 2 * MS);
        assert_eq!(sweep.due(false), start + 200 * MS);
        sweep.polled(start, start + 3 * MS, 10 * MS);
        assert_eq!(sweep.due(true), start + 63 * MS);
        assert!(!sweep.poll_is_due(start + 62 * MS) && sweep.poll_is_due(start + 63 * MS));
        sweep.polled(start, start + 3 * MS, 100 * MS);
        assert_eq!(sweep.due(true), start + 103 * MS);
    }

    #[test]
    fn rounds_begin_an_interval_apart_give_or_take_a_tenth() {
        let start = Instant::now();
        for (noise, expected) in [(0, 9_000), (500, 10_000), (1_000, 9_000), (999, 10_998)] {
            let mut sweep = Sweep::new(start);
            sweep.round_ended(start + MS, start + 2 * MS, 10_000 * MS, noise);
            assert_eq!(sweep.due(false), start + expected * MS, "{noise}");
        }
        // A round whose cost asks for more than the interval.
        let mut sweep = Sweep::new(start);
        sweep.round_ended(start, start + 200 * MS, 10_000 * MS, 0);
        assert_eq!(sweep.due(false), start + 20_000 * MS);
    }
}
