//! Removing messages. Their text is overwritten as they go; it is in the log until that is cut off.

use promptd_core::turn::Role;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{
    messages, segments,
    sessions::{self, LIVE, integer, moment, natural},
    vectors,
    words::Words,
};
use crate::{MAX_TRUNCATED, Session, SessionKey, StoreError};

/// Removes the messages from a position on; gives the session and how many they were.
pub(super) fn truncate(
    connection: &Connection,
    key: &SessionKey,
    position: u64,
    expected: Option<u64>,
    now: i64,
) -> Result<(Session, u64), StoreError> {
    let row = sessions::find(connection, key)?;
    let position = sessions::at(connection, &row, Some(position))?;
    let first = connection
        .prepare_cached("SELECT number FROM messages WHERE session = ?1 AND position >= ?2 ORDER BY position LIMIT 1")?
        .query_row(params![row.key, integer(position)], |row| row.get(0).map(natural))
        .optional()?;
    // Whoever asks again for what is done already need not know where the session is.
    let Some(first) = first else { return Ok((row.session, 0)) };
    if expected.is_some_and(|expected| expected != row.session.position) {
        return Err(StoreError::Moved(row.session.position));
    }
    let count = row.session.message_count().saturating_sub(first);
    if count > MAX_TRUNCATED {
        return Err(StoreError::RemovesTooMany(count));
    }
    let removed = remove_some(connection, row.key, position, usize::MAX, u64::MAX)?;
    segments::cut(connection, row.key, first)?;
    vectors::remove_some(connection, row.key, position, usize::MAX)?;
    let mut session = row.session;
    for (count, removed) in session.messages.iter_mut().zip(removed.messages) {
        *count = count.saturating_sub(removed);
    }
    session.bytes = session.bytes.saturating_sub(removed.bytes);
    // So that a position never names two states.
    session.position += 1;
    session.changed = moment(now).max(session.changed);
    sessions::write(connection, Some(row.key), &key.workspace, &session, LIVE)?;
    Ok((session, count))
}

/// What was removed, by role, and its bytes.
#[derive(Default)]
pub(super) struct Removed {
    messages: [u64; 4],
    bytes: u64,
}

impl Removed {
    pub(super) fn is_nothing(&self) -> bool {
        self.messages == [0; 4]
    }
}

/// Removes messages of a session from a position on, until they are so many or have so many bytes.
pub(super) fn remove_some(
    connection: &Connection,
    session: i64,
    position: u64,
    most: usize,
    max_bytes: u64,
) -> Result<Removed, StoreError> {
    let words = Words::of_session(connection, session)?;
    let mut removed = Removed::default();
    // One by one: a text may be as long as a request.
    for _ in 0..most {
        let sql = "SELECT key, role, content, octet_length(tool_calls) FROM messages
             WHERE session = ?1 AND position >= ?2 ORDER BY position LIMIT 1";
        let oldest = connection.prepare_cached(sql)?.query_row(params![session, integer(position)], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, u8>(1)?, row.get::<_, String>(2)?, row.get::<_, i64>(3)?))
        });
        let Some((key, number, content, calls)) = oldest.optional()? else { break };
        let role: Role = messages::role(number)?;
        messages::remove(connection, key, &words, role, &content)?;
        removed.messages[usize::from(number)] += 1;
        removed.bytes += content.len() as u64 + natural(calls);
        if removed.bytes >= max_bytes {
            break;
        }
    }
    Ok(removed)
}
