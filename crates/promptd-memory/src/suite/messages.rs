//! What every store must do with messages.

use promptd_core::{
    time::Moment,
    turn::{ConversationMessage, Role, ToolCall},
};

use super::{all, append, ids, key, said, user, users};
use crate::{PageOfMessages, Refused, Store, StoreError};

pub(super) fn messages_come_back(store: &dyn Store) {
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

pub(super) fn repeated_messages(store: &dyn Store) {
    append(store, "s", users(0..3));
    let again = append(store, "s", users(0..3));
    assert_eq!((again.stored, again.session.position), (0, 3));
    let more = append(store, "s", users(1..5));
    assert_eq!((more.stored, more.session.position), (2, 5));
    assert_eq!(ids(store, "s"), ["m0", "m1", "m2", "m3", "m4"]);
    // The same id in another session is another message.
    assert_eq!(append(store, "t", users(0..1)).stored, 1);
}

pub(super) fn refused_appends(store: &dyn Store) {
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

pub(super) fn expected_positions(store: &dyn Store) {
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

pub(super) fn concurrent_writers(store: &dyn Store) {
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

pub(super) fn pages_of_messages(store: &dyn Store) {
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

pub(super) fn windows(store: &dyn Store) {
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
