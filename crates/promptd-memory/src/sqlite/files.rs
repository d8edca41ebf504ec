//! What operators do with the files of a store: copy, put back, make smaller, check.

use std::path::Path;

use rusqlite::{Connection, params};

use super::{
    connection,
    folder::{self, Folder},
    schema, segments,
    sessions::{LIVE, natural},
    vectors,
};
use crate::StoreError;

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checked {
    /// How many sessions there are.
    pub sessions: u64,
    /// How many messages they have.
    pub messages: u64,
    /// What is wrong, a sentence each; at most 100.
    pub faults: Vec<String>,
}

/// The most faults that are listed.
const MAX_FAULTS: usize = 100;

/// Copies the store as it is at this moment to a new file; it may be in use meanwhile, or be of an older version.
pub fn backup(dir: &Path, to: &Path) -> Result<(), StoreError> {
    let database = Folder::open(dir)?.database();
    let (connection, _) = connection::reading_older(&database)?;
    let taken = folder::size(to).map_err(|error| folder::unusable(to, &error))?;
    if taken.is_some() {
        return Err(StoreError::Unusable(format!("{} is there already", to.display())));
    }
    // SQLite writes into an empty file, which is its owner's already.
    let file = folder::owners_file(to).map_err(|error| folder::unusable(to, &error))?;
    let Some(name) = to.to_str() else {
        return Err(StoreError::Unusable(format!("{} is not UTF-8", to.display())));
    };
    let copied = connection.execute("VACUUM INTO ?1", [name]).map_err(StoreError::from);
    let copied = copied.and_then(|_| file.sync_all().map_err(|error| folder::unusable(to, &error)));
    if copied.is_err() {
        // A part of a copy is not a copy.
        let _ = folder::remove(to);
    }
    copied
}

/// Puts a backup in the place of the store, which no process may have. A store that has sessions is only replaced where that is
/// said. One of an older version is brought up to date when it is opened.
pub fn restore(dir: &Path, from: &Path, replace: bool) -> Result<Checked, StoreError> {
    let found = check_file(from)?;
    if let Some(fault) = found.faults.first() {
        return Err(StoreError::Damaged(format!("{}: {fault}", from.display())));
    }
    let folder = Folder::create(dir)?;
    let lock = folder.lock()?;
    // What cannot be read has nothing to lose that a check would find.
    let existing = if replace { 0 } else { existing(&folder)? };
    if existing > 0 {
        return Err(StoreError::Unusable(format!(
            "{} has {existing} sessions already, which would be lost",
            dir.display()
        )));
    }
    folder.replace(from, &lock).map_err(|error| folder::unusable(dir, &error))?;
    Ok(found)
}

fn existing(folder: &Folder) -> Result<u64, StoreError> {
    let size = folder::size(&folder.database()).map_err(|error| folder::unusable(&folder.database(), &error))?;
    if size.unwrap_or(0) == 0 {
        return Ok(0);
    }
    let connection = connection::writing(&folder.database())?;
    Ok(natural(connection.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0))?))
}

/// Gives the room that removed sessions left in the files back to the disk; gives the sizes before and after. No process may
/// have the store.
pub fn vacuum(dir: &Path) -> Result<[u64; 2], StoreError> {
    let folder = Folder::open(dir)?;
    let _lock = folder.lock()?;
    let database = folder.database();
    let connection = connection::writing(&database)?;
    let cut = || super::chores::cut_log(&connection);
    let size = || folder::size(&database).map_err(|error| folder::unusable(&database, &error));
    cut()?;
    let before = size()?.unwrap_or(0);
    connection.execute_batch("INSERT INTO words (words) VALUES ('optimize'); VACUUM;")?;
    cut()?;
    Ok([before, size()?.unwrap_or(0)])
}

/// Checks the store's files; it may be in use meanwhile, or be of an older version.
pub fn check(dir: &Path) -> Result<Checked, StoreError> {
    check_file(&Folder::open(dir)?.database())
}

fn check_file(database: &Path) -> Result<Checked, StoreError> {
    let (connection, version) = connection::reading_older(database)?;
    let transaction = connection.unchecked_transaction()?;
    let mut checked = Checked::default();
    let mut statement = transaction.prepare(&format!("PRAGMA integrity_check({MAX_FAULTS})"))?;
    let lines: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    checked.faults.extend(lines.into_iter().filter(|line| line != "ok"));
    // What lacks pages cannot be counted.
    if !checked.faults.is_empty() {
        return Ok(checked);
    }
    count(&transaction, &mut checked)?;
    if version >= schema::WITH_SEGMENTS {
        let damaged = segments::damaged(&transaction, MAX_FAULTS - checked.faults.len())?;
        checked
            .faults
            .extend(damaged.iter().map(|session| format!("the summaries of session {session} do not fit together")));
    }
    if version >= schema::WITH_VECTORS {
        let damaged = vectors::damaged_sessions(&transaction, MAX_FAULTS.saturating_sub(checked.faults.len()))?;
        let damaged =
            damaged.iter().map(|session| format!("session {session} lacks vectors of its messages, or has others"));
        checked.faults.extend(damaged);
    }
    Ok(checked)
}

/// Counts, and checks that each session has what its row says.
fn count(connection: &Connection, checked: &mut Checked) -> Result<(), StoreError> {
    let sql = "SELECT s.workspace || '/' || s.id, s.system + s.user + s.assistant + s.tool, s.bytes, s.position,
             count(m.key), coalesce(sum(octet_length(m.content) + octet_length(m.tool_calls)), 0),
             coalesce(max(m.position), -1), coalesce(max(m.number), -1)
         FROM sessions s LEFT JOIN messages m ON m.session = s.key WHERE s.state = ?1 GROUP BY s.key";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(params![LIVE])?;
    while let Some(row) = rows.next()? {
        let number = |column| row.get::<_, i64>(column);
        let (count, bytes, position) = (number(1)?, number(2)?, number(3)?);
        checked.sessions += 1;
        checked.messages += natural(count);
        let is_whole = (count, bytes) == (number(4)?, number(5)?) && number(6)? < position && number(7)? == count - 1;
        if !is_whole && checked.faults.len() < MAX_FAULTS {
            checked
                .faults
                .push(format!("session {} lacks messages, or has others than it was given", row.get::<_, String>(0)?));
        }
    }
    Ok(())
}
