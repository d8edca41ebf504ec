//! What every store must do with the summaries of notes.

use super::{append, id, key, user};
use crate::{MAX_NOTES_SUMMARIES, NotesSummary, SessionKey, Store};

/// A summary that says `text`.
pub(crate) fn summary(text: &str) -> NotesSummary {
    NotesSummary {
        first: "notes/2026-03-01.md".into(),
        last: "notes/2026-03-05.md".into(),
        source: format!("source of {text}"),
        text: text.into(),
        tokens: 9,
    }
}

fn add(store: &dyn Store, text: &str) -> bool {
    store.add_notes_summary(&id("w"), summary(text)).wait().unwrap()
}

fn list(store: &dyn Store) -> Vec<String> {
    let found = store.notes_summaries(&id("w"), 100).wait().unwrap();
    assert!(found.is_sorted_by_key(|stored| std::cmp::Reverse(stored.made)));
    found.into_iter().map(|stored| stored.summary.text).collect()
}

fn at(store: &dyn Store, session: &str, position: u64) -> Option<String> {
    store.notes_summary_at(&key(session), position).wait().unwrap().map(|stored| stored.summary.text)
}

/// Appends messages until the newest summary is seen; gives the position.
fn see(store: &dyn Store, session: &str, text: &str) -> u64 {
    loop {
        let position = store.session(&key(session)).wait().map_or(0, |session| session.position);
        append(store, session, vec![user(&format!("m{position}"))]);
        if at(store, session, position + 1).as_deref() == Some(text) {
            return position + 1;
        }
    }
}

pub(super) fn summaries(store: &dyn Store) {
    assert!(!add(store, "nobody's"), "there is no session");
    append(store, "s", vec![user("first")]);
    assert!(add(store, "one"));
    let stored = store.notes_summaries(&id("w"), 100).wait().unwrap();
    assert_eq!(stored[0].summary, summary("one"));
    assert_eq!(store.notes_summaries(&id("v"), 100).wait().unwrap(), []);
    // Of another workspace, with a session of the same name.
    let theirs = SessionKey { workspace: id("v"), session: id("s") };
    store.append(&theirs, vec![user("theirs")], None).wait().unwrap();
    assert_eq!(store.notes_summary_at(&theirs, 1).wait().unwrap(), None);
    for number in 0..MAX_NOTES_SUMMARIES {
        add(store, &format!("{number}"));
    }
    let kept: Vec<_> = (0..MAX_NOTES_SUMMARIES).rev().map(|number| number.to_string()).collect();
    assert_eq!(list(store), kept);
    assert_eq!(store.notes_summaries(&id("w"), 1).wait().unwrap().len(), 1);
}

pub(super) fn positions(store: &dyn Store) {
    append(store, "s", vec![user("first")]);
    add(store, "one");
    assert_eq!((at(store, "s", 0), at(store, "s", 1)), (None, None), "it was not there then");
    let one = see(store, "s", "one");
    add(store, "two");
    assert_eq!(at(store, "s", one).as_deref(), Some("one"));
    let two = see(store, "s", "two");
    store.fork(&key("s"), None, &id("copy")).wait().unwrap();
    for session in ["s", "copy"] {
        let seen = [1, one, two].map(|position| at(store, session, position));
        assert_eq!(seen, [None, Some("one".into()), Some("two".into())], "{session}");
    }
}

pub(super) fn removals(store: &dyn Store) {
    append(store, "s", vec![user("first")]);
    append(store, "t", vec![user("first")]);
    add(store, "one");
    store.delete(&key("s")).wait().unwrap();
    assert_eq!(list(store), ["one"], "there is a session still");
    store.delete(&key("t")).wait().unwrap();
    assert_eq!(list(store), [""; 0]);
    append(store, "s", vec![user("first")]);
    assert_eq!(at(store, "s", 1), None);
}
