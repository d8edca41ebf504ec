//! Reading the tree of a session as it was at a position.

use promptd_core::turn::Segment;
use rusqlite::{Connection, OptionalExtension as _, Statement, params};

use super::{COLUMNS, read};
use crate::{
    ListedSegments, PageOfSegments, SegmentState, SessionKey, StoreError, StoredSegment,
    sqlite::sessions::{self, integer, natural},
};

/// The most segments that are read for one prompt.
const MAX_READ: usize = 2_000;

/// Segments of a session, the lowest level first.
pub(in crate::sqlite) fn page(
    connection: &Connection,
    key: &SessionKey,
    page: &PageOfSegments,
) -> Result<ListedSegments, StoreError> {
    let row = sessions::find(connection, key)?;
    let (level, start) = page.after.map_or((-1, 0), |(level, start)| (i64::from(level), integer(start)));
    let sql = format!(
        "SELECT {COLUMNS} FROM segments g WHERE g.session = ?1 AND (g.level, g.start) > (?2, ?3)
         ORDER BY g.level, g.start LIMIT ?4"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    // One more says whether there is another page.
    let limit = i64::try_from(page.limit).unwrap_or(i64::MAX).saturating_add(1);
    let mut rows = statement.query(params![row.key, level, start, limit])?;
    let (mut segments, mut bytes): (Vec<StoredSegment>, _) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let segment = read(row)?;
        bytes += segment.summary.len();
        let fits = segments.len() < page.limit && bytes <= page.max_bytes;
        if !fits && !segments.is_empty() {
            return Ok(ListedSegments { segments, is_last: false });
        }
        segments.push(segment);
    }
    Ok(ListedSegments { segments, is_last: true })
}

/// Where the last segment ends that has a summary at a position; `None`: none has.
pub(in crate::sqlite) fn summarised_to(
    connection: &Connection,
    session: i64,
    position: u64,
) -> Result<Option<u64>, StoreError> {
    let sql = "SELECT stop FROM segments WHERE session = ?1 AND stop <= ?2 AND since <= ?2 ORDER BY stop DESC LIMIT 1";
    let stop = connection.prepare_cached(sql)?.query_row(params![session, integer(position)], |row| row.get(0));
    Ok(stop.optional()?.map(natural))
}

/// The tree as a prompt needs it: all roots; of the others, those that can be shown in the place of their parents, the newest
/// first, until they have about twice `tokens`, and all that reach beyond the message `first_index`.
pub(in crate::sqlite) fn tree(
    connection: &Connection,
    session: i64,
    position: u64,
    first_index: u64,
    tokens: u64,
) -> Result<Vec<Segment>, StoreError> {
    let roots = format!(
        "SELECT {COLUMNS} FROM segments g WHERE g.session = ?1 AND g.until > ?2 AND g.since <= ?2
         ORDER BY g.stop DESC LIMIT ?3"
    );
    let children =
        format!("SELECT {COLUMNS} FROM segments g WHERE g.session = ?1 AND g.parent = ?2 ORDER BY g.start DESC");
    let most = i64::try_from(MAX_READ).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(&roots)?;
    let mut level = all(&mut statement, params![session, integer(position), most])?;
    let roots: Vec<u64> = level.iter().map(|segment| segment.id).collect();
    let mut statement = connection.prepare_cached(&children)?;
    let (mut tree, mut used) = (Vec::new(), 0);
    // The highest level first, and of a level the newest, as they are opened.
    while let Some(at) = next(&level) {
        let segment = level.swap_remove(at);
        let is_wanted = segment.messages.end > first_index || used < tokens.saturating_mul(2);
        if segment.level > 0 && is_wanted && tree.len() + level.len() < MAX_READ {
            let below = all(&mut statement, params![session, integer(segment.id)])?;
            used += below.iter().map(|child| u64::from(child.summary_tokens)).sum::<u64>();
            level.extend(below);
        }
        tree.push(shown(segment, &roots));
    }
    tree.sort_by_key(|segment| (segment.level, segment.message_start));
    Ok(tree)
}

/// The newest segment of the highest level.
fn next(segments: &[StoredSegment]) -> Option<usize> {
    let order = |segment: &StoredSegment| (segment.level, segment.messages.start);
    (0..segments.len()).max_by_key(|&at| order(&segments[at]))
}

fn all(statement: &mut Statement<'_>, params: impl rusqlite::Params) -> Result<Vec<StoredSegment>, StoreError> {
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    debug_assert!(found.iter().all(|segment| segment.state == SegmentState::Summarised));
    Ok(found)
}

/// As a turn brings it. Those that were no one's children then are roots.
fn shown(segment: StoredSegment, roots: &[u64]) -> Segment {
    let parent = segment.parent.filter(|_| !roots.contains(&segment.id));
    Segment {
        id: segment.id.to_string(),
        parent_id: parent.map(|parent| parent.to_string()).unwrap_or_default(),
        level: segment.level,
        message_start: segment.messages.start,
        message_end: segment.messages.end,
        start_time: segment.start_time,
        end_time: segment.end_time,
        summary: segment.summary,
        summary_tokens: segment.summary_tokens,
    }
}
