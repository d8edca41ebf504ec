//! Appending messages.

use promptd_core::turn::ConversationMessage;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{
    messages::{self, calls_to_json, role_number},
    sessions::{self, LIVE, SessionRow, moment, natural},
    words::Words,
};
use crate::{Appended, Refused, Session, SessionKey, StoreError, StoredMessage};

/// Appends those of the messages that are new.
pub(super) fn append(
    connection: &Connection,
    key: &SessionKey,
    messages: &[ConversationMessage],
    expected: Option<u64>,
    now: i64,
) -> Result<Appended, StoreError> {
    let found = sessions::find_if_there(connection, key)?;
    let known = found.as_ref().map_or(Ok(Vec::new()), |row| known(connection, row, messages))?;
    let new = &messages[known.len()..];
    let row = match found {
        Some(row) if new.is_empty() => return Ok(Appended { session: row.session, stored: 0 }),
        Some(row) => row,
        None => begin(connection, key, expected, now)?,
    };
    if let Some(expected) = expected {
        let repeated = known.iter().filter(|&&position| position >= expected).count() as u64;
        if row.session.position != expected.saturating_add(repeated) {
            return Err(StoreError::Moved(row.session.position));
        }
    }
    let mut session = Session { changed: moment(now).max(row.session.changed), ..row.session };
    let words = Words::of_session(connection, row.key)?;
    for (index, message) in (session.message_count()..).zip(new) {
        let stored = StoredMessage { position: session.position, index, stored: moment(now), message: message.clone() };
        messages::insert(connection, row.key, &words, &stored)?;
        session.position += 1;
        session.messages[usize::from(role_number(message.role))] += 1;
        session.bytes += messages::bytes(message);
    }
    sessions::write(connection, Some(row.key), &key.workspace, &session, LIVE)?;
    Ok(Appended { session, stored: new.len() as u64 })
}

/// A new session, without messages.
fn begin(connection: &Connection, key: &SessionKey, expected: Option<u64>, now: i64) -> Result<SessionRow, StoreError> {
    if expected.is_some_and(|expected| expected > 0) {
        return Err(StoreError::Moved(0));
    }
    // One that is being copied is not seen yet, and has the name already.
    sessions::must_be_free(connection, key)?;
    let session = Session {
        id: key.session.clone(),
        position: 0,
        messages: [0; 4],
        bytes: 0,
        created: moment(now),
        changed: moment(now),
    };
    let key = sessions::write(connection, None, &key.workspace, &session, LIVE)?;
    Ok(SessionRow { key, session })
}

/// The positions of the messages that are stored already. They come first, in the order that they are stored in.
fn known(connection: &Connection, row: &SessionRow, messages: &[ConversationMessage]) -> Result<Vec<u64>, StoreError> {
    let sql = "SELECT position, role, content, tool_call_id, tool_calls FROM messages WHERE session = ?1 AND id = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut known: Vec<u64> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let stored = statement.query_row(params![row.key, message.id], |row| {
            let is_same = row.get::<_, u8>(1)? == role_number(message.role)
                && row.get_ref(2)?.as_str()? == message.content
                && row.get_ref(3)?.as_str()? == message.tool_call_id
                && row.get_ref(4)?.as_str()? == calls_to_json(&message.tool_calls);
            Ok((natural(row.get(0)?), is_same))
        });
        match stored.optional()? {
            None => {}
            Some((_, false)) => return Err(StoreError::Differs(Refused::new(index, &message.id))),
            Some((position, true)) => {
                let in_order = known.len() == index && known.last().is_none_or(|&last| last < position);
                if !in_order {
                    return Err(StoreError::OutOfOrder(Refused::new(index, &message.id)));
                }
                known.push(position);
            }
        }
    }
    Ok(known)
}
