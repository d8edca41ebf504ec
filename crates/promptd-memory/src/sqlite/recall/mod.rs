//! Finding messages, by their words and by their vectors, each the best first; the two lists are made one by reciprocal rank.

mod meaning;
mod scope;
mod words;

use std::collections::BTreeMap;

use promptd_core::id::Id;
use rusqlite::{Connection, OptionalExtension as _, params};

use self::scope::{Place, Scope};
use super::{
    messages::{self, COLUMNS},
    sessions::{LIVE, integer},
    vectors::Held,
};
use crate::{MAX_RECALLED, Recall, Recalled, StoreError};

/// The most messages of each list. A message that is in both has more places before it in each than are shown.
const MAX_RANKED: usize = 2 * MAX_RECALLED;
/// What is added to a rank, from 1, before its reciprocal is taken, so that a first place alone decides nothing. It is the number
/// of the method's authors (Cormack, Clarke and Büttcher, 2009).
const RANK_CONSTANT: f64 = 60.0;

/// The messages that match best.
pub(super) fn find(
    connection: &Connection,
    workspace: &Id,
    recall: &Recall,
    held: &mut Held,
) -> Result<Vec<Recalled>, StoreError> {
    let Some(scope) = Scope::of(connection, workspace, recall)? else { return Ok(Vec::new()) };
    let by_words = words::rank(connection, &scope, &recall.query)?;
    let by_meaning = match &recall.vector {
        Some(vector) => meaning::rank(connection, &scope, vector, held)?,
        None => Vec::new(),
    };
    let (mut found, mut bytes) = (Vec::new(), 0);
    for Fused { place, score, similarity } in fuse(&by_words, &by_meaning) {
        if found.len() == recall.limit.min(MAX_RECALLED) {
            break;
        }
        let Some((session, message)) = read(connection, place)? else { continue };
        bytes += message.message.bytes();
        if bytes > recall.max_bytes && !found.is_empty() {
            break;
        }
        found.push(Recalled { session, message, score, similarity });
    }
    Ok(found)
}

/// A message with its ranks in both lists as one number.
struct Fused {
    place: Place,
    score: f64,
    similarity: Option<f32>,
}

/// Both lists as one; of messages that rank alike the earlier one comes first.
fn fuse(by_words: &[Place], by_meaning: &[(Place, f32)]) -> Vec<Fused> {
    let mut all: BTreeMap<Place, (f64, Option<f32>)> = BTreeMap::new();
    let by_words = by_words.iter().map(|&place| (place, None)).enumerate();
    let by_meaning = by_meaning.iter().map(|&(place, similarity)| (place, Some(similarity))).enumerate();
    for (rank, (place, similarity)) in by_words.chain(by_meaning) {
        let fused = all.entry(place).or_default();
        #[expect(clippy::cast_precision_loss, reason = "a list is short")]
        let rank = rank as f64 + 1.0;
        fused.0 += 1.0 / (RANK_CONSTANT + rank);
        fused.1 = similarity.or(fused.1);
    }
    let fused = all.into_iter().map(|(place, (score, similarity))| Fused { place, score, similarity });
    let mut fused: Vec<Fused> = fused.collect();
    fused.sort_by(|one, other| other.score.total_cmp(&one.score));
    fused
}

fn read(connection: &Connection, place: Place) -> Result<Option<(Id, crate::StoredMessage)>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS}, s.id FROM messages m JOIN sessions s ON s.key = m.session
         WHERE m.session = ?1 AND m.position = ?2 AND s.state = {LIVE}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let row = statement.query_row(params![place.session, integer(place.position)], |row| {
        Ok((row.get::<_, String>(11)?, messages::read(row)))
    });
    let Some((id, message)) = row.optional()? else { return Ok(None) };
    let session = Id::parse(&id).map_err(|_| StoreError::Damaged("a session's id is not one".into()))?;
    Ok(Some((session, message?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_both_lists_comes_before_what_is_first_in_one() {
        let place = |position| Place { session: 1, position };
        let fused = fuse(&[place(7), place(5), place(9)], &[(place(8), 0.9), (place(5), 0.7), (place(3), 0.6)]);
        let order: Vec<_> = fused.iter().map(|fused| (fused.place.position, fused.similarity)).collect();
        // Those that rank alike are in the order of their positions.
        assert_eq!(order, [(5, Some(0.7)), (7, None), (8, Some(0.9)), (3, Some(0.6)), (9, None)]);
        assert!((fused[0].score - 2.0 / 62.0).abs() < 1e-12);
    }
}
