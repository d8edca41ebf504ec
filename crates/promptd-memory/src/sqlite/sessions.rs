//! Rows of sessions.

use promptd_core::{id::Id, time::Moment};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{segments, vectors, words};
use crate::{PageOfSessions, Session, SessionKey, Stats, StoreError};

/// What a session's `state` says.
pub(super) const LIVE: i64 = 0;
pub(super) const COPIED: i64 = 1;
pub(super) const REMOVED: i64 = 2;

const COLUMNS: &str = "key, id, position, system, user, assistant, tool, bytes, created, changed";

/// A session, with its key in the other tables.
pub(super) struct SessionRow {
    pub(super) key: i64,
    pub(super) session: Session,
}

/// A fork that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fork {
    /// The session that is made.
    pub(super) key: i64,
    /// The session that it is a copy of.
    pub(super) source: i64,
    /// The next position to copy.
    pub(super) next: u64,
    /// Where it ends.
    pub(super) end: u64,
    /// How many messages it will have.
    pub(super) messages: u64,
    /// The segment that was copied last, by level and first message; `None`: messages are copied still.
    pub(super) segment: Option<(i64, i64)>,
}

/// A session that is there.
pub(super) fn find(connection: &Connection, key: &SessionKey) -> Result<SessionRow, StoreError> {
    find_if_there(connection, key)?.ok_or(StoreError::NoSession)
}

/// A session; `None`: there is none.
pub(super) fn find_if_there(connection: &Connection, key: &SessionKey) -> Result<Option<SessionRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM sessions WHERE workspace = ?1 AND id = ?2 AND state = {LIVE}");
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_row(params![key.workspace.as_str(), key.session.as_str()], |row| Ok(read(row)));
    found.optional()?.transpose()
}

/// That there is no session of this name, neither one that is being copied.
pub(super) fn must_be_free(connection: &Connection, key: &SessionKey) -> Result<(), StoreError> {
    let sql = format!("SELECT 1 FROM sessions WHERE workspace = ?1 AND id = ?2 AND state < {REMOVED}");
    let taken = connection.prepare_cached(&sql)?.exists(params![key.workspace.as_str(), key.session.as_str()])?;
    if taken { Err(StoreError::Exists) } else { Ok(()) }
}

/// Adds a session, or changes it where it has a key; gives its key.
pub(super) fn write(
    connection: &Connection,
    key: Option<i64>,
    workspace: &Id,
    session: &Session,
    state: i64,
) -> Result<i64, StoreError> {
    if key.is_none() {
        words::note(connection, workspace)?;
    }
    let [system, user, assistant, tool] = session.messages.map(integer);
    let sql = "INSERT INTO sessions (key, workspace, id, state, position, system, user, assistant, tool, bytes, created, changed)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
         ON CONFLICT (key) DO UPDATE SET state = ?4, position = ?5, system = ?6, user = ?7, assistant = ?8, tool = ?9,
             bytes = ?10, changed = ?12, events = events + 1";
    connection.prepare_cached(sql)?.execute(params![
        key,
        workspace.as_str(),
        session.id.as_str(),
        state,
        integer(session.position),
        system,
        user,
        assistant,
        tool,
        integer(session.bytes),
        session.created.as_milliseconds(),
        session.changed.as_milliseconds(),
    ])?;
    Ok(key.unwrap_or_else(|| connection.last_insert_rowid()))
}

/// Those of a workspace, the last changed first.
pub(super) fn list(connection: &Connection, workspace: &Id, page: &PageOfSessions) -> Result<Vec<Session>, StoreError> {
    let (changed, id) = page.after.as_ref().map_or((i64::MAX, ""), |(changed, id)| (*changed, id.as_str()));
    let sql = format!(
        "SELECT {COLUMNS} FROM sessions WHERE workspace = ?1 AND state = {LIVE} AND (changed, id) < (?2, ?3)
         ORDER BY changed DESC, id DESC LIMIT ?4"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let limit = i64::try_from(page.limit).unwrap_or(i64::MAX);
    let rows = statement.query_map(params![workspace.as_str(), changed, id, limit], |row| Ok(read(row)))?;
    rows.map(|row| Ok(row??.session)).collect()
}

/// What a workspace has.
pub(super) fn stats(connection: &Connection, workspace: &Id) -> Result<Stats, StoreError> {
    let sql = format!(
        "SELECT count(*), sum(system + user + assistant + tool), sum(bytes), min(created), max(changed) FROM sessions
         WHERE workspace = ?1 AND state = {LIVE}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let stats = statement.query_row([workspace.as_str()], |row| {
        let number = |column| row.get::<_, Option<i64>>(column).map(|number| natural(number.unwrap_or(0)));
        let time = |column| row.get::<_, Option<i64>>(column).map(|time| time.map(moment));
        let (sessions, messages, bytes) = (number(0)?, number(1)?, number(2)?);
        Ok(Stats { sessions, messages, bytes, first: time(3)?, last: time(4)?, ..Stats::default() })
    });
    let stats = stats?;
    let (vectors_waiting, model) = vectors::waiting_in(connection, workspace)?;
    Ok(Stats {
        segments: segments::count(connection, workspace)?,
        vectors: stats.messages.saturating_sub(vectors_waiting),
        vectors_waiting,
        model,
        ..stats
    })
}

/// Takes a session out of sight, to be removed.
pub(super) fn hide(connection: &Connection, key: i64) -> Result<(), StoreError> {
    connection.prepare_cached("UPDATE sessions SET state = ?2 WHERE key = ?1")?.execute([key, REMOVED])?;
    Ok(())
}

/// The position that a call means, if the session had it and still has what it had then.
pub(super) fn at(connection: &Connection, row: &SessionRow, position: Option<u64>) -> Result<u64, StoreError> {
    let Some(position) = position else { return Ok(row.session.position) };
    let last = integer(position.saturating_sub(1));
    let mut statement =
        connection.prepare_cached("SELECT 1 FROM messages WHERE session = ?1 AND position IN (?2, ?3)")?;
    let is_known = position == 0
        || position == row.session.position
        || position < row.session.position && statement.exists([row.key, last, integer(position)])?;
    if is_known { Ok(position) } else { Err(StoreError::NoPosition(position)) }
}

/// Adds the session that a fork becomes: nobody sees it yet.
pub(super) fn begin_fork(
    connection: &Connection,
    from: &SessionKey,
    position: Option<u64>,
    to: &SessionKey,
    now: i64,
) -> Result<Fork, StoreError> {
    let source = find(connection, from)?;
    let end = at(connection, &source, position)?;
    must_be_free(connection, to)?;
    let last = "SELECT number + 1 FROM messages WHERE session = ?1 AND position < ?2 ORDER BY position DESC LIMIT 1";
    let last = connection.prepare_cached(last)?.query_row([source.key, integer(end)], |row| row.get(0)).optional()?;
    let session = Session {
        id: to.session.clone(),
        position: end,
        messages: [0; 4],
        bytes: 0,
        created: moment(now),
        changed: moment(now),
    };
    let key = write(connection, None, &to.workspace, &session, COPIED)?;
    // Vectors that are made from now on are made for the copy too.
    let sql = "UPDATE sessions SET vectors_to = (SELECT min(s.vectors_to, ?3) FROM sessions s WHERE s.key = ?2) WHERE key = ?1";
    connection.prepare_cached(sql)?.execute(params![key, source.key, integer(end)])?;
    Ok(Fork { key, source: source.key, next: 0, end, messages: last.map_or(0, natural), segment: None })
}

fn read(row: &Row<'_>) -> Result<SessionRow, StoreError> {
    let number = |column| row.get::<_, i64>(column).map(natural);
    let id: String = row.get(1)?;
    Ok(SessionRow {
        key: row.get(0)?,
        session: Session {
            id: Id::parse(&id).map_err(|_| StoreError::Damaged("a session's id is not one".into()))?,
            position: number(2)?,
            messages: [number(3)?, number(4)?, number(5)?, number(6)?],
            bytes: number(7)?,
            created: moment(row.get(8)?),
            changed: moment(row.get(9)?),
        },
    })
}

/// A number as SQLite has it.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn natural(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub(super) fn moment(milliseconds: i64) -> Moment {
    Moment::from_milliseconds(milliseconds).unwrap_or(Moment::EPOCH)
}
