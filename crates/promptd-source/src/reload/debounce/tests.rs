//! When a load begins, as tables of steps: no disk, no waiting.

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
    check(
        "new: at once",
        vec![(0, Event::Added, Wait(0)), (0, due(60), Load), (1, whole(), Watch), (2, WATCHED, Publish(0))],
    );
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
        vec![(0, Event::Marked, Wait(20)), (20, due(60), Load), (21, read(10, Losses::Files(Vec::new())), Wait(61))],
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
    let again = |first| {
        let load = [(25, due(60), Load), (25, whole(), Watch), (25, WATCHED, Publish(5))];
        [(0, Event::Added, Wait(0)), (5, first, Wait(25))].into_iter().chain(load).collect()
    };
    check("new files", again(started(true, Some(at(49)))));
    check("moved", again(started(false, None)));
}

#[test]
fn what_could_not_be_read_is_tried_again_ever_more_slowly_until_it_can_be() {
    let load = |time, last: Event<'static>, then| {
        vec![(time, Event::Marked, Wait(time + 20)), (time, due(60), Load), (time, whole(), Watch), (time, last, then)]
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
    check("failing at the start", vec![(0, Event::Added, Wait(0)), (0, start, Wait(100)), (100, due(0), Look(300))]);
}
