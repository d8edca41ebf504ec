//! Messages by their words, ranked by BM25 within their workspace.
//!
//! How rare a word is, the workspace's messages alone say. How long a message is compares with a length that is fixed, not with
//! the mean of the others.

use rusqlite::{Connection, OptionalExtension as _};

use super::{
    MAX_RANKED,
    scope::{Place, Scope},
};
use crate::{
    StoreError,
    sqlite::{
        sessions::{LIVE, natural},
        terms,
    },
};

/// The most terms of a query that are looked for.
const MAX_TERMS: usize = 32;
/// How many messages are looked through at most, those of the rarest terms first; those of the rarest whatever there are. What very
/// many messages have says little of any.
const MAX_LOOKED_THROUGH: u64 = 20_000;

/// How much it counts that a message has a term more than once …
const SATURATION: f64 = 1.2;
/// … how much that it is long …
const LENGTH_SHARE: f64 = 0.75;
/// … and of how many bytes that one is which counts as neither long nor short.
const USUAL_BYTES: f64 = 400.0;
/// Of a tool's result so many bytes count at most, about what is searched of it.
const MAX_TOOL_BYTES: u64 = 200;

/// That a message has a term.
struct Posting {
    message: i64,
    times: f64,
    rarity: f64,
}

impl Posting {
    fn score(&self, length: f64) -> f64 {
        let norm = 1.0 - LENGTH_SHARE + LENGTH_SHARE * length;
        self.rarity * self.times * (SATURATION + 1.0) / (self.times + SATURATION * norm)
    }
}

/// The messages that match best, at most [`MAX_RANKED`].
pub(super) fn rank(connection: &Connection, scope: &Scope<'_>, query: &str) -> Result<Vec<Place>, StoreError> {
    let postings = postings(connection, scope, query)?;
    let messages = postings.chunk_by(|one, other| one.message == other.message);
    let usual = |postings: &[Posting]| postings.iter().map(|posting| posting.score(1.0)).sum::<f64>();
    let mut messages: Vec<_> = messages.map(|postings| (usual(postings), postings)).collect();
    messages.sort_by(|one, other| other.0.total_cmp(&one.0));
    // Of those that match best whatever their length, the rest of the row is read.
    let mut ranked = Vec::new();
    for (_, postings) in messages {
        if ranked.len() == MAX_RANKED {
            break;
        }
        let Some(row) = row(connection, postings[0].message)? else { continue };
        if scope.admits(row.place, row.seconds) {
            let sum: f64 = postings.iter().map(|posting| posting.score(row.length)).sum();
            ranked.push((sum, row.place));
        }
    }
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    Ok(ranked.into_iter().map(|(_, place)| place).collect())
}

/// Which messages have terms of the query, by message.
fn postings(connection: &Connection, scope: &Scope<'_>, query: &str) -> Result<Vec<Posting>, StoreError> {
    let mut terms = Vec::new();
    for term in terms::of_query(query, MAX_TERMS) {
        match scope.words.count(&term)? {
            0 => {}
            count => terms.push((count, term)),
        }
    }
    terms.sort_by_key(|(count, _)| *count);
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let all = messages_of(connection, scope)?;
    let (mut postings, mut looked_through) = (Vec::new(), 0);
    for (count, term) in terms {
        looked_through += count;
        if looked_through > MAX_LOOKED_THROUGH && !postings.is_empty() {
            break;
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of messages")]
        let (all, count) = (all.max(count) as f64, count as f64);
        let rarity = (1.0 + (all - count + 0.5) / (count + 0.5)).ln();
        let posting = |message, times| postings.push(Posting { message, times: f64::from(times), rarity });
        scope.words.each(&term, posting)?;
    }
    postings.sort_by_key(|posting| posting.message);
    Ok(postings)
}

/// How many messages the workspace has.
fn messages_of(connection: &Connection, scope: &Scope<'_>) -> Result<u64, StoreError> {
    let sql = format!(
        "SELECT coalesce(sum(system + user + assistant + tool), 0) FROM sessions WHERE workspace = ?1 AND state = {LIVE}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(natural(statement.query_row([scope.workspace.as_str()], |row| row.get(0))?))
}

/// What of a message decides whether and where it is found.
struct Row {
    place: Place,
    seconds: i64,
    /// As a multiple of the usual one.
    length: f64,
}

/// `None`: its session is being copied or removed.
fn row(connection: &Connection, message: i64) -> Result<Option<Row>, StoreError> {
    let sql = format!(
        "SELECT m.session, m.position, m.role = 3, octet_length(m.content), coalesce(m.seconds, m.stored / 1000)
         FROM messages m JOIN sessions s ON s.key = m.session WHERE m.key = ?1 AND s.state = {LIVE}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let row = statement.query_row([message], |row| {
        let (is_tool, bytes) = (row.get::<_, bool>(2)?, natural(row.get(3)?));
        let bytes = if is_tool { bytes.min(MAX_TOOL_BYTES) } else { bytes };
        #[expect(clippy::cast_precision_loss, reason = "a text is not that long")]
        let length = bytes as f64 / USUAL_BYTES;
        let place = Place { session: row.get(0)?, position: natural(row.get(1)?) };
        Ok(Row { place, seconds: row.get(4)?, length })
    });
    Ok(row.optional()?)
}
