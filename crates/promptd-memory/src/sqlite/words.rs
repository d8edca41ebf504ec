//! The index of words: which message has which terms, and how often.
//!
//! It is one of FTS5's, which knows tokens alone: each is a hash of a term, by a key of the store's, with its workspace before it. So
//! what is counted and searched is a workspace's own, whatever others say, and no word stays in the file when it is removed: FTS5
//! overwrites what it has of a message, but not the beginnings of tokens by which it finds their pages.
//!
//! Ranking is not FTS5's, since that compares with all that is stored.

use std::iter::repeat_with;

use promptd_core::{id::Id, turn::Role};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use siphasher::sip::SipHasher24;

use super::{messages, sessions::natural, terms};
use crate::StoreError;

/// The digits of a hash. FTS5's tokenizer `ascii` takes letters of both cases as the same.
const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// How many digits a hash has. Of a million terms about 30 have one that another has too, and count as that one then.
const HASH_DIGITS: usize = 7;

/// How many pages of 4 KiB, about, are merged at once.
const MERGED_PAGES: i64 = 16;

/// The index of one workspace.
pub(super) struct Words<'c> {
    connection: &'c Connection,
    workspace: i64,
    hasher: SipHasher24,
}

impl<'c> Words<'c> {
    /// Of a workspace; `None`: nothing was ever said there.
    pub(super) fn of(connection: &'c Connection, workspace: &Id) -> Result<Option<Self>, StoreError> {
        let sql = "SELECT key, (SELECT words FROM secrets) FROM workspaces WHERE id = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        Ok(statement.query_row([workspace.as_str()], |row| Self::read(connection, row)).optional()?)
    }

    /// Of the workspace that a session belongs to.
    pub(super) fn of_session(connection: &'c Connection, session: i64) -> Result<Self, StoreError> {
        let sql = "SELECT w.key, (SELECT words FROM secrets)
             FROM sessions s JOIN workspaces w ON w.id = s.workspace WHERE s.key = ?1";
        Ok(connection.prepare_cached(sql)?.query_row([session], |row| Self::read(connection, row))?)
    }

    /// Of a row that begins with a workspace's key and the key of the store's hashes.
    fn read(connection: &'c Connection, row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { connection, workspace: row.get(0)?, hasher: SipHasher24::new_with_key(&row.get(1)?) })
    }

    /// Adds a message by its key.
    pub(super) fn add(&self, message: i64, role: Role, content: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO words (rowid, text) VALUES (?1, ?2)";
        self.connection.prepare_cached(sql)?.execute(params![message, self.tokens(role, content)])?;
        Ok(())
    }

    /// Removes a message, which must be as it was added.
    pub(super) fn remove(&self, message: i64, role: Role, content: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO words (words, rowid, text) VALUES ('delete', ?1, ?2)";
        self.connection.prepare_cached(sql)?.execute(params![message, self.tokens(role, content)])?;
        Ok(())
    }

    /// How many messages have a term.
    pub(super) fn count(&self, term: &str) -> Result<u64, StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT doc FROM words_in WHERE term = ?1")?;
        let count = statement.query_row([self.token(term)], |row| row.get(0)).optional()?;
        Ok(count.map_or(0, natural))
    }

    /// The keys of the messages that have a term, ascending, and how often each has it.
    pub(super) fn each(&self, term: &str, mut each: impl FnMut(i64, u32)) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached("SELECT doc FROM words_at WHERE term = ?1")?;
        let mut rows = statement.query([self.token(term)])?;
        let mut last: Option<(i64, u32)> = None;
        while let Some(row) = rows.next()? {
            let message = row.get(0)?;
            last = match last {
                Some((same, times)) if same == message => Some((message, times + 1)),
                other => {
                    if let Some((message, times)) = other {
                        each(message, times);
                    }
                    Some((message, 1))
                }
            };
        }
        if let Some((message, times)) = last {
            each(message, times);
        }
        Ok(())
    }

    fn tokens(&self, role: Role, content: &str) -> String {
        let terms = terms::terms(terms::spoken(role, content));
        let tokens: Vec<String> = terms.iter().map(|term| self.token(term)).collect();
        tokens.join(" ")
    }

    fn token(&self, term: &str) -> String {
        let mut rest = self.hasher.hash(term.as_bytes());
        let digits = repeat_with(|| {
            let digit = DIGITS[(rest % 32) as usize];
            rest /= 32;
            char::from(digit)
        });
        let mut token = self.workspace.to_string();
        token.extend(digits.take(HASH_DIGITS));
        token
    }
}

/// Merges parts of the index, for searches to look at few; whether there was something to merge. FTS5 by itself would do it within
/// writes, for up to 50 ms and now and then for most of a second.
pub(super) fn merge_some(connection: &Connection) -> Result<bool, StoreError> {
    let before = connection.total_changes();
    connection.prepare_cached("INSERT INTO words (words, rank) VALUES ('merge', ?1)")?.execute([MERGED_PAGES])?;
    // FTS5 documents that it is fewer where nothing was done.
    Ok(connection.total_changes() - before >= 2)
}

/// Notes that a workspace has conversations.
pub(super) fn note(connection: &Connection, workspace: &Id) -> Result<(), StoreError> {
    let sql = "INSERT INTO workspaces (id) VALUES (?1) ON CONFLICT (id) DO NOTHING";
    connection.prepare_cached(sql)?.execute([workspace.as_str()])?;
    Ok(())
}

/// Adds all messages to an index that is empty.
pub(super) fn fill(connection: &Connection) -> Result<(), StoreError> {
    let sql = "SELECT w.key, (SELECT words FROM secrets), m.key, m.role, m.content
         FROM workspaces w JOIN sessions s ON s.workspace = w.id
         JOIN messages m ON m.session = s.key ORDER BY m.key";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let words = Words::read(connection, row)?;
        words.add(row.get(2)?, messages::role(row.get(3)?)?, messages::text(row, 4)?)?;
    }
    Ok(())
}
