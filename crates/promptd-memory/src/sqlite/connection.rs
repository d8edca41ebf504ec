//! Connections to the database, and its errors as a store's.

use std::{path::Path, time::Duration};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::schema;
use crate::StoreError;

/// How long a statement waits for another process, such as a backup.
const BUSY: Duration = Duration::from_secs(5);
/// What is read is kept for the next reader, in KiB.
const CACHE_KIB: i64 = 16 << 10;

/// The connection that writes. It makes the tables, or brings them up to date.
pub(super) fn writing(database: &Path) -> Result<Connection, StoreError> {
    let connection = open(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let set = |name: &str, value: &str| connection.pragma_update(None, name, value).map_err(|error| of(&error));
    // A damaged file is found here.
    set("journal_mode", "wal")?;
    set("synchronous", "full")?;
    set("secure_delete", "on")?;
    schema::migrate(&connection)?;
    Ok(connection)
}

/// A connection that reads.
pub(super) fn reading(database: &Path) -> Result<Connection, StoreError> {
    let connection = open(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    schema::check(&connection)?;
    Ok(connection)
}

/// A connection that reads what an older version may have written; and which.
pub(super) fn reading_older(database: &Path) -> Result<(Connection, usize), StoreError> {
    let connection = open(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    match schema::version(&connection)? {
        0 => Err(StoreError::Unusable(format!("{} is empty: it has no conversations", database.display()))),
        version => Ok((connection, version)),
    }
}

fn open(database: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(database, flags).map_err(|error| of(&error))?;
    connection.busy_timeout(BUSY).map_err(|error| of(&error))?;
    // What is sorted on the way to an answer never reaches the disk.
    connection.pragma_update(None, "temp_store", "memory").map_err(|error| of(&error))?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB).map_err(|error| of(&error))?;
    connection.set_prepared_statement_cache_capacity(64);
    // Otherwise a statement is planned again each time that it is given other values (SQLite is built with STAT4).
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(|error| of(&error))?;
    Ok(connection)
}

/// Does what may have to wait for others, who are not waited for.
pub(super) fn without_waiting<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    connection.busy_timeout(Duration::ZERO)?;
    let result = work(connection);
    connection.busy_timeout(BUSY)?;
    result
}

/// A store's error of SQLite's. Its text is SQLite's description of the code alone: others can show what was stored.
pub(super) fn of(error: &rusqlite::Error) -> StoreError {
    let Some(code) = error.sqlite_error() else {
        return StoreError::Failed(match error {
            rusqlite::Error::QueryReturnedNoRows => "a row is missing".into(),
            _ => "a row is not of its table's form".into(),
        });
    };
    match code.code {
        ErrorCode::DiskFull => StoreError::Full,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Damaged(code.to_string()),
        ErrorCode::OperationInterrupted => StoreError::TooLong,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy,
        _ => StoreError::Failed(code.to_string()),
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        of(&error)
    }
}
