//! What is planned, and what a plan adds.

use promptd_core::{id::Id, time::Moment};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{ALWAYS, COLUMNS, SET_ASIDE, read};
use crate::{
    NewSegment, Planned, SegmentState, SessionKey, StoreError, StoredSegment, Unplanned,
    sqlite::{
        messages,
        sessions::{self, LIVE, integer, natural},
    },
};

/// The most bytes of messages that one plan is made of, except for its last one.
const MAX_BYTES: usize = 8 << 20;
/// What a message takes beside its text, about.
const PER_MESSAGE: usize = 256;
/// The most segments without a parent that are looked at of one session.
const MAX_ROOTS: i64 = 1_000;

/// Sessions that changed since they were planned.
pub(in crate::sqlite) fn due(connection: &Connection, limit: usize) -> Result<Vec<SessionKey>, StoreError> {
    let sql = format!("SELECT workspace, id FROM sessions WHERE state = {LIVE} AND seen < events LIMIT ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map([limit], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let mut due = Vec::new();
    for row in rows {
        let (workspace, session) = row?;
        let key = Id::parse(&workspace).ok().zip(Id::parse(&session).ok());
        due.extend(key.map(|(workspace, session)| SessionKey { workspace, session }));
    }
    Ok(due)
}

/// What the next plan of a session is made of.
pub(in crate::sqlite) fn unplanned(
    connection: &Connection,
    key: &SessionKey,
    most: usize,
) -> Result<Unplanned, StoreError> {
    let row = sessions::find(connection, key)?;
    let events = connection
        .prepare_cached("SELECT events FROM sessions WHERE key = ?1")?
        .query_row([row.key], |row| row.get::<_, i64>(0))?;
    let settled = "SELECT stop FROM segments WHERE session = ?1 AND level = 0 ORDER BY start DESC LIMIT 1";
    let settled = connection.prepare_cached(settled)?.query_row([row.key], |row| row.get(0)).optional()?;
    let first_index = settled.map_or(0, natural);
    // A message's position is its index or greater.
    let sql = format!(
        "SELECT {} FROM messages m WHERE m.session = ?1 AND m.position >= ?2 AND m.number >= ?2 ORDER BY m.position",
        messages::COLUMNS
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![row.key, integer(first_index)])?;
    let (mut found, mut bytes, mut is_all) = (Vec::new(), 0, true);
    while let Some(row) = rows.next()? {
        if found.len() >= most || bytes > MAX_BYTES {
            is_all = false;
            break;
        }
        let stored = messages::read(row)?;
        bytes += PER_MESSAGE + stored.message.bytes();
        found.push(stored);
    }
    let roots = roots(connection, row.key)?;
    Ok(Unplanned { key: row.key, events, first_index, messages: found, is_all, roots })
}

/// The segments without a parent, by level, up to the first of each level that waits: which are rolled up together does not
/// depend on which summary is made first.
fn roots(connection: &Connection, session: i64) -> Result<Vec<StoredSegment>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM segments g WHERE g.session = ?1 AND g.parent IS NULL AND g.state <> {SET_ASIDE}
         ORDER BY g.level, g.start LIMIT ?2"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([session, MAX_ROOTS])?;
    let (mut roots, mut blocked) = (Vec::new(), None);
    while let Some(row) = rows.next()? {
        let segment = read(row)?;
        if segment.state == SegmentState::Waiting {
            blocked = Some(segment.level);
        }
        if blocked != Some(segment.level) {
            roots.push(segment);
        }
    }
    Ok(roots)
}

/// Adds the segments of a plan, unless what they cover has gone.
pub(in crate::sqlite) fn add(connection: &Connection, planned: &Planned) -> Result<(), StoreError> {
    let is_live = format!("SELECT 1 FROM sessions WHERE key = ?1 AND state = {LIVE}");
    let is_live = connection.prepare_cached(&is_live)?.exists([planned.key])?;
    // A position never comes back: where it is, all before it is as it was.
    let is_there = "SELECT 1 FROM messages WHERE session = ?1 AND position = ?2 AND number = ?3";
    let is_there = match planned.last {
        Some((index, position)) => {
            connection.prepare_cached(is_there)?.exists(params![planned.key, integer(position), integer(index)])?
        }
        None => true,
    };
    if !is_live || !is_there {
        return Err(StoreError::NoSession);
    }
    for segment in &planned.segments {
        insert(connection, planned.key, segment)?;
    }
    if let Some(seen) = planned.seen {
        connection.prepare_cached("UPDATE sessions SET seen = ?2 WHERE key = ?1")?.execute([planned.key, seen])?;
    }
    Ok(())
}

/// Adds a segment above its children, if they are what they were.
fn insert(connection: &Connection, session: i64, segment: &NewSegment) -> Result<(), StoreError> {
    let [start, stop] = [segment.start_time, segment.end_time].map(|time| time.map(Moment::as_parts).unzip());
    let sql =
        "INSERT OR IGNORE INTO segments (session, level, start, stop, start_seconds, start_nanoseconds, stop_seconds,
             stop_nanoseconds, tokens, target_tokens)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let added = connection.prepare_cached(sql)?.execute(params![
        session,
        segment.level,
        integer(segment.messages.start),
        integer(segment.messages.end),
        start.0,
        start.1,
        stop.0,
        stop.1,
        integer(segment.tokens),
        segment.target_tokens,
    ])?;
    let key = connection.last_insert_rowid();
    let sql = "UPDATE segments SET parent = ?3 WHERE session = ?1 AND key = ?2 AND parent IS NULL AND until = ?4";
    let mut linked = 0;
    for &child in &segment.children {
        linked += connection.prepare_cached(sql)?.execute(params![session, integer(child), key, ALWAYS])?;
    }
    if added == 1 && linked == segment.children.len() { Ok(()) } else { Err(StoreError::NoSession) }
}
