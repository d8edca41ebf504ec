//! The summaries that are to be made. A row is a job until it has its summary or is set aside.

use std::time::Duration;

use promptd_core::id::Id;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{COLUMNS, SET_ASIDE, SUMMARISED, WAITING, read};
use crate::{
    Job, Jobs, Outcome, SessionKey, Source, StoreError,
    sqlite::{
        messages,
        sessions::{LIVE, integer, natural},
    },
};

/// The segments whose summary is to be made now.
pub(in crate::sqlite) fn jobs(connection: &Connection, limit: usize, now: i64) -> Result<Jobs, StoreError> {
    let sql = format!(
        "SELECT g.key, s.workspace, s.id, g.level, g.start, g.stop, g.target_tokens, g.tries, g.next_try FROM segments g
         JOIN sessions s ON s.key = g.session WHERE g.state = {WAITING} AND s.state = {LIVE}
         ORDER BY g.next_try, g.key LIMIT ?1"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([i64::try_from(limit).unwrap_or(i64::MAX)])?;
    let mut found = Jobs::default();
    while let Some(row) = rows.next()? {
        let next: i64 = row.get(8)?;
        if next > now {
            found.next = Some(Duration::from_millis(natural(next - now)));
            break;
        }
        let id = |column| -> Result<Id, StoreError> {
            let id: String = row.get(column)?;
            Id::parse(&id).map_err(|_| StoreError::Damaged("a session's id is not one".into()))
        };
        let small = |column| row.get::<_, i64>(column).map(|number| u32::try_from(number).unwrap_or(0));
        found.jobs.push(Job {
            segment: natural(row.get(0)?),
            session: SessionKey { workspace: id(1)?, session: id(2)? },
            level: small(3)?,
            messages: natural(row.get(4)?)..natural(row.get(5)?),
            target_tokens: small(6)?,
            tries: small(7)?,
        });
    }
    Ok(found)
}

/// What a segment sums up.
pub(in crate::sqlite) fn source(connection: &Connection, job: &Job, max_bytes: usize) -> Result<Source, StoreError> {
    let sql = "SELECT session FROM segments WHERE key = ?1";
    let session: Option<i64> =
        connection.prepare_cached(sql)?.query_row([integer(job.segment)], |row| row.get(0)).optional()?;
    let session = session.ok_or(StoreError::NoSession)?;
    if job.level > 0 {
        let sql = format!("SELECT {COLUMNS} FROM segments g WHERE g.session = ?1 AND g.parent = ?2 ORDER BY g.start");
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![session, integer(job.segment)])?;
        let mut children = Vec::new();
        while let Some(row) = rows.next()? {
            children.push(read(row)?);
        }
        return Ok(Source::Segments(children));
    }
    let sql = format!(
        "SELECT {} FROM messages m WHERE m.session = ?1 AND m.position >= ?2 AND m.number >= ?2 AND m.number < ?3
         ORDER BY m.position LIMIT ?4",
        messages::COLUMNS
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let count = job.messages.end - job.messages.start;
    let mut rows =
        statement.query(params![session, integer(job.messages.start), integer(job.messages.end), integer(count)])?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let stored = messages::read(row)?;
        bytes += stored.message.bytes();
        if bytes > max_bytes && !found.is_empty() {
            break;
        }
        found.push(stored);
    }
    Ok(Source::Messages(found))
}

/// Stores what became of a job; `false`: it is none any more.
pub(in crate::sqlite) fn finish(
    connection: &Connection,
    job: &Job,
    outcome: &Outcome,
    now: i64,
) -> Result<bool, StoreError> {
    let key = integer(job.segment);
    let changed = match outcome {
        Outcome::Summary(text, tokens) => {
            // Seen from the next position on.
            let sql = format!(
                "UPDATE segments SET state = {SUMMARISED}, summary = ?2, summary_tokens = ?3, fault = '',
                     since = (SELECT s.position + 1 FROM sessions s WHERE s.key = session)
                 WHERE key = ?1 AND state = {WAITING}"
            );
            let changed = connection.prepare_cached(&sql)?.execute(params![key, text, tokens])?;
            let covered = "UPDATE segments SET until = (SELECT p.since FROM segments p WHERE p.key = ?1)
                 WHERE session = (SELECT p.session FROM segments p WHERE p.key = ?1) AND parent = ?1";
            if changed == 1 && job.level > 0 {
                connection.prepare_cached(covered)?.execute([key])?;
            }
            changed
        }
        Outcome::Later { wait, fault, counts } => {
            let next = now.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
            let sql = format!(
                "UPDATE segments SET tries = tries + ?4, next_try = ?2, fault = ?3 WHERE key = ?1 AND state = {WAITING}"
            );
            return Ok(connection.prepare_cached(&sql)?.execute(params![key, next, fault, counts])? == 1);
        }
        Outcome::SetAside(fault) => {
            // Of a rollup that is set aside the children stay what they are: roots.
            let sql = format!(
                "UPDATE segments SET state = {SET_ASIDE}, tries = tries + 1, fault = ?2 WHERE key = ?1 AND state = {WAITING}"
            );
            connection.prepare_cached(&sql)?.execute(params![key, fault])?
        }
    };
    // It may be rolled up now.
    let sql = "UPDATE sessions SET events = events + 1 WHERE key = (SELECT session FROM segments WHERE key = ?1)";
    if changed == 1 {
        connection.prepare_cached(sql)?.execute([key])?;
    }
    Ok(changed == 1)
}
