//! When the safety net works: looking, whatever events say, whether what was read is still current.
//!
//! The sweep looks at every target that has events, polling at those that have none. Both go in rounds, a slice at a time so that
//! events do not wait for them, and are paced by what they cost.

use std::time::{Duration, Instant};

use super::{
    Reload, debounce,
    target::{Target, TargetId},
};
use crate::{LOG_TARGET, clock, status::Status};

/// The share of one core that the sweep may take: one part of so many.
const SWEEP_SHARE: u32 = 100;
/// The share of one core that polling may take: one part of so many.
const POLL_SHARE: u32 = 20;
/// The same where many are polled since watches are used up, which costs an idle service as long as nobody raises the limit.
const POLL_SHARE_OF_MANY: u32 = 150;
/// How long either works at once.
const SLICE: Duration = Duration::from_millis(2);

impl Reload {
    pub(super) fn polls(&self) -> bool {
        self.publisher.status.polled.get() > 0
    }

    /// Looks for changes that no event has reported, if it is time to.
    pub(super) fn look_around(&mut self) {
        let began = clock::now();
        if !self.polls() {
            if self.publisher.status.poll_round.get() > 0.0 {
                self.ask_for_watches(Duration::ZERO);
            }
        } else if began >= self.polling.due() {
            self.poll(began);
        }
        let began = clock::now();
        if began >= self.sweep.due() {
            self.sweep(began);
        }
    }

    fn sweep(&mut self, began: Instant) {
        let mut now = began;
        while now - began < SLICE {
            let Some(target) = self.targets.from(self.sweep.cursor, false) else {
                self.publisher.status.sweeps.inc();
                let interval = jittered(self.publisher.options.sweep_interval, clock::noise());
                self.sweep.ended(began, now, SWEEP_SHARE, interval);
                return;
            };
            self.sweep.cursor = target.next();
            self.look(target, &debounce::Event::Found);
            now = clock::now();
        }
        self.sweep.slice_ended(began, now, SWEEP_SHARE);
    }

    fn poll(&mut self, began: Instant) {
        let share = if self.targets.are_watches_used_up() { POLL_SHARE_OF_MANY } else { POLL_SHARE };
        let mut now = began;
        while now - began < SLICE {
            let Some(target) = self.targets.from(self.polling.cursor, true) else {
                let took = self.polling.ended(began, now, share, self.publisher.options.poll_interval);
                self.ask_for_watches(took);
                // Perhaps somebody has raised the limit.
                self.targets.try_watches();
                return;
            };
            self.polling.cursor = target.next();
            self.look(target, &debounce::Event::Found);
            self.targets.watch_again(target);
            now = clock::now();
        }
        self.polling.slice_ended(began, now, share);
    }

    /// Says what the limit of watches must be, and how long edits take without; again only once it must be higher.
    fn ask_for_watches(&mut self, round: Duration) {
        let needed = self.targets.limit_needed();
        let Status { polled, poll_round, watch_limit_needed, .. } = &*self.publisher.status;
        poll_round.set(round.as_secs_f64());
        watch_limit_needed.set(needed.and_then(|needed| i64::try_from(needed).ok()).unwrap_or_default());
        if needed > self.limit_asked_for {
            let (polled, needed, seconds) = (polled.get(), needed.unwrap_or_default(), round.as_secs());
            tracing::warn!(
                target: LOG_TARGET,
                polled,
                "inotify watches do not suffice: edits of what is polled take up to {seconds} s to be served, until the sysctl \
                 fs.inotify.max_user_watches is at least {needed}"
            );
        }
        self.limit_asked_for = needed;
    }

    /// Looks whether what could not be read or watched can be now.
    pub(super) fn look_again(&mut self, id: TargetId) {
        self.look(id, &debounce::Event::Marked);
        self.targets.watch_again(id);
        if !self.has_failures(id) {
            self.apply(id, &debounce::Event::Healed);
        }
    }

    /// Looks whether a target has changed; then the event follows.
    fn look(&mut self, id: TargetId, changed: &debounce::Event<'_>) {
        let has_changed = |target: &Target| !target.debounce.is_pending() && !target.read_set.is_current();
        if self.targets.get(id).is_some_and(has_changed) {
            self.apply(id, changed);
        }
    }
}

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
    fn slice_ended(&mut self, began: Instant, ended: Instant, share: u32) {
        self.next_slice = began + (ended - began) * share;
    }

    /// A slice began and ended then, and with it the round; the next one begins after the interval. Gives the time from one
    /// round to the next.
    fn ended(&mut self, began: Instant, ended: Instant, share: u32, interval: Duration) -> Duration {
        self.cursor = TargetId::default();
        self.next_slice = (began + (ended - began) * share).max(self.began + interval);
        let took = self.next_slice - self.began;
        self.began = self.next_slice;
        took
    }
}

/// The interval, give or take a tenth, so that many servers on one disk do not sweep at once. `noise`: any number.
fn jittered(interval: Duration, noise: u32) -> Duration {
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
