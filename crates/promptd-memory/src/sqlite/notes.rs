//! Rows of summaries of notes.

use promptd_core::id::Id;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::sessions::{self, LIVE, integer, moment};
use crate::{MAX_NOTES_SUMMARIES, NotesSummary, SessionKey, StoreError, StoredNotesSummary};

/// How many one sweep removes for their age.
const MAX_SWEPT: i64 = 1_000;

/// What [`read`] reads.
const COLUMNS: &str = "n.first, n.last, n.source, n.summary, n.tokens, n.made";

/// The summaries of a workspace, the newest first.
pub(super) fn list(
    connection: &Connection,
    workspace: &Id,
    limit: usize,
) -> Result<Vec<StoredNotesSummary>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM notes n WHERE n.workspace = ?1 ORDER BY n.made DESC, n.key DESC LIMIT ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map(params![workspace.as_str(), limit], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The newest that was made before the last message that a session has at a position.
pub(super) fn at(
    connection: &Connection,
    key: &SessionKey,
    position: u64,
) -> Result<Option<StoredNotesSummary>, StoreError> {
    let row = sessions::find(connection, key)?;
    let sql = format!(
        "SELECT {COLUMNS} FROM notes n WHERE n.workspace = ?1 AND n.made < (
             SELECT stored FROM messages WHERE session = ?2 AND position < ?3 ORDER BY position DESC LIMIT 1)
         ORDER BY n.made DESC, n.key DESC LIMIT 1"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_row(params![key.workspace.as_str(), row.key, integer(position)], read);
    Ok(found.optional()?)
}

/// What adding a summary did.
pub(super) struct Added {
    /// Whether it is stored.
    pub(super) is_stored: bool,
    /// Whether older ones had to go.
    pub(super) has_removed: bool,
}

/// Adds a summary, unless its workspace has no session.
pub(super) fn add(
    connection: &Connection,
    workspace: &Id,
    summary: &NotesSummary,
    now: i64,
) -> Result<Added, StoreError> {
    let changed = format!("SELECT max(changed) FROM sessions WHERE workspace = ?1 AND state = {LIVE}");
    let changed: Option<i64> =
        connection.prepare_cached(&changed)?.query_row([workspace.as_str()], |row| row.get(0))?;
    let Some(changed) = changed else { return Ok(Added { is_stored: false, has_removed: false }) };
    let sql =
        "INSERT INTO notes (workspace, first, last, source, summary, tokens, made) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    connection.prepare_cached(sql)?.execute(params![
        workspace.as_str(),
        summary.first,
        summary.last,
        summary.source,
        summary.text,
        summary.tokens,
        // No message that is there was stored later, whatever the clock says.
        now.max(changed),
    ])?;
    let sql = "DELETE FROM notes WHERE key IN (
             SELECT key FROM notes WHERE workspace = ?1 ORDER BY made DESC, key DESC LIMIT -1 OFFSET ?2)";
    let kept = i64::try_from(MAX_NOTES_SUMMARIES).unwrap_or(i64::MAX);
    let removed = connection.prepare_cached(sql)?.execute(params![workspace.as_str(), kept])?;
    Ok(Added { is_stored: true, has_removed: removed > 0 })
}

/// Removes the summaries of a workspace whose last session goes.
pub(super) fn go_with(connection: &Connection, session: i64) -> Result<(), StoreError> {
    let sql = "DELETE FROM notes WHERE workspace = (SELECT workspace FROM sessions WHERE key = ?1) AND NOT EXISTS (
             SELECT 1 FROM sessions s WHERE s.workspace = notes.workspace AND s.key <> ?1)";
    connection.prepare_cached(sql)?.execute([session])?;
    Ok(())
}

/// Removes some that were made before a time; whether there were any.
pub(super) fn remove_older(connection: &Connection, oldest: i64) -> Result<bool, StoreError> {
    let sql = "DELETE FROM notes WHERE key IN (SELECT key FROM notes WHERE made < ?1 LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute([oldest, MAX_SWEPT])? > 0)
}

fn read(row: &Row<'_>) -> rusqlite::Result<StoredNotesSummary> {
    let summary = NotesSummary {
        first: row.get(0)?,
        last: row.get(1)?,
        source: row.get(2)?,
        text: row.get(3)?,
        tokens: row.get(4)?,
    };
    Ok(StoredNotesSummary { made: moment(row.get(5)?), summary })
}
