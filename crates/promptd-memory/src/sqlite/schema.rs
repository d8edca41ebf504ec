//! The tables, and how those of earlier versions become them: forward only.

use rusqlite::Connection;

use super::words;
use crate::{LOG_TARGET, StoreError};

/// What the file says it is: `prmd`.
const APPLICATION: i32 = 0x7072_6d64;

/// What brings a database to version 1, 2, and so on. None that was released changes.
const MIGRATIONS: &[Migration] = &[
    Migration { sql: VERSION_1, fill: None },
    Migration { sql: VERSION_2, fill: None },
    Migration { sql: VERSION_3, fill: None },
    Migration { sql: VERSION_4, fill: None },
    Migration { sql: VERSION_5, fill: None },
    Migration { sql: VERSION_6, fill: Some(words::fill) },
];

/// The version that brought segments.
pub(super) const WITH_SEGMENTS: usize = 2;
/// The version that brought vectors.
pub(super) const WITH_VECTORS: usize = 3;

type Fill = fn(&Connection) -> Result<(), StoreError>;

/// What brings a database to the next version.
struct Migration {
    sql: &'static str,
    /// What SQL alone cannot do, after it.
    fill: Option<Fill>,
}

/// Times are milliseconds since 1970, except for that of a message, which is its caller's. `state`: 0 live, 1 being copied, 2
/// being removed; only live sessions are seen. `number` is a message's index in its session.
const VERSION_1: &str = "CREATE TABLE sessions (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        workspace TEXT NOT NULL,
        id TEXT NOT NULL,
        state INTEGER NOT NULL DEFAULT 0,
        position INTEGER NOT NULL,
        system INTEGER NOT NULL,
        user INTEGER NOT NULL,
        assistant INTEGER NOT NULL,
        tool INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        created INTEGER NOT NULL,
        changed INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX sessions_by_id ON sessions (workspace, id) WHERE state < 2;
    CREATE INDEX sessions_by_change ON sessions (workspace, changed, id) WHERE state = 0;
    CREATE INDEX sessions_by_age ON sessions (changed) WHERE state = 0;
    CREATE INDEX sessions_unfinished ON sessions (state) WHERE state > 0;
    CREATE TABLE messages (
        key INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        position INTEGER NOT NULL,
        number INTEGER NOT NULL,
        id TEXT NOT NULL,
        role INTEGER NOT NULL,
        content TEXT NOT NULL,
        name TEXT NOT NULL,
        tool_call_id TEXT NOT NULL,
        tool_calls TEXT NOT NULL,
        seconds INTEGER,
        nanoseconds INTEGER,
        stored INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX messages_by_position ON messages (session, position);
    CREATE UNIQUE INDEX messages_by_id ON messages (session, id);
    CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'unicode61 remove_diacritics 2');
    INSERT INTO words (words, rank) VALUES ('secure-delete', 1);";

/// `events` counts what happened to a session, `seen` what of it is planned. `start` and `stop` are numbers of messages.
/// `state`: 0 waits for its summary, 1 has it, 2 is set aside. A segment is seen from the position `since` on, and from
/// `until` on its parent is shown instead.
const VERSION_2: &str = "ALTER TABLE sessions ADD COLUMN events INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE sessions ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX sessions_due ON sessions (key) WHERE state = 0 AND seen < events;
    CREATE TABLE segments (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        session INTEGER NOT NULL,
        parent INTEGER,
        level INTEGER NOT NULL,
        start INTEGER NOT NULL,
        stop INTEGER NOT NULL,
        start_seconds INTEGER,
        start_nanoseconds INTEGER,
        stop_seconds INTEGER,
        stop_nanoseconds INTEGER,
        tokens INTEGER NOT NULL,
        target_tokens INTEGER NOT NULL,
        state INTEGER NOT NULL DEFAULT 0,
        summary TEXT NOT NULL DEFAULT '',
        summary_tokens INTEGER NOT NULL DEFAULT 0,
        since INTEGER,
        until INTEGER NOT NULL DEFAULT 9223372036854775807,
        tries INTEGER NOT NULL DEFAULT 0,
        next_try INTEGER NOT NULL DEFAULT 0,
        fault TEXT NOT NULL DEFAULT ''
    ) STRICT;
    CREATE UNIQUE INDEX segments_by_start ON segments (session, level, start);
    CREATE INDEX segments_by_parent ON segments (session, parent, level, start);
    CREATE INDEX segments_by_end ON segments (session, stop);
    CREATE INDEX segments_shown ON segments (session, until);
    CREATE INDEX segments_waiting ON segments (next_try, key) WHERE state = 0;";

/// `models` has the one whose vectors are compared; messages before the position `vectors_to` have theirs. A vector's key is its
/// session's key, shifted by 32 bits, and its position; it is seen from the position `since` on; `numbers` are signed bytes, to be
/// multiplied by `scale`.
const VERSION_3: &str = "DROP TABLE words;
    CREATE TABLE workspaces (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE) STRICT;
    INSERT INTO workspaces (id) SELECT DISTINCT workspace FROM sessions;
    CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'ascii');
    INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
    CREATE VIRTUAL TABLE words_at USING fts5vocab (words, instance);
    CREATE VIRTUAL TABLE words_in USING fts5vocab (words, row);
    ALTER TABLE sessions ADD COLUMN vectors_to INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX sessions_without_vectors ON sessions (key) WHERE state = 0 AND vectors_to < position;
    CREATE TABLE models (key INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL) STRICT;
    CREATE TABLE vectors (
        key INTEGER PRIMARY KEY,
        model INTEGER NOT NULL,
        since INTEGER NOT NULL,
        seconds INTEGER NOT NULL,
        scale REAL NOT NULL,
        numbers BLOB NOT NULL
    ) STRICT;";

/// Summaries of notes. `first` and `last` are paths, `source` names the notes with their texts.
const VERSION_4: &str = "CREATE TABLE notes (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        workspace TEXT NOT NULL,
        first TEXT NOT NULL,
        last TEXT NOT NULL,
        source TEXT NOT NULL,
        summary TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        made INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX notes_by_workspace ON notes (workspace, made, key);
    CREATE INDEX notes_by_age ON notes (made);";

/// FTS5 merges parts of the index of words by itself only where it has very many: [`words::merge_some`] does it between writes.
const VERSION_5: &str = "INSERT INTO words (words, rank) VALUES ('automerge', 0);
    INSERT INTO words (words, rank) VALUES ('crisismerge', 256);";

/// The index of words has hashes of terms, with their workspace before them, by the key in `secrets`: FTS5 keeps some beginnings of
/// terms as long as one of its parts lives, also when all that had them is removed.
const VERSION_6: &str = "DROP TABLE words_at;
    DROP TABLE words_in;
    DROP TABLE words;
    CREATE TABLE secrets (words BLOB NOT NULL) STRICT;
    INSERT INTO secrets (words) VALUES (randomblob(16));
    CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'ascii');
    INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
    INSERT INTO words (words, rank) VALUES ('automerge', 0);
    INSERT INTO words (words, rank) VALUES ('crisismerge', 256);
    CREATE VIRTUAL TABLE words_at USING fts5vocab (words, instance);
    CREATE VIRTUAL TABLE words_in USING fts5vocab (words, row);";

/// Makes the tables, or brings them up to date.
pub(super) fn migrate(connection: &Connection) -> Result<(), StoreError> {
    migrate_to(connection, MIGRATIONS.len())
}

/// The same, up to a version.
pub(super) fn migrate_to(connection: &Connection, last: usize) -> Result<(), StoreError> {
    let version = version(connection)?;
    if (1..last).contains(&version) {
        tracing::info!(target: LOG_TARGET, from = version, to = last, "bringing stored conversations up to date, which can take minutes");
    }
    for (index, migration) in MIGRATIONS.iter().enumerate().take(last).skip(version) {
        migration.run(connection, index + 1).inspect_err(|error| {
            tracing::error!(
                target: LOG_TARGET, from = index, to = index + 1,
                "bringing stored conversations up to date failed, they are as they were: {error}"
            );
        })?;
    }
    Ok(())
}

impl Migration {
    fn run(&self, connection: &Connection, version: usize) -> Result<(), StoreError> {
        let transaction = connection.unchecked_transaction()?;
        transaction.execute_batch(self.sql)?;
        if let Some(fill) = self.fill {
            fill(&transaction)?;
        }
        transaction.pragma_update(None, "user_version", i64::try_from(version).unwrap_or(i64::MAX))?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        Ok(transaction.commit()?)
    }
}

/// That the tables are those of this version.
pub(super) fn check(connection: &Connection) -> Result<(), StoreError> {
    match version(connection)? {
        version if version == MIGRATIONS.len() => Ok(()),
        version => Err(StoreError::Unusable(format!(
            "its files are of version {version}, and this promptd has version {}: start `promptd serve` with them once, which brings them up to it",
            MIGRATIONS.len()
        ))),
    }
}

/// The version of a database, which is not a newer one; 0: it is empty.
pub(super) fn version(connection: &Connection) -> Result<usize, StoreError> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let (version, application) = (number("user_version")?, number("application_id")?);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables > 0 && application != APPLICATION {
        return Err(StoreError::Unusable("the database is not one of promptd's".into()));
    }
    match usize::try_from(version) {
        Ok(version) if version <= MIGRATIONS.len() => Ok(version),
        _ => Err(StoreError::Unusable(format!(
            "its files are of version {version}, and this promptd knows those up to {}: use a newer one",
            MIGRATIONS.len()
        ))),
    }
}
