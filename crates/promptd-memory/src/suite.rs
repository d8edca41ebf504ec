//! What every store must do, as tests that take the store: [`TESTS`], each for a store of its own that is empty.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

pub(crate) mod notes;
pub(crate) mod segments;
pub(crate) mod vectors;

use promptd_core::{
    id::Id,
    time::Moment,
    turn::{ConversationMessage, Role, ToolCall},
};

use crate::{
    Appended, MAX_TRUNCATED, PageOfMessages, PageOfSessions, Recall, Refused, SessionKey, Store, StoreError,
    StoredMessage,
};

/// A test, with its name.
pub type Test = (&'static str, fn(&dyn Store));

/// All of them.
pub const TESTS: &[Test] = &[
    ("messages come back as they were appended", messages_come_back),
    ("a message that is sent again is stored once", repeated_messages),
    ("what cannot be appended changes nothing", refused_appends),
    ("two writers that expect a position do not mix", expected_positions),
    ("concurrent writers lose and double nothing", concurrent_writers),
    ("pages have every message once, within their bounds", pages_of_messages),
    ("sessions are listed by their last change", lists_of_sessions),
    ("a window has the newest messages alone", windows),
    ("a position names one state for good", positions),
    ("a fork has what its session had", forks),
    ("a truncation removes the end, for the search too", truncations),
    ("a removed session is gone, and its name is free", removals),
    ("workspaces do not see each other", workspaces),
    ("recall finds words, the best first, within its bounds", recalls),
    ("how well a message matches its workspace alone decides", vectors::own_workspace),
    ("stats count what a workspace has", stats),
    ("watchers hear of every change", watches),
    ("segments are planned once, in order", segments::planned),
    ("a summary is stored once, whoever brings it", segments::summaries),
    ("a job that fails is tried again, or set aside", segments::failures),
    ("a position names one tree for good", segments::positions),
    ("what is removed takes its segments with it", segments::removals),
    ("a fork has the tree of its messages", segments::forks),
    ("each message gets one vector, of the model in use", vectors::one_each),
    ("recall finds the nearest, beside those with the words", vectors::nearest),
    ("a position names the vectors that there were", vectors::positions),
    ("what is removed takes its vectors with it, and a fork has its own", vectors::removals),
    ("the last summaries of notes are kept, of each workspace apart", notes::summaries),
    ("a position names one summary of notes", notes::positions),
    ("summaries of notes go with the last session", notes::removals),
];

/// An id.
#[must_use]
pub fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

/// A session of the workspace `w`.
#[must_use]
pub fn key(session: &str) -> SessionKey {
    SessionKey { workspace: id("w"), session: id(session) }
}

/// A message that says `content`; its id is `message`.
#[must_use]
pub fn said(role: Role, message: &str, content: &str) -> ConversationMessage {
    ConversationMessage { id: message.into(), ..ConversationMessage::new(role, content) }
}

fn user(message: &str) -> ConversationMessage {
    said(Role::User, message, &format!("text of {message}"))
}

fn users(range: std::ops::Range<u64>) -> Vec<ConversationMessage> {
    range.map(|number| user(&format!("m{number}"))).collect()
}

fn append(store: &dyn Store, session: &str, messages: Vec<ConversationMessage>) -> Appended {
    store.append(&key(session), messages, None).wait().unwrap()
}

/// Every message of a session.
pub fn all(store: &dyn Store, session: &SessionKey) -> Vec<StoredMessage> {
    let (mut all, mut from) = (Vec::new(), Some(0));
    while let Some(next) = from {
        let page = PageOfMessages { from: next, at: None, limit: 1_000, max_bytes: 1 << 20 };
        let page = store.messages(session, page).wait().unwrap();
        all.extend(page.messages);
        from = page.next;
    }
    all
}

fn ids(store: &dyn Store, session: &str) -> Vec<String> {
    all(store, &key(session)).into_iter().map(|stored| stored.message.id).collect()
}

fn messages_come_back(store: &dyn Store) {
    let call =
        |id: &str| ToolCall { id: id.into(), name: "look".into(), arguments_json: "{\"a\": \"\\u0000\"}".into() };
    let messages = vec![
        said(Role::System, "0", ""),
        ConversationMessage {
            name: "Ada \u{1f6a2}".into(),
            time: Some(Moment::new(-62_135_596_800, 999_999_999).unwrap()),
            ..said(Role::User, "é\n1", "a\0b 'quoted' \"text\"; DROP TABLE messages")
        },
        ConversationMessage { tool_calls: vec![call("c0"), call("c1")], ..said(Role::Assistant, "2", "") },
        ConversationMessage { tool_call_id: "c0".into(), name: "look".into(), ..said(Role::Tool, "3", "found") },
        said(Role::User, "4", &"x".repeat(300_000)),
    ];
    let appended = append(store, "s", messages.clone());
    assert_eq!((appended.stored, appended.session.position), (5, 5));
    assert_eq!(appended.session.messages, [1, 2, 1, 1]);
    let stored = all(store, &key("s"));
    assert_eq!(
        stored.iter().map(|stored| (stored.position, stored.index)).collect::<Vec<_>>(),
        (0..5).map(|n| (n, n)).collect::<Vec<_>>()
    );
    assert_eq!(stored.into_iter().map(|stored| stored.message).collect::<Vec<_>>(), messages);
    assert_eq!(store.session(&key("s")).wait().unwrap(), appended.session);
    let least: u64 = messages.iter().map(|message| message.content.len() as u64).sum();
    assert!((least..least + 200).contains(&appended.session.bytes), "{}", appended.session.bytes);
}

fn repeated_messages(store: &dyn Store) {
    append(store, "s", users(0..3));
    let again = append(store, "s", users(0..3));
    assert_eq!((again.stored, again.session.position), (0, 3));
    let more = append(store, "s", users(1..5));
    assert_eq!((more.stored, more.session.position), (2, 5));
    assert_eq!(ids(store, "s"), ["m0", "m1", "m2", "m3", "m4"]);
    // The same id in another session is another message.
    assert_eq!(append(store, "t", users(0..1)).stored, 1);
}

fn refused_appends(store: &dyn Store) {
    append(store, "s", users(0..3));
    let before = store.session(&key("s")).wait().unwrap();
    let other = |change: fn(&mut ConversationMessage)| {
        let mut message = user("m1");
        change(&mut message);
        vec![user("m0"), message, user("new")]
    };
    for (messages, error) in [
        (other(|message| message.content.push('!')), StoreError::Differs(Refused::new(1, "m1"))),
        (other(|message| message.role = Role::Assistant), StoreError::Differs(Refused::new(1, "m1"))),
        (other(|message| message.tool_call_id = "c".into()), StoreError::Differs(Refused::new(1, "m1"))),
        (other(|message| message.tool_calls.push(ToolCall::default())), StoreError::Differs(Refused::new(1, "m1"))),
        (vec![user("new"), user("m2")], StoreError::OutOfOrder(Refused::new(1, "m2"))),
        (vec![user("m2"), user("m1"), user("new")], StoreError::OutOfOrder(Refused::new(1, "m1"))),
    ] {
        assert_eq!(store.append(&key("s"), messages, None).wait(), Err(error));
    }
    assert_eq!(store.session(&key("s")).wait().unwrap(), before);
    assert_eq!(ids(store, "s"), ["m0", "m1", "m2"]);
    // A session that nothing was appended to is not made.
    assert_eq!(store.append(&key("t"), users(0..1), Some(1)).wait(), Err(StoreError::Moved(0)));
    assert_eq!(store.session(&key("t")).wait(), Err(StoreError::NoSession));
}

fn expected_positions(store: &dyn Store) {
    let append = |messages, expected| store.append(&key("s"), messages, Some(expected)).wait();
    assert_eq!(append(users(0..2), 0).unwrap().session.position, 2);
    assert_eq!(append(users(2..3), 1), Err(StoreError::Moved(2)));
    assert_eq!(append(users(2..3), 3), Err(StoreError::Moved(2)));
    assert_eq!(append(users(2..4), 2).unwrap().session.position, 4);
    // A call that is repeated, since its answer was lost, succeeds; whatever came after it.
    assert_eq!(append(users(2..4), 2).unwrap().stored, 0);
    // One that was longer the second time: nobody else has written.
    assert_eq!(append(users(2..6), 2).unwrap().stored, 2);
    // Now somebody has.
    assert_eq!(append(users(2..4).into_iter().chain([user("x")]).collect(), 2), Err(StoreError::Moved(6)));
    // A message from before the expected position is not a reason.
    assert_eq!(append(vec![user("m5"), user("m6")], 6).unwrap().stored, 1);
}

fn concurrent_writers(store: &dyn Store) {
    const WRITERS: u64 = 8;
    const EACH: u64 = 20;
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                for number in 0..EACH {
                    let messages = vec![user(&format!("{writer}-{number}"))];
                    let first = store.append(&key("s"), messages.clone(), None);
                    // Sent twice at once, as by a client that waited too short a time.
                    let second = store.append(&key("s"), messages, None);
                    assert_eq!(first.wait().unwrap().stored + second.wait().unwrap().stored, 1);
                }
            });
        }
    });
    let stored = all(store, &key("s"));
    assert_eq!(stored.len() as u64, WRITERS * EACH);
    assert!(stored.iter().zip(0..).all(|(stored, at)| (stored.position, stored.index) == (at, at)));
    for writer in 0..WRITERS {
        let prefix = format!("{writer}-");
        let of_writer = stored.iter().filter_map(|stored| stored.message.id.strip_prefix(&prefix));
        assert!(of_writer.map(|number| number.parse::<u64>().unwrap()).eq(0..EACH), "in the order of its writer");
    }
}

fn pages_of_messages(store: &dyn Store) {
    append(store, "s", users(0..10));
    let page = |from, at, limit, max_bytes| {
        let page = store.messages(&key("s"), PageOfMessages { from, at, limit, max_bytes }).wait().unwrap();
        let positions: Vec<u64> = page.messages.iter().map(|stored| stored.position).collect();
        (positions, page.next)
    };
    assert_eq!(page(0, None, 4, 1 << 20), (vec![0, 1, 2, 3], Some(4)));
    assert_eq!(page(4, None, 6, 1 << 20), (vec![4, 5, 6, 7, 8, 9], None));
    assert_eq!(page(10, None, 4, 1 << 20), (vec![], None));
    assert_eq!(page(2, Some(5), 10, 1 << 20), (vec![2, 3, 4], None));
    // `text of m0` has 10 bytes.
    assert_eq!(page(0, None, 10, 29), (vec![0, 1], Some(2)));
    assert_eq!(page(0, None, 10, 1), (vec![0], Some(1)));
    let missing = store.messages(&key("t"), PageOfMessages { from: 0, at: None, limit: 1, max_bytes: 1 });
    assert_eq!(missing.wait(), Err(StoreError::NoSession));
}

fn lists_of_sessions(store: &dyn Store) {
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

fn windows(store: &dyn Store) {
    append(store, "s", users(0..100));
    append(store, "long", users(0..400));
    let window_of = |session, position, count: usize| {
        let mut left = count;
        let tail = move |_: &ConversationMessage, _: bool| {
            left -= 1;
            left > 0
        };
        store.window(&key(session), position, 0, Box::new(tail)).wait().unwrap()
    };
    let window = |position, count| window_of("s", position, count);
    let newest = window(None, 3);
    assert_eq!((newest.position, newest.first_index, newest.messages), (100, 97, users(97..100)));
    assert_eq!(newest.positions, [97, 98, 99]);
    let earlier = window(Some(50), 2);
    assert_eq!((earlier.position, earlier.first_index, earlier.messages), (50, 48, users(48..50)));
    assert_eq!(window(Some(2), 5).messages, users(0..2));
    let nothing = window(Some(0), 5);
    assert_eq!((nothing.position, nothing.first_index, nothing.messages), (0, 0, vec![]));
    // A store may read them in parts.
    for count in [1, 15, 16, 17, 63, 64, 65, 79, 80, 81, 144, 145, 399, 400, 401] {
        let first = 400_u64.saturating_sub(count as u64);
        let window = window_of("long", None, count);
        assert_eq!((window.first_index, window.messages), (first, users(first..400)), "{count}");
        assert_eq!(window.positions, (first..400).collect::<Vec<_>>(), "{count}");
    }
    // Some of them long.
    let mixed = (0..70).map(|number| {
        let length = if number % 9 == 0 { 700_000 } else { 10 };
        said(Role::User, &format!("m{number}"), &"x".repeat(length))
    });
    let mixed: Vec<_> = mixed.collect();
    append(store, "mixed", mixed.clone());
    for count in [1, 7, 8, 30, 70, 71] {
        assert!(window_of("mixed", None, count).messages == mixed[70_usize.saturating_sub(count)..], "{count}");
    }
    let refused =
        |position| store.window(&key("s"), Some(position), 0, Box::new(|_: &ConversationMessage, _: bool| true)).wait();
    assert_eq!(refused(101), Err(StoreError::NoPosition(101)));
}

fn positions(store: &dyn Store) {
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

fn forks(store: &dyn Store) {
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

fn truncations(store: &dyn Store) {
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

fn removals(store: &dyn Store) {
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

fn workspaces(store: &dyn Store) {
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

fn recalls(store: &dyn Store) {
    let at = |seconds, message| ConversationMessage { time: Some(Moment::new(seconds, 0).unwrap()), ..message };
    append(
        store,
        "s",
        vec![
            at(100, said(Role::User, "0", "The harbour opens at six, the Café at seven")),
            at(200, said(Role::Assistant, "1", "The harbour master keeps the harbour keys")),
            at(300, said(Role::Tool, "2", &format!("{} hidden", "long ".repeat(100)))),
            at(400, said(Role::User, "3", "我明天去北京开会")),
        ],
    );
    append(store, "t", vec![at(500, said(Role::User, "4", "harbour"))]);
    let find = |recall: Recall| {
        let found = store.recall(&id("w"), Recall { limit: recall.limit.max(1), ..recall }).wait().unwrap();
        assert!(found.is_sorted_by(|one, other| one.score >= other.score));
        found.into_iter().map(|found| found.message.message.id).collect::<Vec<_>>()
    };
    let query = |query: &str| Recall { query: query.into(), limit: 10, max_bytes: 1 << 20, ..Recall::default() };
    assert_eq!(find(query("keys of the harbour")).first().unwrap(), "1");
    assert_eq!(find(query("CAFE")), ["0"]);
    assert_eq!(find(query("北京")), ["3"]);
    assert_eq!(find(query("京北")), [""; 0]);
    assert_eq!(find(query("hidden")), [""; 0]);
    assert_eq!(find(query("long")), ["2"]);
    for none in ["", "  \"'*()", "zebra"] {
        assert_eq!(find(query(none)), [""; 0], "{none}");
    }
    let mut all = find(query("harbour"));
    all.sort();
    assert_eq!(all, ["0", "1", "4"]);
    assert_eq!(find(Recall { limit: 1, ..query("harbour") }).len(), 1);
    assert_eq!(find(Recall { max_bytes: 60, ..query("harbour") }).len(), 2);
    assert_eq!(find(Recall { max_bytes: 0, ..query("harbour") }).len(), 1);
    // What a message's calls are given is text of it too.
    let calls = (0..5).map(|number| ConversationMessage {
        tool_calls: vec![ToolCall { arguments_json: "x".repeat(1_000), ..ToolCall::default() }],
        ..said(Role::Assistant, &format!("c{number}"), "lighthouse")
    });
    append(store, "calls", calls.collect());
    assert_eq!(find(Recall { max_bytes: 2_500, ..query("lighthouse") }).len(), 2);
    let in_s = || Recall { session: Some(id("s")), ..query("harbour") };
    assert_eq!(find(in_s()).len(), 2);
    assert_eq!(find(Recall { before: Some(1), ..in_s() }), ["0"]);
    let time = |seconds| Some(Moment::new(seconds, 0).unwrap());
    assert_eq!(find(Recall { since: time(200), until: time(500), ..query("harbour") }), ["1"]);
    assert_eq!(find(query("harbour\" OR \"x* NEAR( ^:")).len(), 3);
}

fn stats(store: &dyn Store) {
    assert_eq!(store.stats(&id("w")).wait().unwrap(), crate::Stats::default());
    append(store, "s", users(0..2));
    append(store, "t", users(0..3));
    let stats = store.stats(&id("w")).wait().unwrap();
    assert_eq!((stats.sessions, stats.messages, stats.bytes), (2, 5, 50));
    assert!(stats.first.unwrap() <= stats.last.unwrap());
    store.delete(&key("t")).wait().unwrap();
    assert_eq!(store.stats(&id("w")).wait().unwrap().messages, 2);
}

fn watches(store: &dyn Store) {
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
