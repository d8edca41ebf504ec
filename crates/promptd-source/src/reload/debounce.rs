//! When a target is loaded, and when what was read is believed: a pure function of state, event and time.
//!
//! A sign of a change makes a target *pending*. It is loaded once its events have paused, no file of it is open for
//! writing, and its files have rested. What was read counts only if nothing changed meanwhile, the files had rested,
//! and no file looks as if it were in the middle of a save; otherwise it is loaded again. What could not be read is tried
//! again, ever more slowly, until it can be.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{events::Change, load::read_set::Loss};

/// How long events must pause before a load: most saves are several events.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a stream of events can delay a load.
const LONGEST_DELAY: Duration = Duration::from_millis(500);
/// How long a loose file must have rested to be believed whole.
const REST: Duration = Duration::from_millis(50);
/// Files that never rest that long are believed with less, and at last without: never is worse.
const RESTLESS: [(Duration, Duration); 2] =
    [(Duration::from_secs(20), Duration::ZERO), (Duration::from_secs(5), Duration::from_millis(10))];
/// How long a file must have been empty or missing to be believed: editors do both in the middle of a save.
const LOSS_BELIEVED_AFTER: Duration = Duration::from_secs(1);
/// How long a workspace's folder must have been missing: a link is often retargeted by removing and creating it.
const ROOT_LOSS_BELIEVED_AFTER: Duration = Duration::from_millis(250);
/// How long a writer may take from its first write to the close; then what is there counts, if it has rested: a log
/// stays open forever.
const LONGEST_SAVE: Duration = Duration::from_secs(1);
/// How much longer each further try waits, while files change as they are read.
const RETRY_STEP: Duration = Duration::from_millis(5);
const LONGEST_RETRY: Duration = Duration::from_millis(500);
/// How soon what could not be read is tried again; each further try waits twice as long.
const FIRST_REREAD: Duration = Duration::from_millis(100);
const LONGEST_REREAD: Duration = Duration::from_secs(5);

/// Where a target is between a change and its load.
#[derive(Debug, Clone, Default)]
pub(crate) struct Debounce {
    pending: Option<Pending>,
    /// Something could not be read.
    reread: Option<Reread>,
}

/// What happened to a target.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    /// It is new: to be loaded at once.
    Added,
    /// It may have changed.
    Marked,
    /// The sweep found that it has changed; the event may be on its way.
    Found,
    /// A file event at one of its inputs.
    Input(&'a Path, Change),
    /// A file event near it, at no input.
    Other(&'a Path, Change),
    /// It is due. `quiet_for`: how long ago its newest loose file changed, where there is one.
    Due { quiet_for: Option<Duration> },
    /// It was loaded. `current`: nothing changed while it was read.
    Read { current: bool, quiet_for: Option<Duration>, losses: Losses<'a> },
    /// Nothing fails any more.
    Healed,
    /// What was read is watched now. `current`: nothing changed until then; `failed`: something could not be read.
    Watched { current: bool, failed: bool },
    /// It was loaded and watched at the start: nothing is served yet, so nothing is waited for.
    Started { current: bool, failed: bool, quiet_for: Option<Duration> },
}

/// What was there and is no longer.
#[derive(Debug)]
pub(crate) enum Losses<'a> {
    Files(Vec<(&'a Path, Loss)>),
    /// The whole folder of a workspace that is served.
    Root,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Nothing, until it is due or something happens.
    Wait,
    /// Load it.
    Load,
    /// Look whether what could not be read can be read now.
    Look,
    /// Watch what was read.
    Watch,
    /// Throw away what was read; it is loaded again when due.
    Retry,
    /// Serve what was read. `since`: the first sign of the change; `reported`: not only the sweep found it.
    Publish { since: Instant, reported: bool },
}

impl Debounce {
    /// Whether it is to be loaded.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// When to come back with [`Event::Due`]; absent: nothing is to be done.
    pub(crate) fn due(&self) -> Option<Instant> {
        let pending = self.pending.as_ref().map(|pending| pending.due);
        pending.or(self.reread.as_ref().map(|reread| reread.due))
    }

    /// Takes in an event.
    pub(crate) fn apply(&mut self, event: &Event<'_>, now: Instant) -> Decision {
        match *event {
            Event::Added => self.pending = Some(Pending { reported: true, ..Pending::new(now) }),
            Event::Healed => self.reread = None,
            Event::Marked => self.mark(now).reported = true,
            Event::Found => _ = self.mark(now),
            Event::Input(path, change) => {
                let pending = self.mark(now);
                pending.reported = true;
                pending.file_event(path, change, now);
            }
            Event::Started { current, failed, quiet_for } => {
                self.pending = None;
                self.read(failed, now);
                if !current || !is_rested(quiet_for, REST) {
                    // Asked for, not found by the sweep.
                    self.mark(now).reported = true;
                }
                return Decision::Publish { since: now, reported: true };
            }
            _ => {}
        }
        let Some(pending) = &mut self.pending else { return self.reread(event, now) };
        match event {
            // Perhaps the close that is waited for.
            Event::Other(path, Change::Closed) => pending.file_event(path, Change::Closed, now),
            Event::Due { quiet_for } if pending.is_settled(*quiet_for, now) => return Decision::Load,
            Event::Read { current: false, .. } | Event::Watched { current: false, .. } => {
                pending.retry(now);
                return Decision::Retry;
            }
            Event::Read { quiet_for, losses, .. } if pending.believes(*quiet_for, losses, now) => {
                return Decision::Watch;
            }
            Event::Watched { failed, .. } => {
                let Pending { since, reported, .. } = *pending;
                self.pending = None;
                self.read(*failed, now);
                return Decision::Publish { since, reported };
            }
            _ => {}
        }
        Decision::Wait
    }

    /// Makes it pending; each sign of a change delays the load.
    fn mark(&mut self, now: Instant) -> &mut Pending {
        let pending = self.pending.get_or_insert_with(|| Pending::new(now));
        pending.delay(now);
        pending
    }

    fn reread(&mut self, event: &Event<'_>, now: Instant) -> Decision {
        let (Some(reread), Event::Due { .. }) = (&mut self.reread, event) else { return Decision::Wait };
        *reread = reread.next(now);
        Decision::Look
    }

    /// A load has counted, in which something failed or not.
    fn read(&mut self, failed: bool, now: Instant) {
        let first = Reread { due: now + FIRST_REREAD, delay: FIRST_REREAD };
        self.reread = failed.then(|| self.reread.as_ref().map_or(first, |reread| reread.next(now)));
    }
}

/// When what could not be read is tried again.
#[derive(Debug, Clone)]
struct Reread {
    due: Instant,
    delay: Duration,
}

impl Reread {
    fn next(&self, now: Instant) -> Self {
        let delay = (self.delay * 2).min(LONGEST_REREAD);
        Self { due: now + delay, delay }
    }
}

#[derive(Debug, Clone)]
struct Pending {
    /// The first sign of the change.
    since: Instant,
    /// An event was received, or it was asked for: not only the sweep found the change.
    reported: bool,
    due: Instant,
    retries: u32,
    /// What looks lost, and since when.
    lost: BTreeMap<PathBuf, Instant>,
    /// What has been written and not closed yet, and since when.
    open: BTreeMap<PathBuf, Instant>,
}

impl Pending {
    fn new(now: Instant) -> Self {
        Self { since: now, reported: false, due: now, retries: 0, lost: BTreeMap::new(), open: BTreeMap::new() }
    }

    fn delay(&mut self, now: Instant) {
        self.due = (now + PAUSE).min((self.since + LONGEST_DELAY).max(now));
    }

    /// Between its first write and its close a file is being saved.
    fn file_event(&mut self, path: &Path, change: Change, now: Instant) {
        match change {
            Change::Written => _ = self.open.entry(path.to_path_buf()).or_insert(now),
            Change::Closed | Change::Created | Change::Removed => {
                if self.open.remove(path).is_some() {
                    self.delay(now);
                }
            }
            Change::Metadata => {}
        }
    }

    /// Whether no file is being saved, and the newest has rested; if not, it is due when that will be.
    fn is_settled(&mut self, quiet_for: Option<Duration>, now: Instant) -> bool {
        let closed_by = self.open.values().map(|since| *since + LONGEST_SAVE).filter(|by| *by > now).max();
        if let Some(by) = closed_by {
            self.due = by;
            return false;
        }
        self.has_rest(quiet_for, now)
    }

    /// Whether what was read may be served; if not, it is due when that will be known.
    fn believes(&mut self, quiet_for: Option<Duration>, losses: &Losses<'_>, now: Instant) -> bool {
        if !self.has_rest(quiet_for, now) {
            return false;
        }
        let believed = match losses {
            Losses::Root => self.loss_believed(&[(Path::new("/"), Loss::Missing)], ROOT_LOSS_BELIEVED_AFTER, now),
            Losses::Files(files) => self.loss_believed(files, LOSS_BELIEVED_AFTER, now),
        };
        self.due = believed.unwrap_or(self.due);
        believed.is_none()
    }

    /// When everything that looks lost will have done so for long enough; absent: it has.
    fn loss_believed(&mut self, losses: &[(&Path, Loss)], after: Duration, now: Instant) -> Option<Instant> {
        self.lost.retain(|path, _| losses.iter().any(|(lost, _)| lost == path));
        for (path, loss) in losses {
            let since = self.lost.entry(path.to_path_buf()).or_insert(now);
            // The disk knows better since when a file is empty.
            if let Loss::Empty(age) = loss {
                *since = now.checked_sub(*age).unwrap_or(now);
            }
        }
        self.lost.values().map(|since| *since + after).filter(|by| *by > now).max()
    }

    fn has_rest(&mut self, quiet_for: Option<Duration>, now: Instant) -> bool {
        let waited = now.duration_since(self.since);
        let rest = RESTLESS.iter().find(|(after, _)| waited >= *after).map_or(REST, |(_, rest)| *rest);
        let has_rest = is_rested(quiet_for, rest);
        if !has_rest {
            self.due = now + rest.saturating_sub(quiet_for.unwrap_or_default());
        }
        has_rest
    }

    fn retry(&mut self, now: Instant) {
        self.retries += 1;
        self.due = now + (RETRY_STEP * self.retries).min(LONGEST_RETRY);
    }
}

fn is_rested(quiet_for: Option<Duration>, rest: Duration) -> bool {
    quiet_for.is_none_or(|quiet| quiet >= rest)
}

#[cfg(test)]
mod tests;
