//! What every store must do with sessions.

use promptd_core::turn::{ConversationMessage, Role};

use super::{all, append, id, ids, key, said, user, users};
use crate::{MAX_TRUNCATED, PageOfMessages, PageOfSessions, Recall, SessionKey, Store, StoreError};

pub(super) fn lists_of_sessions(store: &dyn Store) {
    for session in ["a", "b", "c", "d"] {
        append(store, session, users(0..1));
    }
    append(store, "b", users(1..2));
    let list = |after, limit| store.sessions(&id("w"), PageOfSessions { after, limit }).wait().unwrap();
    let all = list(None, 10);
    assert_eq!(all.len(), 4);
    assert!(all.is_sorted_by_key(|session| std::cmp::Reverse((session.changed, session.id.clone()))));
    let (mut walked, mut after) = (Vec::new(), None);
    while let [session] = &list(after, 1)[..] {
        after = Some((session.changed.as_milliseconds(), session.id.clone()));
        walked.push(session.clone());
    }
    assert_eq!(walked, all);
}

pub(super) fn positions(store: &dyn Store) {
    append(store, "s", users(0..10));
    let at = |position| {
        let page = PageOfMessages { from: 0, at: Some(position), limit: 1_000, max_bytes: 1 << 20 };
        let page = store.messages(&key("s"), page).wait();
        page.map(|page| page.messages.into_iter().map(|stored| stored.message.id).collect::<Vec<_>>())
    };
    let before: Vec<_> = (0..=7).map(at).collect();
    store.truncate(&key("s"), 7, None).wait().unwrap();
    append(store, "s", vec![user("x"), user("y")]);
    // What the session had at 8 to 10 is gone, and no later state has the same number.
    assert_eq!((0..=7).map(at).collect::<Vec<_>>(), before);
    assert!((8..=10).all(|position| at(position) == Err(StoreError::NoPosition(position))));
    assert_eq!(at(11).unwrap().last().unwrap(), "m6");
    assert_eq!(at(12).unwrap().last().unwrap(), "x");
    assert_eq!(at(13).unwrap().last().unwrap(), "y");
    assert_eq!(at(14), Err(StoreError::NoPosition(14)));
    assert_eq!(store.append(&key("s"), vec![user("z")], Some(10)).wait(), Err(StoreError::Moved(13)));
}

pub(super) fn forks(store: &dyn Store) {
    append(store, "s", users(0..500));
    append(store, "s", vec![said(Role::Assistant, "a", "answer")]);
    let whole = store.fork(&key("s"), None, &id("whole")).wait().unwrap();
    let original = store.session(&key("s")).wait().unwrap();
    assert_eq!((whole.position, whole.messages, whole.bytes), (501, [0, 500, 1, 0], original.bytes));
    assert_eq!(all(store, &key("whole")), all(store, &key("s")));
    let part = store.fork(&key("s"), Some(250), &id("part")).wait().unwrap();
    assert_eq!((part.position, part.message_count()), (250, 250));
    // What happens to one does not happen to the other.
    append(store, "part", vec![user("other")]);
    store.delete(&key("s")).wait().unwrap();
    assert_eq!(all(store, &key("part")).len(), 251);
    assert_eq!(all(store, &key("whole")).len(), 501);
    let empty = store.fork(&key("part"), Some(0), &id("empty")).wait().unwrap();
    assert_eq!((empty.position, empty.message_count()), (0, 0));
    for (from, position, to, error) in [
        ("none", None, "new", StoreError::NoSession),
        ("part", Some(252), "new", StoreError::NoPosition(252)),
        ("part", None, "whole", StoreError::Exists),
        ("part", None, "part", StoreError::Exists),
    ] {
        assert_eq!(store.fork(&key(from), position, &id(to)).wait(), Err(error));
    }
    assert_eq!(store.session(&key("new")).wait(), Err(StoreError::NoSession));
}

pub(super) fn truncations(store: &dyn Store) {
    let messages = vec![user("m0"), said(Role::Assistant, "m1", "walrus"), said(Role::Tool, "m2", "walrus")];
    let messages = messages.into_iter().map(|m| ConversationMessage { tool_call_id: "c".into(), ..m }).collect();
    append(store, "s", messages);
    let truncate = |position, expected| store.truncate(&key("s"), position, expected).wait();
    assert_eq!(truncate(1, Some(2)), Err(StoreError::Moved(3)));
    assert_eq!(truncate(4, None), Err(StoreError::NoPosition(4)));
    let session = truncate(1, Some(3)).unwrap();
    assert_eq!((session.position, session.messages, session.bytes), (4, [0, 1, 0, 0], 10));
    assert_eq!(ids(store, "s"), ["m0"]);
    let recall = Recall { query: "walrus".into(), limit: 10, max_bytes: 1 << 20, ..Recall::default() };
    assert!(store.recall(&id("w"), recall).wait().unwrap().is_empty());
    // Again, since its answer was lost.
    assert_eq!(truncate(1, Some(3)).unwrap(), session);
    // The message that was removed can be said differently.
    append(store, "s", vec![said(Role::Assistant, "m1", "seal")]);
    assert_eq!(ids(store, "s"), ["m0", "m1"]);
    for start in (0..=MAX_TRUNCATED).step_by(500) {
        append(store, "long", users(start..(start + 500).min(MAX_TRUNCATED + 1)));
    }
    let all = store.truncate(&key("long"), 0, None).wait();
    assert_eq!(all, Err(StoreError::RemovesTooMany(MAX_TRUNCATED + 1)));
    assert_eq!(store.truncate(&key("long"), 1, None).wait().unwrap().message_count(), 1);
    assert_eq!(store.truncate(&key("none"), 0, None).wait(), Err(StoreError::NoSession));
}

pub(super) fn removals(store: &dyn Store) {
    append(store, "s", users(0..700));
    append(store, "t", users(0..1));
    assert_eq!(store.delete(&key("s")).wait().unwrap(), 700);
    assert_eq!(store.session(&key("s")).wait(), Err(StoreError::NoSession));
    assert_eq!(store.delete(&key("s")).wait(), Err(StoreError::NoSession));
    let recall = Recall { query: "m500".into(), limit: 10, max_bytes: 1 << 20, ..Recall::default() };
    assert!(store.recall(&id("w"), recall).wait().unwrap().is_empty());
    assert_eq!(append(store, "s", users(0..1)).session.position, 1);
    assert_eq!(ids(store, "t"), ["m0"]);
}

pub(super) fn workspaces(store: &dyn Store) {
    append(store, "s", vec![user("ours")]);
    let theirs = SessionKey { workspace: id("v"), session: id("s") };
    store.append(&theirs, vec![user("theirs")], None).wait().unwrap();
    assert_eq!(ids(store, "s"), ["ours"]);
    let recall = || Recall { query: "text".into(), limit: 10, max_bytes: 1 << 20, ..Recall::default() };
    let found = store.recall(&id("w"), recall()).wait().unwrap();
    assert_eq!(found.iter().map(|found| &*found.message.message.id).collect::<Vec<_>>(), ["ours"]);
    assert_eq!(store.stats(&id("w")).wait().unwrap().messages, 1);
    assert_eq!(store.sessions(&id("v"), PageOfSessions { after: None, limit: 9 }).wait().unwrap().len(), 1);
    store.delete(&theirs).wait().unwrap();
    assert_eq!(ids(store, "s"), ["ours"]);
    assert_eq!(store.stats(&id("nobody")).wait().unwrap(), crate::Stats::default());
}

pub(super) fn stats(store: &dyn Store) {
    assert_eq!(store.stats(&id("w")).wait().unwrap(), crate::Stats::default());
    append(store, "s", users(0..2));
    append(store, "t", users(0..3));
    let stats = store.stats(&id("w")).wait().unwrap();
    assert_eq!((stats.sessions, stats.messages, stats.bytes), (2, 5, 50));
    assert!(stats.first.unwrap() <= stats.last.unwrap());
    store.delete(&key("t")).wait().unwrap();
    assert_eq!(store.stats(&id("w")).wait().unwrap().messages, 2);
}

pub(super) fn watches(store: &dyn Store) {
    let mut watch = store.watch(&key("s"));
    let mut other = store.watch(&key("t"));
    let mut changed = || has_changed(&mut watch);
    append(store, "s", users(0..3));
    assert!(changed());
    append(store, "s", users(0..3));
    assert!(!changed(), "nothing was stored");
    store.truncate(&key("s"), 1, None).wait().unwrap();
    assert!(changed());
    store.fork(&key("s"), None, &id("t")).wait().unwrap();
    assert!(has_changed(&mut other));
    store.delete(&key("s")).wait().unwrap();
    assert!(changed());
}

fn has_changed(watch: &mut tokio::sync::watch::Receiver<()>) -> bool {
    let changed = watch.has_changed().unwrap();
    watch.mark_unchanged();
    changed
}
