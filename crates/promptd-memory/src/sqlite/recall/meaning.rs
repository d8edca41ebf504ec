//! Messages by their vectors: all of a workspace, or of a session, are compared with the query's.

use std::{cmp::Ordering, collections::BinaryHeap};

use rusqlite::{Connection, params};

use super::{
    MAX_RANKED,
    scope::{Place, Scope},
};
use crate::{
    QueryVector, StoreError,
    sqlite::{
        sessions::{LIVE, integer},
        vectors::{self, Held, Quantised, Searched, Vector, dot},
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
    held: &mut Held,
) -> Result<Vec<(Place, f32)>, StoreError> {
    let Some(model) = vectors::key_of(connection, &query.model)? else { return Ok(Vec::new()) };
    let Some(wanted) = Quantised::of(&query.numbers) else { return Ok(Vec::new()) };
    let at = integer(scope.at);
    let mut nearest = BinaryHeap::with_capacity(MAX_RANKED + 1);
    let mut take = |vector: Vector<'_>| {
        #[expect(clippy::cast_possible_truncation, reason = "a cosine needs few digits")]
        let similarity = (f64::from(dot(&wanted.numbers, vector.numbers)) * wanted.scale * vector.scale) as f32;
        if similarity < query.min_similarity || vector.since > at {
            return;
        }
        let (session, position) = vectors::place(vector.key);
        let near = Near { similarity, place: Place { session, position } };
        let is_near = nearest.len() < MAX_RANKED || nearest.peek().is_some_and(|farthest| near < *farthest);
        if is_near && scope.admits(near.place, vector.seconds) {
            nearest.push(near);
            if nearest.len() > MAX_RANKED {
                nearest.pop();
            }
        }
    };
    let mut search = held.search(model, wanted.numbers.len());
    for session in sessions(connection, scope)? {
        search.each(connection, session, &mut take)?;
    }
    Ok(nearest.into_sorted_vec().into_iter().map(|near| (near.place, near.similarity)).collect())
}

/// The sessions that are searched.
fn sessions(connection: &Connection, scope: &Scope<'_>) -> Result<Vec<Searched>, StoreError> {
    let which = if scope.session.is_some() { "key = ?2" } else { "?2 IS NULL" };
    let sql = format!(
        "SELECT key, position, system + user + assistant + tool, vectors_to FROM sessions
         WHERE {which} AND workspace = ?1 AND state = {LIVE}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params![scope.workspace.as_str(), scope.session], |row| {
        Ok(Searched { session: row.get(0)?, position: row.get(1)?, messages: row.get(2)?, vectors_to: row.get(3)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
