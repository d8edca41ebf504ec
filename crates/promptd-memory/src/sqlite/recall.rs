//! Finding messages by their words: BM25 over the search index.

use promptd_core::{id::Id, time::Moment};
use rusqlite::{Connection, params};

use super::{
    messages::{self, COLUMNS},
    sessions::{LIVE, integer},
    spoken,
};
use crate::{MAX_RECALLED, Recall, Recalled, StoreError};

/// The most words of a query that are looked for.
const MAX_WORDS: usize = 32;

/// The messages that match best.
pub(super) fn find(connection: &Connection, workspace: &Id, recall: &Recall) -> Result<Vec<Recalled>, StoreError> {
    let Some(query) = spoken::search(&recall.query, MAX_WORDS) else { return Ok(Vec::new()) };
    let sql = format!(
        "SELECT {COLUMNS}, s.id, -w.rank FROM words w
         CROSS JOIN messages m ON m.key = w.rowid
         CROSS JOIN sessions s ON s.key = m.session
         WHERE words MATCH ?1 AND s.workspace = ?2 AND s.state = {LIVE}
             AND (?3 IS NULL OR s.id = ?3) AND m.position < ?4
             AND coalesce(m.seconds, m.stored / 1000) >= ?5 AND coalesce(m.seconds, m.stored / 1000) < ?6
         ORDER BY w.rank LIMIT ?7"
    );
    let seconds = |moment: Option<Moment>, otherwise| moment.map_or(otherwise, |moment| moment.as_parts().0);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![
        query,
        workspace.as_str(),
        recall.session.as_ref().map(Id::as_str),
        recall.before.map_or(i64::MAX, integer),
        seconds(recall.since, i64::MIN),
        seconds(recall.until, i64::MAX),
        i64::try_from(recall.limit.min(MAX_RECALLED)).unwrap_or(i64::MAX),
    ])?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let id: String = row.get(11)?;
        let session = Id::parse(&id).map_err(|_| StoreError::Damaged("a session's id is not one".into()))?;
        let message = messages::read(row)?;
        bytes += message.message.content.len();
        if bytes > recall.max_bytes && !found.is_empty() {
            break;
        }
        found.push(Recalled { session, message, score: row.get(12)? });
    }
    Ok(found)
}
