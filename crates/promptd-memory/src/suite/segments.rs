//! What every store must do with the trees of summaries.

use std::time::Duration;

use promptd_core::turn::{ConversationMessage, Role};

use super::{all, append, id, key, said, users};
use crate::{
    Job, NewSegment, Outcome, PageOfSegments, SegmentState, Source, Store, StoreError, StoredSegment, Unplanned, Window,
};

/// A segment of ten messages for each ten that are in none.
fn tens(unplanned: &Unplanned) -> Vec<NewSegment> {
    let tens = unplanned.messages.chunks_exact(10).map(|ten| NewSegment {
        level: 0,
        messages: ten[0].index..ten[9].index + 1,
        start_time: None,
        end_time: None,
        tokens: 100,
        target_tokens: 20,
        children: Vec::new(),
    });
    tens.collect()
}

fn plan(store: &dyn Store, session: &str) {
    let unplanned = store.unplanned(&key(session), 1_000).wait().unwrap();
    let planned = unplanned.planned(tens(&unplanned), true);
    store.add_segments(&key(session), planned).wait().unwrap();
}

/// Rolls all summarised segments of level 0 without a parent up into one.
fn roll_up(store: &dyn Store, session: &str) {
    let unplanned = store.unplanned(&key(session), 1_000).wait().unwrap();
    let roots: Vec<_> = unplanned.roots.iter().filter(|root| root.level == 0).collect();
    let segment = NewSegment {
        level: 1,
        messages: roots[0].messages.start..roots[roots.len() - 1].messages.end,
        start_time: None,
        end_time: None,
        tokens: 100,
        target_tokens: 20,
        children: roots.iter().map(|root| root.id).collect(),
    };
    store.add_segments(&key(session), unplanned.planned(vec![segment], true)).wait().unwrap();
}

fn jobs(store: &dyn Store) -> Vec<Job> {
    store.jobs(100).wait().unwrap().jobs
}

/// Makes every summary that waits: the text, and the number of the first message.
fn say(store: &dyn Store, text: &str) {
    for job in jobs(store) {
        let summary = Outcome::Summary(format!("{text} {}", job.messages.start), 5);
        assert!(store.finish(&job, summary).wait().unwrap());
    }
}

/// Plans a session in tens, and says that each is `text`.
pub(crate) fn summarise(store: &dyn Store, session: &str, text: &str) {
    plan(store, session);
    say(store, text);
}

fn list(store: &dyn Store, session: &str) -> Vec<StoredSegment> {
    let page = PageOfSegments { after: None, limit: 1_000, max_bytes: 1 << 20 };
    store.segments(&key(session), page).wait().unwrap().segments
}

fn shape(store: &dyn Store, session: &str) -> Vec<(u32, u64, u64)> {
    let segments = list(store, session).into_iter();
    segments.map(|segment| (segment.level, segment.messages.start, segment.messages.end)).collect()
}

fn window(store: &dyn Store, session: &str, position: Option<u64>) -> Window {
    let tail = |_: &ConversationMessage, is_reached: bool| !is_reached;
    store.window(&key(session), position, 1_000, Box::new(tail)).wait().unwrap()
}

/// The summaries at a position, each with its parent's.
fn shown(store: &dyn Store, session: &str, position: Option<u64>) -> Vec<(String, Option<String>)> {
    let segments = window(store, session, position).segments;
    let text = |id: &str| segments.iter().find(|segment| segment.id == id).map(|segment| segment.summary.clone());
    segments.iter().map(|segment| (segment.summary.clone(), text(&segment.parent_id))).collect()
}

pub(super) fn planned(store: &dyn Store) {
    assert!(store.due(10).wait().unwrap().is_empty());
    append(store, "s", users(0..25));
    append(store, "t", users(0..3));
    let mut due = store.due(10).wait().unwrap();
    due.sort();
    assert_eq!(due, [key("s"), key("t")]);
    let part = store.unplanned(&key("s"), 12).wait().unwrap();
    assert_eq!((part.first_index, part.messages.len(), part.is_all), (0, 12, false));
    let stale = part.planned(tens(&part), true);
    plan(store, "s");
    assert_eq!(shape(store, "s"), [(0, 0, 10), (0, 10, 20)]);
    assert_eq!(store.due(10).wait().unwrap(), [key("t")]);
    // Again, since its answer was lost.
    assert_eq!(store.add_segments(&key("s"), stale).wait(), Err(StoreError::NoSession));
    append(store, "s", users(25..31));
    let rest = store.unplanned(&key("s"), 1_000).wait().unwrap();
    assert_eq!((rest.first_index, rest.messages[0].index, rest.messages.len(), rest.is_all), (20, 20, 11, true));
    // Something happened while it was planned.
    append(store, "s", users(31..32));
    store.add_segments(&key("s"), rest.planned(tens(&rest), true)).wait().unwrap();
    assert!(store.due(10).wait().unwrap().contains(&key("s")));
    let page = |after, limit| {
        let page = store.segments(&key("s"), PageOfSegments { after, limit, max_bytes: 1 << 20 }).wait().unwrap();
        (page.segments.iter().map(|segment| segment.messages.start).collect::<Vec<_>>(), page.is_last)
    };
    assert_eq!((page(None, 2), page(Some((0, 10)), 2)), ((vec![0, 10], false), (vec![20], true)));
    assert_eq!(
        store.segments(&key("u"), PageOfSegments { after: None, limit: 1, max_bytes: 1 }).wait(),
        Err(StoreError::NoSession)
    );
}

pub(super) fn summaries(store: &dyn Store) {
    append(store, "s", users(0..40));
    plan(store, "s");
    let waiting = jobs(store);
    assert_eq!(waiting.iter().map(|job| job.messages.start).collect::<Vec<_>>(), [0, 10, 20, 30]);
    let Source::Messages(messages) = store.source(&waiting[1], 1 << 20).wait().unwrap() else { panic!("of messages") };
    assert_eq!(messages, all(store, &key("s"))[10..20]);
    let Source::Messages(few) = store.source(&waiting[1], 35).wait().unwrap() else { panic!("of messages") };
    assert_eq!(few.len(), 2);
    assert!(store.unplanned(&key("s"), 10).wait().unwrap().roots.is_empty(), "none has a summary");
    say(store, "sum");
    for job in &waiting {
        assert!(!store.finish(job, Outcome::Summary("another".into(), 1)).wait().unwrap(), "it is there");
    }
    assert!(jobs(store).is_empty());
    assert_eq!(store.due(10).wait().unwrap(), [key("s")], "they can be rolled up");
    roll_up(store, "s");
    let rollup = jobs(store);
    let Source::Segments(children) = store.source(&rollup[0], 1 << 20).wait().unwrap() else { panic!("of segments") };
    assert_eq!(
        children.iter().map(|child| &*child.summary).collect::<Vec<_>>(),
        ["sum 0", "sum 10", "sum 20", "sum 30"]
    );
    say(store, "all");
    let listed = list(store, "s");
    assert_eq!(listed.len(), 5);
    assert!(listed[..4].iter().all(|segment| segment.parent == Some(listed[4].id)));
    assert_eq!((listed[4].level, &*listed[4].summary, listed[4].summary_tokens), (1, "all 0", 5));
    assert_eq!(store.stats(&id("w")).wait().unwrap().segments, [0, 5, 0]);
}

pub(super) fn failures(store: &dyn Store) {
    append(store, "s", users(0..20));
    plan(store, "s");
    let [first, second] = &jobs(store)[..] else { panic!("two") };
    let later = Outcome::Later { wait: Duration::from_secs(3_600), fault: "it answers 500".into(), counts: true };
    assert!(store.finish(first, later).wait().unwrap());
    let left = store.jobs(10).wait().unwrap();
    assert_eq!(left.jobs, std::slice::from_ref(second));
    assert!(left.next.is_some_and(|next| next > Duration::from_secs(3_590)));
    assert!(store.finish(second, Outcome::SetAside("it answers 400".into())).wait().unwrap());
    assert!(!store.finish(second, Outcome::Summary("late".into(), 1)).wait().unwrap());
    let listed = list(store, "s");
    let states: Vec<_> = listed.iter().map(|segment| (segment.state, &*segment.fault)).collect();
    assert_eq!(states, [(SegmentState::Waiting, "it answers 500"), (SegmentState::SetAside, "it answers 400")]);
    assert_eq!(store.stats(&id("w")).wait().unwrap().segments, [1, 0, 1]);
    assert!(shown(store, "s", None).is_empty());
}

pub(super) fn positions(store: &dyn Store) {
    append(store, "s", users(0..30));
    summarise(store, "s", "sum");
    // What was made at a position is seen from the next one on.
    assert!(shown(store, "s", None).is_empty());
    append(store, "s", users(30..31));
    let leaves: Vec<_> = ["sum 0", "sum 10", "sum 20"].map(|text| (text.to_owned(), None)).into();
    assert_eq!(shown(store, "s", None), leaves);
    roll_up(store, "s");
    say(store, "all");
    assert_eq!(shown(store, "s", None), leaves);
    append(store, "s", users(31..32));
    let parent = Some("all 0".to_owned());
    let tree = [("sum 0", parent.clone()), ("sum 10", parent.clone()), ("sum 20", parent), ("all 0", None)];
    assert_eq!(shown(store, "s", None), tree.map(|(text, parent)| (text.to_owned(), parent)));
    for (position, expected) in [(30, &[][..]), (31, &leaves)] {
        assert_eq!(shown(store, "s", Some(position)), expected, "{position}");
    }
    // All that no summary has yet is read.
    let window = window(store, "s", None);
    assert_eq!((window.first_index, window.messages.len()), (30, 2));
}

pub(super) fn removals(store: &dyn Store) {
    append(store, "s", users(0..30));
    summarise(store, "s", "sum");
    roll_up(store, "s");
    say(store, "all");
    let unplanned = store.unplanned(&key("s"), 10).wait().unwrap();
    append(store, "s", users(30..40));
    plan(store, "s");
    let gone = jobs(store);
    store.truncate(&key("s"), 25, None).wait().unwrap();
    assert_eq!(shape(store, "s"), [(0, 0, 10), (0, 10, 20)]);
    assert!(list(store, "s").iter().all(|segment| segment.parent.is_none()));
    assert!(!store.finish(&gone[0], Outcome::Summary("late".into(), 1)).wait().unwrap());
    assert_eq!(store.source(&gone[0], 1).wait(), Err(StoreError::NoSession));
    // A plan of what was removed changes nothing.
    let children = unplanned.roots.iter().map(|root| root.id).collect();
    let stale = NewSegment {
        level: 2,
        messages: 0..30,
        start_time: None,
        end_time: None,
        tokens: 1,
        target_tokens: 1,
        children,
    };
    let stale = unplanned.planned(vec![stale], true);
    assert_eq!(store.add_segments(&key("s"), stale).wait(), Err(StoreError::NoSession));
    assert_eq!(shape(store, "s").len(), 2);
    append(store, "s", vec![said(Role::User, "new", "other words")]);
    assert_eq!(shown(store, "s", None).len(), 2);
    plan(store, "s");
    store.delete(&key("s")).wait().unwrap();
    append(store, "s", users(0..3));
    assert!(list(store, "s").is_empty() && jobs(store).is_empty());
}

pub(super) fn forks(store: &dyn Store) {
    append(store, "s", users(0..30));
    summarise(store, "s", "sum");
    append(store, "s", users(30..31));
    roll_up(store, "s");
    say(store, "all");
    append(store, "s", users(31..40));
    store.fork(&key("s"), None, &id("whole")).wait().unwrap();
    assert_eq!(shape(store, "whole"), shape(store, "s"));
    assert_eq!(shown(store, "whole", None), shown(store, "s", None));
    assert_eq!(shown(store, "whole", Some(31)), shown(store, "s", Some(31)));
    store.fork(&key("s"), Some(25), &id("part")).wait().unwrap();
    assert_eq!(shape(store, "part"), [(0, 0, 10), (0, 10, 20)]);
    assert!(list(store, "part").iter().all(|segment| segment.parent.is_none()));
    assert_eq!(shown(store, "part", None), shown(store, "s", Some(25)));
    // Neither is the other's.
    store.delete(&key("s")).wait().unwrap();
    assert_eq!(shape(store, "whole").len(), 4);
}
