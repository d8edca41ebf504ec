//! The safety net: looking, without being told, whether what was read still stands.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{Reload, watches::Subject};
use crate::options::WatchMode;

/// The share of one core that the sweep may take.
const SWEEP_SHARE: u32 = 100;
/// The share of one core that polling may take: one part of so many.
const POLL_SHARE: u32 = 20;
/// How long the sweep works at once, so that events do not wait for it.
const SLICE: Duration = Duration::from_millis(2);

/// Where the sweep is.
pub(crate) struct Sweep {
    /// The next subject to look at.
    cursor: Subject,
    round_began: Instant,
    next_slice: Instant,
    next_poll: Instant,
}

impl Sweep {
    pub(crate) fn new(now: Instant) -> Self {
        Self { cursor: 0, round_began: now, next_slice: now + SLICE, next_poll: now }
    }

    /// When there is something to do.
    pub(crate) fn due(&self, reload: &Reload) -> Instant {
        if reload.polled.is_empty() { self.next_slice } else { self.next_slice.min(self.next_poll) }
    }

    pub(crate) fn run(&mut self, reload: &mut Reload) {
        let now = Instant::now();
        if now >= self.next_poll && !reload.polled.is_empty() {
            let polled: Vec<Subject> = reload.polled.iter().copied().collect();
            for subject in polled {
                look(reload, subject);
            }
            self.next_poll = Instant::now() + (now.elapsed() * POLL_SHARE).max(reload.options.poll_interval);
        }
        if now >= self.next_slice {
            self.slice(reload);
        }
    }

    fn slice(&mut self, reload: &mut Reload) {
        let began = Instant::now();
        while began.elapsed() < SLICE {
            let Some((&subject, _)) = reload.items.range(self.cursor..).next() else {
                reload.status.swept();
                self.cursor = 0;
                let pace = began + began.elapsed() * SWEEP_SHARE;
                self.next_slice = pace.max(self.round_began + jittered(reload.options.sweep_interval));
                self.round_began = self.next_slice;
                return;
            };
            self.cursor = subject + 1;
            if look(reload, subject) && !reload.polled.contains(&subject) {
                reload.status.sweep_hit();
            }
            watch_again(reload, subject);
        }
        self.next_slice = began + began.elapsed() * SWEEP_SHARE;
    }
}

/// Marks a subject that has changed; true if no event had told of it.
fn look(reload: &mut Reload, subject: Subject) -> bool {
    let stands = |reload: &Reload| reload.items.get(&subject).is_none_or(|item| item.trace.holds());
    if reload.pending.contains_key(&subject) || stands(reload) {
        return false;
    }
    // The event may be on its way.
    reload.hear_all();
    let unheard = !reload.pending.contains_key(&subject);
    if unheard {
        reload.mark(subject);
    }
    unheard
}

/// Tries again to watch what could not be watched.
fn watch_again(reload: &mut Reload, subject: Subject) {
    if reload.options.watch != WatchMode::Auto || !reload.polled.contains(&subject) {
        return;
    }
    if let Some(item) = reload.items.get_mut(&subject) {
        let trace = std::mem::take(&mut item.trace);
        let watched = reload.watches.follow(subject, &trace, &trace, &reload.status);
        item.trace = trace;
        reload.rely_on_events(subject, watched);
    }
}

/// Up to a tenth more or less, so that many servers on one disk do not sweep at once.
fn jittered(interval: Duration) -> Duration {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.subsec_nanos());
    interval.mul_f64(0.9 + 0.2 * f64::from(nanos % 1_000) / 1_000.0)
}
