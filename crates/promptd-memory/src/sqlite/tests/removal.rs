//! What is removed, and that nothing of it stays.

use super::*;

/// A vector that the first word of a text alone decides.
fn mark(text: &str) -> Vec<f32> {
    text.split(' ').next().unwrap().bytes().cycle().take(64).map(f32::from).collect()
}

#[test]
fn removed_text_is_in_no_file() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    append(&store, "kept", 0..300, "walrus");
    append(&store, "gone", 0..300, "secretseal");
    append(&store, "cut", 0..300, "hiddenotter");
    // Both in the log and in the database.
    drop(store);
    let store = open(home.path());
    append(&store, "gone", 300..600, "secretseal");
    append(&store, "cut", 300..600, "hiddenotter");
    // A vector's bytes are its direction's: each session has another one.
    store.use_model("marks").wait().unwrap();
    loop {
        let waiting = store.waiting(500, 1 << 20).wait().unwrap();
        if waiting.is_nothing() {
            break;
        }
        let vectors = waiting.messages.iter().map(|message| mark(&message.text)).collect();
        store.add_vectors(waiting.vectorised(vectors)).wait().unwrap();
    }
    for (session, summary) in [("kept", "walrus sum"), ("gone", "secretsummary"), ("cut", "hiddensummary")] {
        suite::segments::summarise(&store, session, summary);
    }
    assert!(is_on_disk(home.path(), "secretsummary") && is_on_disk(home.path(), "hiddensummary"));
    assert!(is_on_disk(home.path(), "secretseal") && is_on_disk(home.path(), "hiddenotter"));
    let has_vector = |text: &str| {
        let bytes = vectors::Quantised::of(&mark(text)).unwrap().numbers;
        files(home.path()).into_iter().any(|path| fs::read(path).unwrap().windows(bytes.len()).any(|it| it == bytes))
    };
    assert!(["walrus", "secretseal", "hiddenotter"].into_iter().all(has_vector));
    store.fork(&key("gone"), None, &id("copy")).wait().unwrap();
    store.delete(&key("gone")).wait().unwrap();
    assert!(is_on_disk(home.path(), "secretseal"), "in the copy");
    store.delete(&key("copy")).wait().unwrap();
    store.truncate(&key("cut"), 0, None).wait().unwrap();
    for gone in ["secretseal", "hiddenotter", "secretsummary", "hiddensummary"] {
        assert!(!is_on_disk(home.path(), gone), "{gone}");
    }
    assert_eq!(["walrus", "secretseal", "hiddenotter"].map(has_vector), [true, false, false]);
    // Of notes the last summaries stay, while there is a session.
    let add = |text: &str| store.add_notes_summary(&id("w"), suite::notes::summary(text)).wait().unwrap();
    add("secretnote");
    assert!(is_on_disk(home.path(), "secretnote"));
    for number in 0..MAX_NOTES_SUMMARIES {
        add(&format!("hiddennote {number}"));
    }
    assert!(!is_on_disk(home.path(), "secretnote") && is_on_disk(home.path(), "hiddennote"));
    assert!(is_on_disk(home.path(), "walrus") && is_on_disk(home.path(), "walrus sum"));
    for session in ["kept", "cut"] {
        store.delete(&key(session)).wait().unwrap();
    }
    assert!(!is_on_disk(home.path(), "hiddennote") && !is_on_disk(home.path(), "walrus"));
    drop(store);
    assert!(!is_on_disk(home.path(), "secretseal"));
}

/// FTS5 keeps some beginnings of tokens, by which it finds their pages.
#[test]
fn of_removed_words_no_beginning_is_in_a_file() {
    const WORDS: u64 = 3_000;
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    // Of eight Greek letters, each word far from the next.
    let letter = |digit: u8| char::from_u32('α' as u32 + u32::from(digit - b'0')).unwrap();
    let word = |number: u64| {
        format!("{:022o}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).bytes().map(letter).collect::<String>()
    };
    // What is kept is between them, and has two such letters.
    let kept = |number: u64| word(number).chars().take(2).chain(format!("kept{number}").chars()).collect();
    for session in 0..=30 {
        let numbers = session * WORDS..(session + 1) * WORDS;
        let words: Vec<String> = if session == 0 { numbers.map(kept).collect() } else { numbers.map(word).collect() };
        let message = said(Role::User, "m", &words.join(" "));
        store.append(&key(&session.to_string()), vec![message], None).wait().unwrap();
    }
    let traces = || {
        let is_greek = |window: &&[u8]| window.chunks(2).all(|letter| letter[0] == 0xCE && letter[1] >= 0xB1);
        let count = |path: PathBuf| fs::read(path).unwrap().windows(6).filter(is_greek).count();
        files(home.path()).into_iter().map(count).sum::<usize>()
    };
    assert!(traces() > 0);
    for session in 1..=30 {
        store.delete(&key(&session.to_string())).wait().unwrap();
    }
    assert_eq!(traces(), 0);
    drop(store);
    assert_eq!(traces(), 0);
}

#[test]
fn a_removal_waits_for_those_who_read_and_no_write_does() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    append(&store, "s", 0..10, "secretseal");
    append(&store, "t", 0..1, "text");
    let (began, has_begun) = std::sync::mpsc::channel();
    let (go_on, goes_on) = std::sync::mpsc::channel::<()>();
    let tail = move |_: &ConversationMessage, _: bool| {
        let _ = began.send(());
        let _ = goes_on.recv();
        false
    };
    let window = store.window(&key("t"), None, 0, Box::new(tail));
    has_begun.recv().unwrap();
    let removal = store.delete(&key("s"));
    // The reader still sees the log of before.
    append(&store, "t", 1..2, "text");
    assert_eq!(store.session(&key("s")).wait(), Err(StoreError::NoSession));
    assert!(is_on_disk(home.path(), "secretseal"));
    go_on.send(()).unwrap();
    assert_eq!(window.wait().unwrap().messages.len(), 1);
    assert_eq!(removal.wait().unwrap(), 10);
    assert!(!is_on_disk(home.path(), "secretseal"));
}

#[test]
fn what_is_kept_is_bounded_by_age_and_by_size() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    append(&store, "old", 0..1, "text");
    drop(store);
    let database = home.path().join("conversations.db");
    let store = open(home.path());
    store.add_notes_summary(&id("w"), suite::notes::summary("oldnote")).wait().unwrap();
    drop(store);
    let change = |sql: &str| Connection::open(&database).unwrap().execute(sql, []).unwrap();
    change("UPDATE sessions SET changed = changed - 100000");
    change("UPDATE notes SET made = made - 100000");
    let store = open(home.path());
    append(&store, "new", 0..1, "text");
    drop(store);
    let with = |keep| SqliteStore::open(&Options { keep, ..Options::new(home.path().to_owned()) }).unwrap();
    let gone = |store: &SqliteStore, session: &str| {
        while store.session(&key(session)).wait().is_ok() {
            std::thread::yield_now();
        }
    };
    let store = with(Keep { age: Some(Duration::from_secs(50)), bytes: None });
    gone(&store, "old");
    assert!(store.session(&key("new")).wait().is_ok());
    while is_on_disk(home.path(), "oldnote") {
        std::thread::yield_now();
    }
    for session in ["a", "b", "c"] {
        append(&store, session, 0..1_000, &"long text ".repeat(20));
        // So that one is older than the next.
        let before = clock::milliseconds();
        while clock::milliseconds() == before {
            std::thread::yield_now();
        }
    }
    drop(store);
    let store = with(Keep { age: None, bytes: Some(600_000) });
    for session in ["new", "a", "b"] {
        gone(&store, session);
    }
    assert!(store.session(&key("c")).wait().is_ok(), "the newest fits");
}

#[test]
fn searches_go_on_while_a_removal_waits_for_another_process() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    append(&store, "s", 0..3, "text");
    append(&store, "t", 0..3, "text");
    let other = connection::reading(&home.path().join("conversations.db")).unwrap();
    let reading = other.unchecked_transaction().unwrap();
    reading.query_row("SELECT count(*) FROM messages", [], |_| Ok(())).unwrap();
    let removal = store.delete(&key("s"));
    while store.session(&key("s")).wait().is_ok() {
        thread::yield_now();
    }
    let began = Instant::now();
    for _ in 0..20 {
        let recall = Recall { query: "text".into(), limit: 1, max_bytes: 100, ..Recall::default() };
        assert_eq!(store.recall(&id("w"), recall).wait().unwrap().len(), 1);
    }
    assert!(began.elapsed() < Duration::from_millis(20 * 250 / 2), "{:?}", began.elapsed());
    drop(reading);
    removal.wait().unwrap();
}

#[test]
fn a_removal_does_not_wait_for_the_copies_before_it() {
    const COPIES: usize = 10;
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    append(&store, "s", 0..1_000, "text");
    append(&store, "t", 0..3, "gone");
    append(&store, "u", 0..3, "gone");
    let copies: Vec<_> = (0..COPIES).map(|copy| store.fork(&key("s"), None, &id(&format!("copy{copy}")))).collect();
    store.truncate(&key("u"), 1, None).wait().unwrap();
    store.delete(&key("t")).wait().unwrap();
    let is_whole = |copy: usize| store.session(&key(&format!("copy{copy}"))).wait().is_ok();
    assert!(!is_whole(COPIES - 1), "the last copy");
    for copy in copies {
        copy.wait().unwrap();
    }
    assert!((0..COPIES).all(is_whole));
}

#[test]
fn of_long_messages_few_are_removed_in_one_step() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    let messages = (0..20).map(|number| said(Role::User, &format!("m{number}"), &"x".repeat(30_000)));
    store.append(&key("s"), messages.collect(), None).wait().unwrap();
    drop(store);
    let connection = connection::writing(&home.path().join("conversations.db")).unwrap();
    let session = sessions::find(&connection, &key("s")).unwrap().key;
    let removed = remove::remove_some(&connection, session, 0, 50, 64 << 10).unwrap();
    let left: i64 = connection.query_row("SELECT count(*) FROM messages", [], |row| row.get(0)).unwrap();
    assert!(!removed.is_nothing() && left == 17, "{left}");
}
