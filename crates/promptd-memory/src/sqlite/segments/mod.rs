//! Rows of segments: the tree of summaries of each session.

mod jobs;
mod planning;
mod tree;

use promptd_core::{id::Id, time::Moment};
use rusqlite::{Connection, Row, params};

pub(super) use self::{
    jobs::{finish, jobs, source},
    planning::{add, due, unplanned},
    tree::{page, summarised_to, tree},
};
use super::sessions::{Fork, LIVE, integer, natural};
use crate::{SegmentState, StoreError, StoredSegment};

/// What [`read`] reads.
const COLUMNS: &str = "g.key, g.parent, g.level, g.start, g.stop, g.start_seconds, g.start_nanoseconds, g.stop_seconds,
    g.stop_nanoseconds, g.tokens, g.target_tokens, g.state, g.summary, g.summary_tokens, g.fault";

/// What a segment's `state` says.
const WAITING: i64 = 0;
const SUMMARISED: i64 = 1;
const SET_ASIDE: i64 = 2;

/// `until` of a segment that no other sums up.
const ALWAYS: i64 = i64::MAX;

/// A row of [`COLUMNS`].
fn read(row: &Row<'_>) -> Result<StoredSegment, StoreError> {
    let small = |column| row.get::<_, i64>(column).map(|number| u32::try_from(number).unwrap_or(0));
    let time = |seconds: usize| -> Result<Option<Moment>, StoreError> {
        let time = row.get::<_, Option<i64>>(seconds)?.zip(row.get::<_, Option<u32>>(seconds + 1)?);
        Ok(time.and_then(|(seconds, nanoseconds)| Moment::new(seconds, nanoseconds).ok()))
    };
    Ok(StoredSegment {
        id: natural(row.get(0)?),
        parent: row.get::<_, Option<i64>>(1)?.map(natural),
        level: small(2)?,
        messages: natural(row.get(3)?)..natural(row.get(4)?),
        start_time: time(5)?,
        end_time: time(7)?,
        tokens: natural(row.get(9)?),
        target_tokens: small(10)?,
        state: match row.get::<_, i64>(11)? {
            WAITING => SegmentState::Waiting,
            SUMMARISED => SegmentState::Summarised,
            SET_ASIDE => SegmentState::SetAside,
            _ => return Err(StoreError::Damaged("a segment's state is not one".into())),
        },
        summary: row.get(12)?,
        summary_tokens: small(13)?,
        fault: row.get(14)?,
    })
}

/// How many segments of a workspace wait for their summary, have it, and are set aside.
pub(super) fn count(connection: &Connection, workspace: &Id) -> Result<[u64; 3], StoreError> {
    let sql = format!(
        "SELECT g.state, count(*) FROM sessions s JOIN segments g ON g.session = s.key
         WHERE s.workspace = ?1 AND s.state = {LIVE} GROUP BY g.state"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([workspace.as_str()])?;
    let mut counts = [0; 3];
    while let Some(row) = rows.next()? {
        if let Some(count) = counts.get_mut(usize::from(row.get::<_, u8>(0)?)) {
            *count = natural(row.get(1)?);
        }
    }
    Ok(counts)
}

/// Removes the segments of a session that have messages from an index on; what they summed up has no parent then.
pub(super) fn cut(connection: &Connection, session: i64, first: u64) -> Result<(), StoreError> {
    let orphans = "UPDATE segments SET parent = NULL, until = ?3 WHERE session = ?1 AND stop <= ?2
         AND parent IN (SELECT key FROM segments WHERE session = ?1 AND stop > ?2)";
    connection.prepare_cached(orphans)?.execute(params![session, integer(first), ALWAYS])?;
    let removed = "DELETE FROM segments WHERE session = ?1 AND stop > ?2";
    connection.prepare_cached(removed)?.execute(params![session, integer(first)])?;
    Ok(())
}

/// Removes at most so many segments of a session; whether there were any.
pub(super) fn remove_some(connection: &Connection, session: i64, most: usize) -> Result<bool, StoreError> {
    let sql = "DELETE FROM segments WHERE key IN (SELECT key FROM segments WHERE session = ?1 LIMIT ?2)";
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    Ok(connection.prepare_cached(sql)?.execute([session, most])? > 0)
}

/// Copies some of the segments that a fork has: those after `last`, from the roots down; gives the last of them, `None`: there are
/// no more. At most so many, and so many bytes of summaries but for the last one.
pub(super) fn copy_some(
    connection: &Connection,
    fork: &Fork,
    last: (i64, i64),
    most: usize,
    max_bytes: u64,
) -> Result<Option<(i64, i64)>, StoreError> {
    let sql = "SELECT key, level, start, octet_length(summary) FROM segments
         WHERE session = ?1 AND stop <= ?2 AND (level, start) < (?3, ?4) ORDER BY level DESC, start DESC LIMIT ?5";
    let mut statement = connection.prepare_cached(sql)?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![fork.source, integer(fork.messages), last.0, last.1, most])?;
    // Of two sessions the segments of one level begin at different messages, so that each has one counterpart. A parent that had no
    // summary when it was copied does not replace its children yet.
    let copied = format!(
        "INSERT INTO segments (session, parent, level, start, stop, start_seconds, start_nanoseconds, stop_seconds,
             stop_nanoseconds, tokens, target_tokens, state, summary, summary_tokens, since, until)
         SELECT ?2, p.key, o.level, o.start, o.stop, o.start_seconds, o.start_nanoseconds, o.stop_seconds, o.stop_nanoseconds,
             o.tokens, o.target_tokens, o.state, o.summary, o.summary_tokens, o.since,
             CASE p.state WHEN {SUMMARISED} THEN o.until ELSE {ALWAYS} END
         FROM segments o LEFT JOIN segments q ON q.key = o.parent
         LEFT JOIN segments p ON p.session = ?2 AND p.level = q.level AND p.start = q.start
         WHERE o.key = ?1"
    );
    let mut copy = connection.prepare_cached(&copied)?;
    let (mut reached, mut bytes) = (None, 0);
    while bytes < max_bytes
        && let Some(row) = rows.next()?
    {
        copy.execute([row.get::<_, i64>(0)?, fork.key])?;
        bytes += natural(row.get(3)?);
        reached = Some((row.get(1)?, row.get(2)?));
    }
    Ok(reached)
}

/// The sessions whose tree is not one: its leaves follow each other from the first message on, and every other segment
/// covers what its children do.
pub(super) fn damaged(connection: &Connection, most: usize) -> Result<Vec<String>, StoreError> {
    let sql = "WITH faulty AS (
             SELECT session FROM (SELECT session, start, lag(stop, 1, 0) OVER (PARTITION BY session ORDER BY start) AS reached
                 FROM segments WHERE level = 0) WHERE start <> reached
             UNION SELECT p.session FROM segments p LEFT JOIN segments g ON g.session = p.session AND g.parent = p.key
                 WHERE p.level > 0 GROUP BY p.key
                 HAVING count(g.key) = 0 OR min(g.start) <> p.start OR max(g.stop) <> p.stop OR min(g.level) <> p.level - 1
                     OR max(g.level) <> p.level - 1 OR min(g.state) <> ?2 OR max(g.state) <> ?2
             UNION SELECT g.session FROM segments g LEFT JOIN segments p ON p.key = g.parent
                 WHERE g.parent IS NOT NULL AND p.key IS NULL
             UNION SELECT g.session FROM segments g JOIN sessions s ON s.key = g.session
                 WHERE g.stop > s.system + s.user + s.assistant + s.tool)
         SELECT s.workspace || '/' || s.id FROM faulty f JOIN sessions s ON s.key = f.session WHERE s.state = 0 LIMIT ?1";
    let mut statement = connection.prepare(sql)?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let names = statement.query_map([most, SUMMARISED], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}
