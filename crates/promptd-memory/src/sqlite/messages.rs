//! Rows of messages.

use promptd_core::{
    time::Moment,
    turn::{ConversationMessage, Role, ToolCall},
};
use rusqlite::{Connection, Row, params};
use serde_json::{Value, json};

use super::{
    segments,
    sessions::{self, integer, moment, natural},
    words::Words,
};
use crate::{Messages, PageOfMessages, SessionKey, StoreError, StoredMessage, Tail, Window};

/// What [`read`] reads.
pub(super) const COLUMNS: &str = "m.position, m.number, m.id, m.role, m.content, m.name, m.tool_call_id, m.tool_calls, m.seconds, m.nanoseconds, m.stored";

const ROLES: [Role; 4] = [Role::System, Role::User, Role::Assistant, Role::Tool];

/// A role's number in the database, and its place in [`Session::messages`](crate::Session::messages).
pub(super) fn role_number(role: Role) -> u8 {
    match role {
        Role::System => 0,
        Role::User => 1,
        Role::Assistant => 2,
        Role::Tool => 3,
    }
}

/// Messages of a session, the oldest first.
pub(super) fn page(connection: &Connection, key: &SessionKey, page: &PageOfMessages) -> Result<Messages, StoreError> {
    let row = sessions::find(connection, key)?;
    let position = sessions::at(connection, &row, page.at)?;
    let sql = format!(
        "SELECT {COLUMNS} FROM messages m WHERE m.session = ?1 AND m.position >= ?2 AND m.position < ?3 ORDER BY m.position"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![row.key, integer(page.from), integer(position)])?;
    let (mut messages, mut next, mut bytes) = (Vec::new(), None, 0);
    while let Some(row) = rows.next()? {
        let stored = read(row)?;
        bytes += stored.message.bytes();
        let fits = messages.len() < page.limit && bytes <= page.max_bytes;
        if !fits && !messages.is_empty() {
            next = Some(stored.position);
            break;
        }
        messages.push(stored);
    }
    Ok(Messages { position, messages, next })
}

/// The newest messages, as many as are wanted.
pub(super) fn window(
    connection: &Connection,
    key: &SessionKey,
    position: Option<u64>,
    summaries: u64,
    tail: &mut dyn Tail,
) -> Result<Window, StoreError> {
    let session = sessions::find(connection, key)?;
    let position = sessions::at(connection, &session, position)?;
    // Without summaries no message waits for one.
    let summarised = if summaries > 0 { segments::summarised_to(connection, session.key, position)? } else { None };
    let reached = summarised.unwrap_or(u64::MAX);
    let (mut messages, mut positions, mut first_index) = (Vec::new(), Vec::new(), 0);
    let mut newest = Newest { connection, session: session.key, before: position, next: FIRST_CHUNK };
    'reading: loop {
        let chunk = newest.read()?;
        if chunk.is_empty() {
            break;
        }
        for stored in chunk.into_iter().rev() {
            let wants_more = tail.take(&stored.message, stored.index <= reached);
            first_index = stored.index;
            positions.push(stored.position);
            messages.push(stored.message);
            if !wants_more {
                break 'reading;
            }
        }
    }
    messages.reverse();
    positions.reverse();
    let segments = match summarised {
        Some(_) => segments::tree(connection, session.key, position, first_index, summaries)?,
        None => Vec::new(),
    };
    Ok(Window { position, first_index, messages, positions, segments })
}

/// How many of the newest messages are read first.
const FIRST_CHUNK: i64 = 16;
/// The most that are read at once.
const CHUNK: i64 = 64;
/// The most bytes of them, unless one message alone is longer.
const CHUNK_BYTES: usize = 1 << 20;
/// How many times as many messages are read after a chunk that was short enough, and how many times fewer instead of one that was not.
const STEP: i64 = 4;

/// Reads the newest messages, in chunks. The rows of a chunk are read in the order in which they were stored: where the next row lies
/// beside the one before, SQLite looks for it there, which it does not where it reads backwards. How long the messages are shows
/// only then: to ask for their lengths first would visit each row twice.
struct Newest<'c> {
    connection: &'c Connection,
    session: i64,
    /// The messages that are not read yet are before this position.
    before: u64,
    /// How many are read next.
    next: i64,
}

impl Newest<'_> {
    /// The next ones, the oldest first; none: all are read.
    fn read(&mut self) -> Result<Vec<StoredMessage>, StoreError> {
        let chunk = loop {
            if let Some(chunk) = self.chunk()? {
                break chunk;
            }
            self.next = (self.next / STEP).max(1);
        };
        self.before = chunk.first().map_or(0, |first| first.position);
        self.next = (self.next * STEP).min(CHUNK);
        Ok(chunk)
    }

    /// So many as `next` says; `None`: together they are too long.
    fn chunk(&self) -> Result<Option<Vec<StoredMessage>>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM messages m WHERE m.session = ?1 AND m.position < ?2 AND m.position >= coalesce(
                 (SELECT position FROM messages WHERE session = ?1 AND position < ?2
                  ORDER BY position DESC LIMIT 1 OFFSET ?3 - 1), 0)
             ORDER BY m.position"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![self.session, integer(self.before), self.next])?;
        let (mut chunk, mut bytes) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            let stored = read(row)?;
            bytes += stored.message.bytes();
            if bytes > CHUNK_BYTES && self.next > 1 {
                return Ok(None);
            }
            chunk.push(stored);
        }
        Ok(Some(chunk))
    }
}

/// Adds a message and its words.
pub(super) fn insert(
    connection: &Connection,
    session: i64,
    words: &Words<'_>,
    stored: &StoredMessage,
) -> Result<(), StoreError> {
    let message = &stored.message;
    let (seconds, nanoseconds) = message.time.map(Moment::as_parts).unzip();
    let sql = "INSERT INTO messages
             (session, position, number, id, role, content, name, tool_call_id, tool_calls, seconds, nanoseconds, stored)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    connection.prepare_cached(sql)?.execute(params![
        session,
        integer(stored.position),
        integer(stored.index),
        message.id,
        role_number(message.role),
        message.content,
        message.name,
        message.tool_call_id,
        calls_to_json(&message.tool_calls),
        seconds,
        nanoseconds,
        stored.stored.as_milliseconds(),
    ])?;
    words.add(connection.last_insert_rowid(), message.role, &message.content)
}

/// Removes a row and its words.
pub(super) fn remove(
    connection: &Connection,
    key: i64,
    words: &Words<'_>,
    role: Role,
    content: &str,
) -> Result<(), StoreError> {
    words.remove(key, role, content)?;
    connection.prepare_cached("DELETE FROM messages WHERE key = ?1")?.execute([key])?;
    Ok(())
}

/// A row of [`COLUMNS`].
pub(super) fn read(row: &Row<'_>) -> Result<StoredMessage, StoreError> {
    let time = row.get::<_, Option<i64>>(8)?.zip(row.get::<_, Option<u32>>(9)?);
    Ok(StoredMessage {
        position: natural(row.get(0)?),
        index: natural(row.get(1)?),
        stored: moment(row.get(10)?),
        message: ConversationMessage {
            role: role(row.get(3)?)?,
            content: row.get(4)?,
            tool_call_id: row.get(6)?,
            name: row.get(5)?,
            time: time.and_then(|(seconds, nanoseconds)| Moment::new(seconds, nanoseconds).ok()),
            tool_calls: calls_of_json(&row.get::<_, String>(7)?)?,
            id: row.get(2)?,
        },
    })
}

pub(super) fn role(number: u8) -> Result<Role, StoreError> {
    ROLES.get(usize::from(number)).copied().ok_or_else(|| StoreError::Damaged("a message's role is not one".into()))
}

/// The text in a column.
pub(super) fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r str, StoreError> {
    row.get_ref(column)?.as_str().map_err(|_| StoreError::Damaged("a message's text is not one".into()))
}

/// The bytes that a message counts for.
pub(super) fn bytes(message: &ConversationMessage) -> u64 {
    (message.content.len() + calls_to_json(&message.tool_calls).len()) as u64
}

/// `[["id","name","arguments"],…]`; empty: none.
pub(super) fn calls_to_json(calls: &[ToolCall]) -> String {
    if calls.is_empty() {
        return String::new();
    }
    calls.iter().map(|call| json!([call.id, call.name, call.arguments_json])).collect::<Value>().to_string()
}

fn calls_of_json(json: &str) -> Result<Vec<ToolCall>, StoreError> {
    if json.is_empty() {
        return Ok(Vec::new());
    }
    let damaged = || StoreError::Damaged("a message's calls of tools are not a list".into());
    let Ok(calls) = serde_json::from_str::<Vec<[String; 3]>>(json) else { return Err(damaged()) };
    Ok(calls.into_iter().map(|[id, name, arguments_json]| ToolCall { id, name, arguments_json }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Options, SqliteStore, Store as _,
        suite::{key, said},
    };

    #[test]
    fn of_long_messages_few_are_read_at_once() {
        let home = tempfile::TempDir::new().unwrap();
        let store = SqliteStore::open(&Options::new(home.path().to_owned())).unwrap();
        let lengths = [10, CHUNK_BYTES * 3, 10, 10, CHUNK_BYTES / 3, CHUNK_BYTES / 2, CHUNK_BYTES / 2, 10];
        let messages = (0..40).map(|number| {
            let length = lengths[number % lengths.len()];
            said(Role::User, &format!("m{number}"), &"x".repeat(length))
        });
        store.append(&key("s"), messages.collect(), None).wait().unwrap();
        let connection = super::super::connection::reading(&home.path().join("conversations.db")).unwrap();
        let session = sessions::find(&connection, &key("s")).unwrap().key;
        let mut newest = Newest { connection: &connection, session, before: 40, next: FIRST_CHUNK };
        let mut read = Vec::new();
        loop {
            let chunk = newest.read().unwrap();
            let bytes: usize = chunk.iter().map(|stored| stored.message.bytes()).sum();
            assert!(bytes <= CHUNK_BYTES || chunk.len() == 1, "{} messages of {bytes} bytes", chunk.len());
            if chunk.is_empty() {
                break;
            }
            read.extend(chunk.iter().rev().map(|stored| stored.index));
        }
        assert!(read.into_iter().eq((0..40).rev()));
    }
}
