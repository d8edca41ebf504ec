//! What is done little by little, between writes: copies, removals, and what is kept no longer.

use std::time::Duration;

use promptd_core::id::Id;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{
    connection::without_waiting,
    messages::{self, COLUMNS, role_number},
    notes, remove, segments,
    sessions::{COPIED, Fork, LIVE, REMOVED, hide, integer, natural},
    vectors,
    words::Words,
};
use crate::{SessionKey, StoreError};

/// How many messages, or segments, are copied or removed in one step.
const STEP: usize = 50;
/// The most bytes of text that one step copies or removes, except for its last message or segment.
const STEP_BYTES: u64 = 64 << 10;
/// How many sessions one sweep takes out of sight.
const MAX_SWEPT: usize = 1_000;

/// What is kept. Whole sessions are removed, those first that have not changed for the longest time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keep {
    /// For how long after its last change; `None`: until it is removed by a call.
    pub age: Option<Duration>,
    /// The most that the database takes of the disk, in bytes; `None`: no bound.
    pub bytes: Option<u64>,
}

/// What a sweep found.
pub(super) struct Swept {
    /// What the database takes of the disk, without what is free in it.
    pub(super) bytes: i64,
    /// The sessions that are kept no longer.
    pub(super) hidden: Vec<SessionKey>,
    /// Whether there are sessions to remove, these or others.
    pub(super) is_removing: bool,
    /// Whether something was removed at once.
    pub(super) has_removed: bool,
}

/// How far a fork is.
pub(super) enum Step {
    More(Fork),
    Done,
}

/// How far removing is.
pub(super) enum Removing {
    /// There is nothing to remove.
    Nothing,
    /// A part of a session.
    Some,
    /// The last of a session, by its key.
    Session(i64),
}

/// Takes sessions out of sight that are kept no longer.
pub(super) fn sweep(connection: &Connection, keep: &Keep, now: i64) -> Result<Swept, StoreError> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let bytes = (number("page_count")? - number("freelist_count")?) * number("page_size")?;
    let age = keep.age.map(|age| i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
    let oldest = age.map_or(i64::MIN, |age| now.saturating_sub(age));
    // One at a time: how much room it makes is known when it is gone.
    let transaction = connection.unchecked_transaction()?;
    let is_too_large = keep.bytes.is_some_and(|most| natural(bytes) > most) && !is_removing(connection)?;
    let sql =
        format!("SELECT key, workspace, id, changed FROM sessions WHERE state = {LIVE} ORDER BY changed LIMIT ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let most = i64::try_from(MAX_SWEPT).unwrap_or(i64::MAX);
    let rows = statement.query_map([most], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?, row.get::<_, i64>(3)?))
    })?;
    let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
    let mut hidden = Vec::new();
    for (index, (key, workspace, session, changed)) in rows.into_iter().enumerate() {
        if changed >= oldest && !(is_too_large && index == 0) {
            break;
        }
        hide(&transaction, key)?;
        hidden.extend(Id::parse(&workspace).ok().zip(Id::parse(&session).ok()));
    }
    let is_removing = is_removing(&transaction)?;
    let has_removed = notes::remove_older(&transaction, oldest)?;
    transaction.commit()?;
    let hidden = hidden.into_iter().map(|(workspace, session)| SessionKey { workspace, session }).collect();
    Ok(Swept { bytes, hidden, is_removing, has_removed })
}

fn is_removing(connection: &Connection) -> Result<bool, StoreError> {
    Ok(connection.prepare_cached("SELECT 1 FROM sessions WHERE state > 0 AND state = ?1")?.exists([REMOVED])?)
}

/// Removes a part of a session that is out of sight.
pub(super) fn remove_some(connection: &Connection) -> Result<Removing, StoreError> {
    let transaction = connection.unchecked_transaction()?;
    let next = "SELECT key FROM sessions WHERE state > 0 AND state = ?1 LIMIT 1";
    let next = transaction.prepare_cached(next)?.query_row([REMOVED], |row| row.get::<_, i64>(0)).optional()?;
    let Some(key) = next else { return Ok(Removing::Nothing) };
    let done = !vectors::remove_some(&transaction, key, 0, STEP)?
        && remove::remove_some(&transaction, key, 0, STEP, STEP_BYTES)?.is_nothing()
        && !segments::remove_some(&transaction, key, STEP)?;
    if done {
        notes::go_with(&transaction, key)?;
        transaction.prepare_cached("DELETE FROM sessions WHERE key = ?1")?.execute([key])?;
    }
    transaction.commit()?;
    Ok(if done { Removing::Session(key) } else { Removing::Some })
}

/// Copies a part of a session: its messages, then its segments. The copy is seen once it is whole.
pub(super) fn copy_some(connection: &Connection, fork: &Fork) -> Result<Step, StoreError> {
    let transaction = connection.unchecked_transaction()?;
    let step = match fork.segment {
        None => copy_messages(&transaction, fork)?,
        Some(last) => copy_segments(&transaction, fork, last)?,
    };
    transaction.commit()?;
    Ok(step)
}

fn copy_messages(connection: &Connection, fork: &Fork) -> Result<Step, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM messages m WHERE m.session = ?1 AND m.position >= ?2 AND m.position < ?3
         ORDER BY m.position LIMIT ?4"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let limit = i64::try_from(STEP).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![fork.source, integer(fork.next), integer(fork.end), limit])?;
    let words = Words::of_session(connection, fork.key)?;
    let (mut counts, mut bytes, mut next) = ([0_i64; 4], 0, None);
    while bytes < STEP_BYTES
        && let Some(row) = rows.next()?
    {
        let stored = messages::read(row)?;
        messages::insert(connection, fork.key, &words, &stored)?;
        counts[usize::from(role_number(stored.message.role))] += 1;
        bytes += messages::bytes(&stored.message);
        next = Some(stored.position + 1);
    }
    let [system, user, assistant, tool] = counts;
    let sql =
        "UPDATE sessions SET system = system + ?2, user = user + ?3, assistant = assistant + ?4, tool = tool + ?5,
             bytes = bytes + ?6 WHERE key = ?1";
    let added = params![fork.key, system, user, assistant, tool, integer(bytes)];
    connection.prepare_cached(sql)?.execute(added)?;
    if let Some(next) = next {
        vectors::copy(connection, fork.source, fork.key, fork.next..next)?;
    }
    Ok(Step::More(match next {
        Some(next) => Fork { next, ..fork.clone() },
        // From the roots down.
        None => Fork { segment: Some((i64::MAX, i64::MAX)), ..fork.clone() },
    }))
}

fn copy_segments(connection: &Connection, fork: &Fork, last: (i64, i64)) -> Result<Step, StoreError> {
    let copied = segments::copy_some(connection, fork, last, STEP, STEP_BYTES)?;
    if copied.is_some() {
        return Ok(Step::More(Fork { segment: copied, ..fork.clone() }));
    }
    must_be_whole(connection, fork)?;
    connection.prepare_cached("UPDATE sessions SET state = ?2 WHERE key = ?1")?.execute([fork.key, LIVE])?;
    Ok(Step::Done)
}

/// That nobody removed the session, or messages of it, while it was copied.
fn must_be_whole(connection: &Connection, fork: &Fork) -> Result<(), StoreError> {
    let sql = "SELECT s.system + s.user + s.assistant + s.tool FROM sessions s WHERE s.key = ?1";
    let copied: i64 = connection.prepare_cached(sql)?.query_row([fork.key], |row| row.get(0))?;
    // A position never comes back: where the last message still is, all before it is as it was, and so are their segments.
    let sql = "SELECT 1 FROM messages WHERE session = ?2
         AND position = (SELECT max(c.position) FROM messages c WHERE c.session = ?1)";
    let is_there = fork.messages == 0 || connection.prepare_cached(sql)?.exists([fork.key, fork.source])?;
    let is_whole = is_there && natural(copied) == fork.messages;
    if is_whole { Ok(()) } else { Err(StoreError::NoPosition(fork.end)) }
}

/// Gives up the forks of a process that ended.
pub(super) fn give_up_forks(connection: &Connection) -> Result<(), StoreError> {
    connection.execute("UPDATE sessions SET state = ?2 WHERE state > 0 AND state = ?1", [COPIED, REMOVED])?;
    Ok(())
}

/// Gives up a fork.
pub(super) fn give_up_fork(connection: &Connection, key: i64) -> Result<(), StoreError> {
    hide(connection, key)
}

/// Brings everything from the log to the database, and cuts the log off; `false`: somebody reads it.
pub(super) fn cut_log(connection: &Connection) -> Result<bool, StoreError> {
    let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
    let busy: i64 = without_waiting(connection, |connection| Ok(connection.query_row(sql, [], |row| row.get(0))?))?;
    Ok(busy == 0)
}
