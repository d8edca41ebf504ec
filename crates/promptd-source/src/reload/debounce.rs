//! When to load, and when to believe what was read.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{events::Change, load::read_set::Lost};

/// How long nothing must happen before a load: most saves are several events.
const SILENCE: Duration = Duration::from_millis(20);
/// How long a stream of events can put a load off.
const LONGEST_SILENCE: Duration = Duration::from_millis(500);
/// How long a loose file must have rested to be believed whole.
pub(crate) const REST: Duration = Duration::from_millis(50);
/// A workspace whose files never rest that long is believed with less, and at last without: never is worse.
const RESTLESS: [(Duration, Duration); 2] =
    [(Duration::from_secs(20), Duration::ZERO), (Duration::from_secs(5), Duration::from_millis(10))];
/// How long a file must have been empty or gone to be believed: editors do both in the middle of a save.
pub(crate) const DOUBT: Duration = Duration::from_secs(1);
/// How long a writer may take from its first write to the close; then what is there counts, if it has rested: a log
/// stays open for ever.
const LONGEST_SAVE: Duration = Duration::from_secs(1);
/// How long a workspace must have been gone: a link is often retargeted by removing and making it.
pub(crate) const GONE: Duration = Duration::from_millis(250);
/// The longest pause between tries to load what keeps moving.
const LONGEST_RETRY: Duration = Duration::from_millis(500);

/// A subject that must be loaded.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    /// Its first sign.
    pub(crate) since: Instant,
    pub(crate) due: Instant,
    tries: u32,
    /// What looks lost, and since when.
    doubted: BTreeMap<PathBuf, Instant>,
    /// What has been written and not closed yet, and since when.
    open: BTreeMap<PathBuf, Instant>,
}

impl Pending {
    pub(crate) fn now(now: Instant) -> Self {
        Self { since: now, due: now, tries: 0, doubted: BTreeMap::new(), open: BTreeMap::new() }
    }

    /// When all of what looks lost will have looked so for long enough, if that is still to come.
    pub(crate) fn doubt(&mut self, lost: &[(&Path, Lost)], now: Instant, believed_after: Duration) -> Option<Instant> {
        self.doubted.retain(|path, _| lost.iter().any(|(lost, _)| lost == path));
        for (path, lost) in lost {
            let first_look = self.doubted.entry(path.to_path_buf()).or_insert(now);
            // The disk knows better since when a file is empty.
            if let Lost::Empty(age) = lost {
                *first_look = now.checked_sub(*age).unwrap_or(now);
            }
        }
        self.doubted.values().map(|since| *since + believed_after).filter(|due| *due > now).max()
    }

    /// An event: the load is put off for as long as they go on, within bounds.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.due = (now + SILENCE).min((self.since + LONGEST_SILENCE).max(now));
    }

    /// What happened to a file: between its first write and its close it is being saved.
    pub(crate) fn happened(&mut self, path: &Path, change: Change, now: Instant) {
        match change {
            Change::Written => _ = self.open.entry(path.to_path_buf()).or_insert(now),
            Change::Closed | Change::Appeared | Change::Went => {
                if self.open.remove(path).is_some() {
                    self.heard(now);
                }
            }
            Change::Content => {}
        }
    }

    /// Whether no file is being saved; if one is, it is due when that will have taken too long to wait for.
    pub(crate) fn wait_for_close(&mut self, now: Instant) -> bool {
        let waits = self.open.values().map(|since| *since + LONGEST_SAVE).filter(|until| *until > now).max();
        self.due = waits.unwrap_or(self.due);
        waits.is_none()
    }

    /// Something moved during the load.
    pub(crate) fn try_again(&mut self, now: Instant) {
        self.tries += 1;
        self.due = now + (Duration::from_millis(5) * self.tries).min(LONGEST_RETRY);
    }

    /// Whether files of that age have rested long enough; if not, it is due when they will have.
    pub(crate) fn wait_for_rest(&mut self, age: Duration, now: Instant) -> bool {
        let waited = now.duration_since(self.since);
        let rest = RESTLESS.iter().find(|(after, _)| waited >= *after).map_or(REST, |(_, rest)| *rest);
        if age < rest {
            self.due = now + rest.saturating_sub(age);
        }
        age >= rest
    }
}
