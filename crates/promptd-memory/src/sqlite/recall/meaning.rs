//! Messages by their vectors: all of a workspace, or of a session, are compared with the query's, a row at a time, so that memory
//! is bounded whatever there is.

use std::{cmp::Ordering, collections::BinaryHeap};

use rusqlite::{Connection, Row, params};

use super::{
    MAX_RANKED,
    scope::{Place, Scope},
};
use crate::{
    QueryVector, StoreError,
    sqlite::{
        sessions::{LIVE, integer},
        vectors::{self, Quantised, dot},
    },
};

/// A message, and how near its vector is. The greatest is the one that is dropped first.
#[derive(PartialEq)]
struct Near {
    similarity: f32,
    place: Place,
}

impl Eq for Near {}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> Ordering {
        other.similarity.total_cmp(&self.similarity).then(self.place.cmp(&other.place))
    }
}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The nearest messages, at most [`MAX_RANKED`], each with its cosine.
pub(super) fn rank(
    connection: &Connection,
    scope: &Scope<'_>,
    query: &QueryVector,
) -> Result<Vec<(Place, f32)>, StoreError> {
    let Some(model) = vectors::key_of(connection, &query.model)? else { return Ok(Vec::new()) };
    let Some(wanted) = Quantised::of(&query.numbers) else { return Ok(Vec::new()) };
    let mut nearest = BinaryHeap::with_capacity(MAX_RANKED + 1);
    let mut take = |row: &Row<'_>| -> Result<(), StoreError> {
        let numbers = row.get_ref(4)?.as_blob().map_err(|_| damaged())?;
        if row.get::<_, i64>(1)? != model || numbers.len() != wanted.numbers.len() {
            return Ok(());
        }
        #[expect(clippy::cast_possible_truncation, reason = "a cosine needs few digits")]
        let similarity = (f64::from(dot(&wanted.numbers, numbers)) * wanted.scale * row.get::<_, f64>(3)?) as f32;
        if similarity < query.min_similarity {
            return Ok(());
        }
        let place = vectors::place(row.get(0)?);
        let near = Near { similarity, place: Place { session: place.0, position: place.1 } };
        let is_near = nearest.len() < MAX_RANKED || nearest.peek().is_some_and(|farthest| near < *farthest);
        if is_near && scope.admits(near.place, row.get(2)?) {
            nearest.push(near);
            if nearest.len() > MAX_RANKED {
                nearest.pop();
            }
        }
        Ok(())
    };
    let columns = "v.key, v.model, v.seconds, v.scale, v.numbers";
    if let Some(session) = scope.session {
        let sql = format!("SELECT {columns} FROM vectors v WHERE v.key >= ?1 AND v.key < ?2 AND v.since <= ?3");
        let mut statement = connection.prepare_cached(&sql)?;
        let keys = vectors::key(session, 0)..vectors::key(session, scope.before);
        let mut rows = statement.query(params![keys.start, keys.end, integer(scope.at)])?;
        while let Some(row) = rows.next()? {
            take(row)?;
        }
    } else {
        let sql = format!(
            "SELECT {columns} FROM sessions s CROSS JOIN vectors v ON v.key >= s.key << {bits} AND v.key < (s.key + 1) << {bits}
             WHERE s.workspace = ?1 AND s.state = {LIVE}",
            bits = vectors::POSITION_BITS
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query([scope.workspace.as_str()])?;
        while let Some(row) = rows.next()? {
            take(row)?;
        }
    }
    Ok(nearest.into_sorted_vec().into_iter().map(|near| (near.place, near.similarity)).collect())
}

fn damaged() -> StoreError {
    StoreError::Damaged("a vector is not one".into())
}
