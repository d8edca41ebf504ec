//! The suite on SQLite, and what is SQLite's own.

mod between_writes;
mod faults;
mod files;
mod removal;

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

/// A store of an older version, with one message.
fn older(home: &Path, version: usize) -> Connection {
    let connection = Connection::open(home.join("conversations.db")).unwrap();
    schema::migrate_to(&connection, version).unwrap();
    let stored =
        "INSERT INTO sessions (workspace, id, position, system, user, assistant, tool, bytes, created, changed)
             VALUES ('w', 's', 1, 0, 1, 0, 0, 7, 0, 0);
         INSERT INTO messages (session, position, number, id, role, content, name, tool_call_id, tool_calls, stored)
             VALUES (1, 0, 0, 'm', 1, 'wálrus', '', '', '', 0);
         INSERT INTO words (rowid, text) VALUES (1, 'wálrus');";
    connection.execute_batch(stored).unwrap();
    if version >= schema::WITH_VECTORS {
        connection.execute("INSERT INTO workspaces (id) VALUES ('w')", []).unwrap();
    }
    connection
}

#[test]
fn what_an_older_version_stored_is_found() {
    let home = TempDir::new().unwrap();
    drop(older(home.path(), 2));
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
fn what_cannot_be_brought_up_to_date_stays_as_it_is_and_can_be_copied() {
    for version in 1..6 {
        let (home, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let copy = other.path().join("copy.db");
        let connection = older(home.path(), version);
        // A role that there is not: the message's words cannot be added to a new index.
        connection.execute("UPDATE messages SET role = 9", []).unwrap();
        assert!(matches!(try_open(home.path()), Err(StoreError::Damaged(_))), "{version}");
        let held = |checked: Checked| (checked.sessions, checked.messages, checked.faults);
        assert_eq!(held(check(home.path()).unwrap()), (1, 1, vec![]), "{version}");
        backup(home.path(), &copy).unwrap();
        assert_eq!(held(restore(&other.path().join("store"), &copy, false).unwrap()), (1, 1, vec![]), "{version}");
        connection.execute("UPDATE messages SET role = 1", []).unwrap();
        assert_eq!(all(&open(home.path()), &key("s")).len(), 1, "{version}");
    }
    let home = TempDir::new().unwrap();
    let (empty, dir) = (home.path().join("empty.db"), home.path().join("store"));
    fs::write(&empty, "").unwrap();
    assert!(matches!(restore(&dir, &empty, true), Err(StoreError::Unusable(why)) if why.contains("is empty")));
}
