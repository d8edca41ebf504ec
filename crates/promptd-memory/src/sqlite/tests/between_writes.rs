//! What the thread that writes does between writes: copies, the log, the index of words.

use super::*;

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
