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
                    self.mark(now);
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
mod tests {
    use super::*;

    /// What follows a step, in milliseconds since the start: the decision, and when the target is due then.
    #[derive(Debug, PartialEq)]
    enum Then {
        Wait(u64),
        Load,
        Watch,
        Look(u64),
        Retry(u64),
        Publish(u64),
        /// The same for a change that only the sweep found.
        Hit(u64),
        /// Nothing is pending.
        Idle,
    }

    use Then::{Hit, Idle, Load, Look, Publish, Retry, Wait, Watch};

    const FILE: &str = "/ws/AGENTS.md";

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn input(change: Change) -> Event<'static> {
        Event::Input(Path::new(FILE), change)
    }

    fn other(change: Change) -> Event<'static> {
        Event::Other(Path::new(FILE), change)
    }

    /// Due, with the newest file so old.
    fn due(quiet: u64) -> Event<'static> {
        Event::Due { quiet_for: Some(at(quiet)) }
    }

    fn read(quiet: u64, losses: Losses<'static>) -> Event<'static> {
        Event::Read { current: true, quiet_for: Some(at(quiet)), losses }
    }

    fn whole() -> Event<'static> {
        read(60, Losses::Files(Vec::new()))
    }

    fn lost(loss: Loss) -> Event<'static> {
        read(60, Losses::Files(vec![(Path::new(FILE), loss)]))
    }

    const MOVED: Event<'static> = Event::Read { current: false, quiet_for: None, losses: Losses::Files(Vec::new()) };
    const WATCHED: Event<'static> = Event::Watched { current: true, failed: false };
    const FAILED: Event<'static> = Event::Watched { current: true, failed: true };

    /// Each step: its time, what happens, and what follows.
    fn check(name: &str, steps: Vec<(u64, Event<'static>, Then)>) {
        let start = Instant::now();
        let ms = |time: Instant| u64::try_from(time.duration_since(start).as_millis()).unwrap();
        let mut debounce = Debounce::default();
        for (i, (time, event, expected)) in steps.into_iter().enumerate() {
            let decision = debounce.apply(&event, start + at(time));
            let due = debounce.due().map(ms);
            let then = match (decision, due) {
                (Decision::Wait, None) => Idle,
                (Decision::Wait | Decision::Publish { .. }, Some(due)) => Wait(due),
                (Decision::Retry, Some(due)) => Retry(due),
                (Decision::Load, Some(_)) => Load,
                (Decision::Look, Some(due)) => Look(due),
                (Decision::Watch, Some(_)) => Watch,
                (Decision::Publish { since, reported: true }, None) => Publish(ms(since)),
                (Decision::Publish { since, reported: false }, None) => Hit(ms(since)),
                other => panic!("{name}, step {i}: {other:?}"),
            };
            assert_eq!(then, expected, "{name}, step {i}: {event:?}");
        }
    }

    #[test]
    fn a_load_waits_for_a_pause_of_events_and_for_rest() {
        check(
            "one event",
            vec![
                (0, input(Change::Closed), Wait(20)),
                (20, due(20), Wait(50)),
                (50, due(50), Load),
                (51, whole(), Watch),
                (52, WATCHED, Publish(0)),
                (53, WATCHED, Idle),
            ],
        );
        check(
            "events that go on",
            vec![
                (0, Event::Marked, Wait(20)),
                (15, input(Change::Metadata), Wait(35)),
                (490, Event::Marked, Wait(500)),
                (600, Event::Marked, Wait(600)),
            ],
        );
        check("nothing loose to rest", vec![(0, Event::Marked, Wait(20)), (20, Event::Due { quiet_for: None }, Load)]);
        check("new: at once", vec![(0, Event::Added, Wait(0)), (0, due(60), Load)]);
        check("idle", vec![(0, due(60), Idle), (1, whole(), Idle), (2, other(Change::Closed), Idle)]);
    }

    #[test]
    fn a_change_that_only_the_sweep_found_is_a_hit() {
        let ends = |then: Then, events: Vec<Event<'static>>| {
            let mut steps = vec![(0, Event::Found, Wait(20))];
            steps.extend(events.into_iter().map(|event| (1, event, Wait(21))));
            steps.extend([(50, due(60), Load), (50, whole(), Watch), (50, WATCHED, then)]);
            check("found", steps);
        };
        ends(Hit(0), vec![]);
        ends(Publish(0), vec![input(Change::Closed)]);
        ends(Publish(0), vec![Event::Marked]);
    }

    #[test]
    fn a_file_that_is_open_for_writing_is_waited_for() {
        check(
            "closed in time",
            vec![
                (0, input(Change::Written), Wait(20)),
                (20, due(90), Wait(1_000)),
                (200, input(Change::Closed), Wait(220)),
                (220, due(60), Load),
            ],
        );
        check(
            "closed as another file's event",
            vec![
                (0, input(Change::Written), Wait(20)),
                (20, due(90), Wait(1_000)),
                (200, other(Change::Closed), Wait(220)),
            ],
        );
        check(
            "written elsewhere: not waited for",
            vec![(0, Event::Marked, Wait(20)), (10, other(Change::Written), Wait(20)), (20, due(60), Load)],
        );
        check(
            "never closed",
            vec![(0, input(Change::Written), Wait(20)), (20, due(90), Wait(1_000)), (1_000, due(60), Load)],
        );
        check(
            "renamed away",
            vec![(0, input(Change::Written), Wait(20)), (10, input(Change::Removed), Wait(30)), (30, due(60), Load)],
        );
    }

    #[test]
    fn files_that_never_rest_are_believed_with_less() {
        let restless = |waited: u64, quiet: u64, then: Then| {
            check("restless", vec![(0, Event::Marked, Wait(20)), (waited, due(quiet), then)]);
        };
        restless(4_999, 49, Wait(5_000));
        restless(4_999, 50, Load);
        restless(5_000, 9, Wait(5_001));
        restless(5_000, 10, Load);
        restless(20_000, 0, Load);
        check(
            "read in the middle",
            vec![
                (0, Event::Marked, Wait(20)),
                (20, due(60), Load),
                (21, read(10, Losses::Files(Vec::new())), Wait(61)),
            ],
        );
    }

    #[test]
    fn what_moved_is_loaded_again_ever_more_slowly() {
        let mut steps = vec![(0, Event::Marked, Wait(20))];
        for (time, next) in [(20, 25), (25, 35), (35, 50)] {
            steps.push((time, due(60), Load));
            steps.push((time, MOVED, Retry(next)));
        }
        steps.push((50, due(60), Load));
        steps.push((50, whole(), Watch));
        steps.push((50, Event::Watched { current: false, failed: false }, Retry(70)));
        check("moved", steps);
        let mut steps = vec![(0, Event::Marked, Wait(20))];
        for n in 1..=100_u64 {
            steps.push((1_000, MOVED, Retry(1_000 + (n * 5).min(500))));
        }
        check("moved for long", steps);
    }

    #[test]
    fn a_lost_file_is_believed_after_a_second() {
        check(
            "missing",
            vec![
                (0, Event::Marked, Wait(20)),
                (20, lost(Loss::Missing), Wait(1_020)),
                (500, lost(Loss::Missing), Wait(1_020)),
                (1_020, lost(Loss::Missing), Watch),
            ],
        );
        check(
            "missing, back, missing",
            vec![
                (0, Event::Marked, Wait(20)),
                (20, lost(Loss::Missing), Wait(1_020)),
                (600, whole(), Watch),
                (600, Event::Watched { current: false, failed: false }, Retry(605)),
                (700, lost(Loss::Missing), Wait(1_700)),
            ],
        );
        check(
            "empty for a while already",
            vec![
                (1_000, Event::Marked, Wait(1_020)),
                (1_020, lost(Loss::Empty(at(400))), Wait(1_620)),
                (1_620, lost(Loss::Empty(at(1_000))), Watch),
            ],
        );
        check(
            "the whole folder",
            vec![
                (0, Event::Marked, Wait(20)),
                (20, read(60, Losses::Root), Wait(270)),
                (270, read(60, Losses::Root), Watch),
            ],
        );
    }

    #[test]
    fn the_start_waits_for_nothing_and_looks_again_at_what_was_new() {
        let started = |current, quiet| Event::Started { current, failed: false, quiet_for: quiet };
        check("old files", vec![(0, Event::Added, Wait(0)), (5, started(true, Some(at(50))), Publish(5))]);
        check("no files", vec![(0, Event::Added, Wait(0)), (5, started(true, None), Publish(5))]);
        check("new files", vec![(0, Event::Added, Wait(0)), (5, started(true, Some(at(49))), Wait(25))]);
        check("moved", vec![(0, Event::Added, Wait(0)), (5, started(false, None), Wait(25))]);
    }

    #[test]
    fn what_could_not_be_read_is_tried_again_ever_more_slowly_until_it_can_be() {
        let load = |time, last: Event<'static>, then| {
            vec![
                (time, Event::Marked, Wait(time + 20)),
                (time, due(60), Load),
                (time, whole(), Watch),
                (time, last, then),
            ]
        };
        let mut steps = load(0, FAILED, Wait(100));
        let mut delay = 100;
        let mut time = 100;
        for _ in 0..9 {
            delay = (delay * 2).min(5_000);
            steps.push((time, due(60), Look(time + delay)));
            time += delay;
        }
        assert_eq!(delay, 5_000);
        // Another load that fails goes on as slowly; one that does not ends it, and the next failure begins again.
        steps.extend(load(time, FAILED, Wait(time + 5_000)));
        steps.extend(load(time, WATCHED, Publish(time)));
        steps.extend(load(time, FAILED, Wait(time + 100)));
        check("failing", steps);
        check(
            "healed",
            [load(0, FAILED, Wait(100)), vec![(100, due(60), Look(300)), (101, Event::Healed, Idle)]]
                .into_iter()
                .flatten()
                .collect(),
        );
        let start = Event::Started { current: true, failed: true, quiet_for: None };
        check(
            "failing at the start",
            vec![(0, Event::Added, Wait(0)), (0, start, Wait(100)), (100, due(0), Look(300))],
        );
    }
}
