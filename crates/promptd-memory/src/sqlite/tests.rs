//! The suite on SQLite, and what is SQLite's own.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use promptd_core::turn::Role;
use tempfile::TempDir;

use super::*;
use crate::{
    MAX_NOTES_SUMMARIES,
    suite::{self, all, id, key, said},
};

fn open(dir: &Path) -> SqliteStore {
    try_open(dir).unwrap()
}

fn try_open(dir: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(&Options::new(dir.to_owned()))
}

fn files(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Whether a text is in one of the store's files.
fn is_on_disk(dir: &Path, text: &str) -> bool {
    let has = |bytes: Vec<u8>| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    files(dir).into_iter().any(|path| has(fs::read(path).unwrap()))
}

fn append(store: &SqliteStore, session: &str, range: std::ops::Range<usize>, text: &str) {
    let messages = range.map(|number| said(Role::User, &format!("m{number}"), &format!("{text} {number}")));
    store.append(&key(session), messages.collect(), None).wait().unwrap();
}

#[test]
fn the_suite() {
    for (name, test) in suite::TESTS {
        println!("{name}");
        let home = TempDir::new().unwrap();
        let store = open(home.path());
        test(&store);
        drop(store);
        let checked = check(home.path()).unwrap();
        assert_eq!(checked.faults, [""; 0], "{name}");
    }
}

#[test]
fn what_was_acknowledged_is_there_after_a_new_start() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    append(&store, "s", 0..3, "text");
    let before = all(&store, &key("s"));
    drop(store);
    assert_eq!(all(&open(home.path()), &key("s")), before);
}

#[test]
fn the_files_are_the_owners_alone_and_one_process_has_them() {
    let home = TempDir::new().unwrap();
    let dir = home.path().join("a/store");
    let store = open(&dir);
    append(&store, "s", 0..1, "text");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    let all = files(&dir);
    assert!(all.len() >= 3, "{all:?}");
    assert!(all.iter().all(|path| mode(path) == 0o600), "{all:?}");
    let second = try_open(&dir).err().unwrap();
    assert_eq!(
        second,
        StoreError::Unusable(format!("another process uses the folder {}: stop it first", dir.display()))
    );
    drop(store);
    fs::set_permissions(dir.join("conversations.db"), fs::Permissions::from_mode(0o644)).unwrap();
    drop(open(&dir));
    assert_eq!(mode(&dir.join("conversations.db")), 0o600);
}

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
fn files_of_a_newer_version_and_files_of_others_are_refused_and_kept() {
    let home = TempDir::new().unwrap();
    append(&open(home.path()), "s", 0..1, "text");
    let database = home.path().join("conversations.db");
    let change = |sql: &str| Connection::open(&database).unwrap().execute_batch(sql).unwrap();
    change("PRAGMA user_version = 99");
    let why = "its files are of version 99, and this promptd knows those up to 6: use a newer one";
    assert_eq!(try_open(home.path()).err(), Some(StoreError::Unusable(why.into())));
    change("PRAGMA user_version = 6");
    assert_eq!(all(&open(home.path()), &key("s")).len(), 1);
    change("PRAGMA application_id = 7");
    let why = "the database is not one of promptd's";
    assert_eq!(try_open(home.path()).err(), Some(StoreError::Unusable(why.into())));
}

#[test]
fn what_an_older_version_stored_is_found() {
    let home = TempDir::new().unwrap();
    let database = home.path().join("conversations.db");
    let connection = Connection::open(&database).unwrap();
    schema::migrate_to(&connection, 2).unwrap();
    let stored =
        "INSERT INTO sessions (workspace, id, position, system, user, assistant, tool, bytes, created, changed)
             VALUES ('w', 's', 1, 0, 1, 0, 0, 6, 0, 0);
         INSERT INTO messages (session, position, number, id, role, content, name, tool_call_id, tool_calls, stored)
             VALUES (1, 0, 0, 'm', 1, 'wálrus', '', '', '', 0);
         INSERT INTO words (rowid, text) VALUES (1, 'wálrus');";
    connection.execute_batch(stored).unwrap();
    drop(connection);
    let store = open(home.path());
    let find = || {
        let recall = Recall { query: "walrus".into(), limit: 5, max_bytes: 1 << 20, ..Recall::default() };
        store.recall(&id("w"), recall).wait().unwrap().len()
    };
    assert_eq!(find(), 1);
    store.use_model("model").wait().unwrap();
    assert_eq!(store.waiting(9, 1 << 20).wait().unwrap().messages.len(), 1);
    store.delete(&key("s")).wait().unwrap();
    assert_eq!(find(), 0);
    drop(store);
    assert_eq!(check(home.path()).unwrap().faults, [""; 0]);
}

#[test]
fn a_damaged_file_is_a_clear_error() {
    let home = TempDir::new().unwrap();
    let database = home.path().join("conversations.db");
    fs::write(&database, "no database, but a text that is long enough to be read as one").unwrap();
    assert!(matches!(try_open(home.path()).err(), Some(StoreError::Damaged(_))));
    fs::remove_file(&database).unwrap();
    let store = open(home.path());
    append(&store, "s", 0..2_000, "text");
    drop(store);
    // The pages but the first.
    let mut bytes = fs::read(&database).unwrap();
    bytes[4096..].fill(0x5a);
    fs::write(&database, &bytes).unwrap();
    let failed = try_open(home.path()).map(|store| store.session(&key("s")).wait());
    let failed = failed.unwrap_or_else(Err);
    assert!(matches!(failed, Err(StoreError::Damaged(_))), "{failed:?}");
    assert_ne!(check(home.path()).map(|checked| checked.faults), Ok(vec![]));
}

#[test]
fn a_damage_that_a_read_or_a_write_meets_is_counted() {
    for reads in [true, false] {
        let home = TempDir::new().unwrap();
        let store = open(home.path());
        append(&store, "s", 0..2_000, "text");
        drop(store);
        let database = home.path().join("conversations.db");
        let mut bytes = fs::read(&database).unwrap();
        let (page, text) = (4096, b"text 1000");
        let at = bytes.windows(text.len()).position(|window| window == text).unwrap() / page * page;
        bytes[at..at + page].fill(0x5a);
        fs::write(&database, &bytes).unwrap();
        let store = open(home.path());
        assert_eq!(store.status().damaged.get(), 0);
        let failed = if reads {
            store.session(&key("none")).wait().unwrap_err();
            assert_eq!(store.status().damaged.get(), 0, "it was not met");
            let page = PageOfMessages { from: 0, at: None, limit: 2_000, max_bytes: 1 << 20 };
            store.messages(&key("s"), page).wait().err()
        } else {
            store.delete(&key("s")).wait().err()
        };
        assert!(matches!(failed, Some(StoreError::Damaged(_))), "{failed:?}");
        assert_eq!(store.status().damaged.get(), 1);
    }
}

#[test]
fn a_full_disk_refuses_writes_and_reads_go_on() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    append(&store, "s", 0..10, "text");
    // As if the disk had no more room.
    store.writer.limit_pages(50).wait().unwrap();
    let large = vec![said(Role::User, "large", &"x".repeat(1 << 20))];
    assert_eq!(store.append(&key("s"), large, None).wait(), Err(StoreError::Full));
    assert_eq!(store.status().failing.get(), 1);
    assert_eq!(all(&store, &key("s")).len(), 10);
    assert_eq!(
        store
            .recall(&id("w"), Recall { query: "text".into(), limit: 5, max_bytes: 1 << 20, ..Recall::default() })
            .wait()
            .unwrap()
            .len(),
        5
    );
    // One that is too large fails alone.
    append(&store, "s", 10..11, "small");
    assert_eq!(store.status().failing.get(), 0);
    store.delete(&key("s")).wait().unwrap();
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
fn a_backup_is_the_store_of_its_moment() {
    let home = TempDir::new().unwrap();
    let (dir, copy) = (home.path().join("store"), home.path().join("copy.db"));
    let store = open(&dir);
    append(&store, "s", 0..100, "text");
    backup(&dir, &copy).unwrap();
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(backup(&dir, &copy), Err(StoreError::Unusable(why)) if why.contains("is there already")));
    append(&store, "s", 100..200, "text");
    let held = restore(&dir, &copy, true).unwrap_err();
    assert!(matches!(held, StoreError::Unusable(why) if why.contains("another process")));
    drop(store);
    assert!(
        matches!(restore(&dir, &copy, false), Err(StoreError::Unusable(why)) if why.contains("1 sessions already"))
    );
    let restored = restore(&dir, &copy, true).unwrap();
    assert_eq!((restored.sessions, restored.messages, restored.faults.len()), (1, 100, 0));
    let store = open(&dir);
    assert_eq!(all(&store, &key("s")).len(), 100);
    append(&store, "s", 100..101, "text");
    drop(store);
    // Into a folder that is not there, as after the loss of a disk.
    let other = home.path().join("other");
    assert_eq!(restore(&other, &copy, false).unwrap().messages, 100);
    assert_eq!(all(&open(&other), &key("s")).len(), 100);
    fs::write(&copy, &fs::read(&copy).unwrap()[..8192]).unwrap();
    assert!(matches!(restore(&other, &copy, true), Err(StoreError::Damaged(_))));
    assert_eq!(all(&open(&other), &key("s")).len(), 100, "a damaged backup replaces nothing");
}

#[test]
fn vacuum_gives_room_back() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    append(&store, "s", 0..1_000, &"long text ".repeat(50));
    append(&store, "t", 0..1, "text");
    store.delete(&key("s")).wait().unwrap();
    drop(store);
    let [before, after] = vacuum(home.path()).unwrap();
    assert!(after < before / 5, "{before} {after}");
    assert_eq!(all(&open(home.path()), &key("t")).len(), 1);
    let nothing = vacuum(&home.path().join("none")).unwrap_err();
    assert!(matches!(nothing, StoreError::Unusable(why) if why.starts_with("there is none in")));
}

#[test]
fn a_copy_is_made_in_small_steps_and_given_up_where_what_it_copies_changes() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    append(&store, "s", 0..300, "text");
    suite::segments::summarise(&store, "s", &"long ".repeat(4_000));
    drop(store);
    let connection = connection::writing(&home.path().join("conversations.db")).unwrap();
    let count = |table: &str| {
        let sql = format!("SELECT count(*) FROM {table}");
        connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let copy = |to: &str, cut_after: usize| -> Result<Vec<[i64; 2]>, StoreError> {
        let mut fork = sessions::begin_fork(&connection, &key("s"), None, &key(to), 0).unwrap();
        let mut grown = Vec::new();
        loop {
            if grown.len() == cut_after {
                remove::truncate(&connection, &key("s"), 250, None, 0).unwrap();
            }
            let before = [count("messages"), count("segments")];
            match chores::copy_some(&connection, &fork)? {
                chores::Step::More(next) => fork = next,
                chores::Step::Done => return Ok(grown),
            }
            grown.push([count("messages") - before[0], count("segments") - before[1]]);
        }
    };
    // 50 messages, or 64 KiB of summaries, at once.
    let messages = [[50, 0]; 6];
    let steps = [&messages[..], &[[0, 0]], &[[0, 4]; 7], &[[0, 2]]].concat();
    assert_eq!(copy("t", usize::MAX), Ok(steps));
    assert_eq!(copy("u", 9), Err(StoreError::NoPosition(300)));
}

#[test]
fn a_copy_that_a_process_did_not_finish_is_removed() {
    let home = TempDir::new().unwrap();
    append(&open(home.path()), "s", 0..10, "text");
    let database = home.path().join("conversations.db");
    let left = "INSERT INTO sessions SELECT 99, workspace, 'half', 1, position, system, user, assistant, tool, bytes, created, changed, 1, 0, 0 FROM sessions";
    Connection::open(&database).unwrap().execute(left, []).unwrap();
    let store = open(home.path());
    append(&store, "half", 0..1, "text");
    assert_eq!(all(&store, &key("half")).len(), 1);
    drop(store);
    assert_eq!(check(home.path()).unwrap().faults, [""; 0]);
}

/// SQLite alone lets it grow: somebody always reads, and there is always something new.
#[test]
fn the_log_stays_short_while_searches_follow_each_other() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    let (over, is_done) = (Arc::new(AtomicU32::new(0)), AtomicBool::new(false));
    let search = || {
        let over = Arc::clone(&over);
        store.searchers.run(move |connection| {
            let long =
                "WITH RECURSIVE n(i) AS (SELECT count(*) FROM messages UNION ALL SELECT i + 1 FROM n LIMIT 300000)
                 SELECT count(*) FROM n";
            connection.query_row(long, [], |_| Ok(()))?;
            over.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    };
    let (text, log) = ("text ".repeat(50_000), home.path().join("conversations.db-wal"));
    let mut longest = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            // The next one waits already when one is over.
            let mut first = search();
            while !is_done.load(Ordering::Relaxed) {
                let next = search();
                first.wait().unwrap();
                first = next;
            }
        });
        for number in 0..200 {
            append(&store, "s", number..number + 1, &text);
            longest = longest.max(fs::metadata(&log).unwrap().len());
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert!(over.load(Ordering::Relaxed) >= 3, "{over:?}");
    assert!((8 << 20..32 << 20).contains(&longest), "{longest}");
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

/// How many parts the index of words has.
fn parts(home: &TempDir) -> u32 {
    let connection = connection::reading(&home.path().join("conversations.db")).unwrap();
    let parts = "SELECT count(DISTINCT segid) FROM words_idx";
    connection.query_row(parts, [], |row| row.get(0)).unwrap()
}

#[test]
fn the_index_of_words_has_few_parts_after_many_writes() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    for number in 0..200 {
        append(&store, "s", number..number + 1, "text");
    }
    drop(store);
    assert!((1..40).contains(&parts(&home)), "{}", parts(&home));
}

#[test]
fn the_index_of_words_has_few_parts_after_many_writes_at_once() {
    let home = TempDir::new().unwrap();
    let store = open(home.path());
    let write = |number: usize| {
        let words: Vec<_> = (0..400).map(|word| format!("{number}x{word}")).collect();
        store.append(&key("s"), vec![said(Role::User, &number.to_string(), &words.join(" "))], None)
    };
    let writes: Vec<_> = (0..1_000).map(write).collect();
    for write in writes {
        write.wait().unwrap();
    }
    drop(store);
    assert!((1..200).contains(&parts(&home)), "{}", parts(&home));
}
