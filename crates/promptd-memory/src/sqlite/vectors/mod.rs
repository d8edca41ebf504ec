//! Rows of vectors: one a message, of the model in use once all are made, in the order of sessions and positions.

mod held;
mod quantised;

use rusqlite::{Connection, OptionalExtension as _, params};

pub(super) use self::{
    held::{Held, Searched, Vector},
    quantised::{Quantised, dot},
};
use super::{
    messages,
    sessions::{LIVE, integer, natural},
    terms,
};
use crate::{StoreError, Unvectorised, Vectorised, WaitingMessage};
use promptd_core::id::Id;

/// A row's key is its session's key, shifted by so many bits, and its position: those of a session are beside each other.
const POSITION_BITS: u32 = 32;

/// The key of a message's vector, of a session by its key.
pub(super) fn key(session: i64, position: u64) -> i64 {
    (session << POSITION_BITS) | integer(position.min(u64::from(u32::MAX)))
}

/// The session and the position of a vector's key.
pub(super) fn place(key: i64) -> (i64, u64) {
    (key >> POSITION_BITS, natural(key & i64::from(u32::MAX)))
}

/// The key of the model in use, if it has this name.
pub(super) fn key_of(connection: &Connection, model: &str) -> Result<Option<i64>, StoreError> {
    Ok(in_use(connection)?.filter(|(_, name)| name == model).map(|(key, _)| key))
}

fn in_use(connection: &Connection) -> Result<Option<(i64, String)>, StoreError> {
    let sql = "SELECT key, name FROM models ORDER BY key DESC LIMIT 1";
    let model = connection.prepare_cached(sql)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)));
    Ok(model.optional()?)
}

/// From now on vectors are this model's. Where they were another's all messages wait again; each keeps its old vector until it
/// has a new one.
pub(super) fn use_model(connection: &Connection, name: &str) -> Result<(), StoreError> {
    if key_of(connection, name)?.is_some() {
        return Ok(());
    }
    connection.execute("INSERT INTO models (name) VALUES (?1)", [name])?;
    connection.execute("DELETE FROM models WHERE key < (SELECT max(key) FROM models)", [])?;
    connection.execute("UPDATE sessions SET vectors_to = 0", [])?;
    Ok(())
}

/// Messages without a vector, those of a session in order, until they are so many or have so many bytes of text.
pub(super) fn waiting(connection: &Connection, most: usize, max_bytes: usize) -> Result<Unvectorised, StoreError> {
    let Some((model, _)) = in_use(connection)? else { return Ok(Unvectorised::default()) };
    let mut waiting = Unvectorised { model, ..Unvectorised::default() };
    let sql = format!("SELECT key, vectors_to, position FROM sessions WHERE state = {LIVE} AND vectors_to < position");
    let mut sessions = connection.prepare_cached(&sql)?;
    let mut sessions = sessions.query([])?;
    let mut bytes = 0;
    while let Some(row) = sessions.next()? {
        let (session, from, end) = (row.get(0)?, natural(row.get(1)?), natural(row.get(2)?));
        let room = (most - waiting.messages.len(), max_bytes.saturating_sub(bytes));
        let (messages, next) = match spoken(connection, session, from, room) {
            Ok(read) => read,
            // Whoever reads the session meets the damage; others have their vectors.
            Err(StoreError::Damaged(_)) => continue,
            Err(error) => return Err(error),
        };
        bytes += messages.iter().map(|message| message.text.len()).sum::<usize>();
        waiting.messages.extend(messages);
        waiting.sessions.push((session, from, next.unwrap_or(end)));
        if next.is_some() {
            break;
        }
    }
    Ok(waiting)
}

/// The messages of a session from a position on, until they are so many or have so many bytes of text; and where the rest begins, if
/// there is more.
fn spoken(
    connection: &Connection,
    session: i64,
    from: u64,
    (most, max_bytes): (usize, usize),
) -> Result<(Vec<WaitingMessage>, Option<u64>), StoreError> {
    let sql = "SELECT position, role, content FROM messages WHERE session = ?1 AND position >= ?2 ORDER BY position";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![session, integer(from)])?;
    let (mut messages, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let position = natural(row.get(0)?);
        if messages.len() >= most || bytes >= max_bytes {
            return Ok((messages, Some(position)));
        }
        let text = terms::spoken(messages::role(row.get(1)?)?, messages::text(row, 2)?);
        bytes += text.len();
        messages.push(WaitingMessage { session, position, text: text.to_owned() });
    }
    Ok((messages, None))
}

/// Adds the vectors of messages that are still there, all or none, and notes how far each session has them.
pub(super) fn add(connection: &Connection, done: &Vectorised) -> Result<(), StoreError> {
    if in_use(connection)?.is_none_or(|(model, _)| model != done.of.model) {
        return Ok(());
    }
    // Seen from the next position on.
    let sql = "INSERT OR REPLACE INTO vectors (key, model, since, seconds, scale, numbers)
         SELECT ?1, ?4, s.position + 1, coalesce(m.seconds, m.stored / 1000), ?5, ?6
         FROM messages m JOIN sessions s ON s.key = m.session WHERE m.session = ?2 AND m.position = ?3
             AND s.vectors_to <= ?3";
    let mut statement = connection.prepare_cached(sql)?;
    for (message, vector) in done.of.messages.iter().zip(&done.vectors) {
        let Quantised { scale, numbers } = Quantised::of(vector).unwrap_or_default();
        let key = key(message.session, message.position);
        statement.execute(params![key, message.session, integer(message.position), done.of.model, scale, numbers])?;
    }
    let sql = "UPDATE sessions SET vectors_to = ?3 WHERE key = ?1 AND vectors_to = ?2";
    for &(session, from, to) in &done.of.sessions {
        connection.prepare_cached(sql)?.execute(params![session, integer(from), integer(to)])?;
    }
    Ok(())
}

/// Removes the vectors of a session from a position on, at most so many; whether there were any.
pub(super) fn remove_some(
    connection: &Connection,
    session: i64,
    position: u64,
    most: usize,
) -> Result<bool, StoreError> {
    let sql = "DELETE FROM vectors WHERE key IN (SELECT key FROM vectors WHERE key >= ?1 AND key < ?2 LIMIT ?3)";
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let removed =
        connection.prepare_cached(sql)?.execute(params![key(session, position), key(session + 1, 0), most])?;
    Ok(removed > 0)
}

/// Copies the vectors of a session's messages between two positions to another session.
pub(super) fn copy(connection: &Connection, from: i64, to: i64, range: std::ops::Range<u64>) -> Result<(), StoreError> {
    let sql = "INSERT OR REPLACE INTO vectors (key, model, since, seconds, scale, numbers)
         SELECT key + ?3, model, since, seconds, scale, numbers FROM vectors WHERE key >= ?1 AND key < ?2";
    let moved = key(to, 0) - key(from, 0);
    connection.prepare_cached(sql)?.execute(params![key(from, range.start), key(from, range.end), moved])?;
    Ok(())
}

/// That a row is not as it was written.
fn wrong() -> StoreError {
    StoreError::Damaged("a vector is not one".into())
}

/// How many messages of a workspace wait for their vector, and the name of the model in use; empty: there is none.
pub(super) fn waiting_in(connection: &Connection, workspace: &Id) -> Result<(u64, String), StoreError> {
    let sql = format!(
        "SELECT count(*) FROM sessions s CROSS JOIN messages m ON m.session = s.key AND m.position >= s.vectors_to
         WHERE s.workspace = ?1 AND s.state = {LIVE} AND s.vectors_to < s.position"
    );
    let waiting = connection.prepare_cached(&sql)?.query_row([workspace.as_str()], |row| row.get(0))?;
    Ok((natural(waiting), in_use(connection)?.map(|(_, name)| name).unwrap_or_default()))
}

/// The sessions that have other vectors than they should: one for each message up to where they are made, and no others.
pub(super) fn damaged_sessions(connection: &Connection, most: usize) -> Result<Vec<String>, StoreError> {
    let sql = format!(
        "SELECT s.workspace || '/' || s.id FROM sessions s WHERE s.state = {LIVE} AND (
             EXISTS (SELECT 1 FROM messages m LEFT JOIN vectors v ON v.key = (s.key << {POSITION_BITS}) + m.position
                 WHERE m.session = s.key AND m.position < s.vectors_to AND v.key IS NULL)
             OR (SELECT count(*) FROM vectors v WHERE v.key >= s.key << {POSITION_BITS} AND v.key < (s.key + 1) << {POSITION_BITS})
                 > (SELECT count(*) FROM messages m JOIN vectors v ON v.key = (s.key << {POSITION_BITS}) + m.position
                     WHERE m.session = s.key))
         LIMIT ?1"
    );
    let mut statement = connection.prepare(&sql)?;
    let names = statement.query_map([i64::try_from(most).unwrap_or(i64::MAX)], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}
