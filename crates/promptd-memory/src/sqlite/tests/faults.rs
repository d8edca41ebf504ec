//! Damaged files, a full disk, files of other versions.

use super::*;

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
