//! Vectors in memory, of the sessions that were searched: a search reads those alone that are new.
//!
//! What is held is checked against the session's row in the search's own snapshot, so that it is never older: a position never comes
//! back, and below `vectors_to` all vectors are of the model in use and stay as they are until their messages are removed.

use std::collections::HashMap;

use rusqlite::{Connection, params};

use super::{key, wrong};
use crate::StoreError;

/// A message's vector, and what decides whether a search may find it.
pub(in crate::sqlite) struct Vector<'v> {
    /// See [`place`](super::place).
    pub(in crate::sqlite) key: i64,
    /// The position from which on it is seen.
    pub(in crate::sqlite) since: i64,
    /// When its message was said, in seconds since 1970.
    pub(in crate::sqlite) seconds: i64,
    pub(in crate::sqlite) scale: f64,
    pub(in crate::sqlite) numbers: &'v [u8],
}

/// A session as a search sees it.
#[derive(Debug, Clone, Copy)]
pub(in crate::sqlite) struct Searched {
    pub(in crate::sqlite) session: i64,
    pub(in crate::sqlite) position: i64,
    /// How many messages it has.
    pub(in crate::sqlite) messages: i64,
    /// The position up to which messages have vectors.
    pub(in crate::sqlite) vectors_to: i64,
}

/// The vectors of one model.
pub(in crate::sqlite) struct Held {
    max_bytes: usize,
    bytes: usize,
    model: i64,
    /// How many numbers each vector has.
    length: usize,
    searches: u64,
    /// The search that last removed what it did not use.
    emptied_by: u64,
    sessions: HashMap<i64, Block>,
}

/// The vectors of a session.
struct Block {
    of: Searched,
    /// The search that used it last.
    search: u64,
    heads: Vec<Head>,
    /// Those of all heads, one after the other.
    numbers: Vec<u8>,
}

/// A vector without its numbers.
struct Head {
    key: i64,
    since: i64,
    seconds: i64,
    scale: f64,
}

impl Held {
    pub(in crate::sqlite) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, bytes: 0, model: 0, length: 0, searches: 0, emptied_by: 0, sessions: HashMap::new() }
    }

    /// Begins a search among the vectors of a model, each of so many numbers.
    pub(in crate::sqlite) fn search(&mut self, model: i64, length: usize) -> Search<'_> {
        if (self.model, self.length) != (model, length) {
            *self = Self { model, length, ..Self::new(self.max_bytes) };
        }
        self.searches += 1;
        Search(self)
    }

    /// Makes room; `false`: what this search itself uses takes all there is. Looks through what is held once a search, since what it
    /// leaves is in use until the search ends.
    fn make_room(&mut self, bytes: usize) -> bool {
        if self.bytes + bytes > self.max_bytes && self.emptied_by != self.searches {
            self.emptied_by = self.searches;
            let search = self.searches;
            self.sessions.retain(|_, block| block.search == search);
            self.bytes = self.sessions.values().map(Block::bytes).sum();
        }
        self.bytes + bytes <= self.max_bytes
    }
}

/// A search, which needs what it used until it ends.
pub(in crate::sqlite) struct Search<'h>(&'h mut Held);

impl Search<'_> {
    /// Shows each vector of a session, from memory if there is room for them.
    pub(in crate::sqlite) fn each(
        &mut self,
        connection: &Connection,
        searched: Searched,
        mut each: impl FnMut(Vector<'_>),
    ) -> Result<(), StoreError> {
        if searched.vectors_to == 0 {
            return Ok(());
        }
        let held = &mut *self.0;
        let known = held.sessions.remove(&searched.session);
        held.bytes -= known.as_ref().map_or(0, Block::bytes);
        let known = known.filter(|block| block.is_start_of(&searched));
        let mut block = known.unwrap_or_else(|| Block::new(searched));
        let from = block.of.vectors_to;
        let new = usize::try_from(searched.vectors_to - from).unwrap_or(0);
        if !held.make_room(block.bytes_with(new, held.length)) {
            return read(connection, held, searched, 0, each);
        }
        if new > 0 {
            block.reserve(new, held.length);
            read(connection, held, searched, from, |vector| block.push(&vector))?;
        }
        block.of = searched;
        block.search = held.searches;
        block.each(held.length, &mut each);
        held.bytes += block.bytes();
        held.sessions.insert(searched.session, block);
        Ok(())
    }
}

impl Block {
    /// The bytes of a session that has no vectors, in a table that is half full.
    const ENTRY: usize = 2 * size_of::<(i64, Self)>();

    fn new(searched: Searched) -> Self {
        Self { of: Searched { vectors_to: 0, ..searched }, search: 0, heads: Vec::new(), numbers: Vec::new() }
    }

    /// Whether all that it has is still there. A truncation takes one message or more and moves the position by one; whatever is appended
    /// moves both alike.
    fn is_start_of(&self, now: &Searched) -> bool {
        now.position - self.of.position == now.messages - self.of.messages && now.vectors_to >= self.of.vectors_to
    }

    fn bytes(&self) -> usize {
        Self::ENTRY + self.heads.capacity() * size_of::<Head>() + self.numbers.capacity()
    }

    /// What it takes with so many more vectors. A long session gets some at once, so that not every message moves all.
    fn bytes_with(&self, new: usize, length: usize) -> usize {
        if self.heads.capacity() - self.heads.len() >= new {
            return self.bytes();
        }
        Self::ENTRY + (self.heads.len() + new + self.heads.len() / 16) * (size_of::<Head>() + length)
    }

    fn reserve(&mut self, new: usize, length: usize) {
        if self.heads.capacity() - self.heads.len() < new {
            let more = new + self.heads.len() / 16;
            self.heads.reserve_exact(more);
            self.numbers.reserve_exact(more * length);
        }
    }

    fn push(&mut self, vector: &Vector<'_>) {
        let &Vector { key, since, seconds, scale, numbers } = vector;
        self.heads.push(Head { key, since, seconds, scale });
        self.numbers.extend_from_slice(numbers);
    }

    fn each(&self, length: usize, each: &mut impl FnMut(Vector<'_>)) {
        for (head, numbers) in self.heads.iter().zip(self.numbers.chunks_exact(length)) {
            let &Head { key, since, seconds, scale } = head;
            each(Vector { key, since, seconds, scale, numbers });
        }
    }
}

/// Reads the vectors of a session from a position on, up to where they are made. What has no direction is left out.
fn read(
    connection: &Connection,
    held: &Held,
    searched: Searched,
    from: i64,
    mut each: impl FnMut(Vector<'_>),
) -> Result<(), StoreError> {
    let sql = "SELECT key, since, seconds, scale, numbers, model FROM vectors WHERE key >= ?1 AND key < ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let [start, end] = [from, searched.vectors_to].map(|position| key(searched.session, position.cast_unsigned()));
    let mut rows = statement.query(params![start, end])?;
    while let Some(row) = rows.next()? {
        let numbers = row.get_ref(4)?.as_blob().map_err(|_| wrong())?;
        if row.get::<_, i64>(5)? == held.model && numbers.len() == held.length {
            let (key, since, seconds, scale) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            each(Vector { key, since, seconds, scale, numbers });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use promptd_core::turn::Role;
    use proptest::prelude::*;
    use rusqlite::Connection;
    use tempfile::TempDir;

    use super::{Block, Held};
    use crate::{
        Options, QueryVector, Recall, Recalled, SqliteStore, Store as _, Vectors as _,
        sqlite::{connection, folder::Folder, recall},
        suite::{id, key, said, vectors::vectorise},
    };

    const MODELS: [&str; 2] = ["one", "other"];
    const SESSIONS: [&str; 3] = ["a", "b", "c"];
    /// Room for one or two sessions.
    const SOME_BYTES: usize = 2 * Block::ENTRY + 200;

    #[derive(Debug, Clone)]
    enum Change {
        Append(&'static str, u16),
        /// The vectors of all that wait.
        Vectors,
        /// So many of the newest messages.
        Truncate(&'static str, u64),
        Delete(&'static str),
        Fork(&'static str, &'static str),
        Model(&'static str),
    }

    fn change() -> impl Strategy<Value = Change> {
        let session = || prop::sample::select(&SESSIONS[..]);
        prop_oneof![
            4 => (session(), 0..360_u16).prop_map(|(session, degrees)| Change::Append(session, degrees)),
            4 => Just(Change::Vectors),
            2 => (session(), 1..4_u64).prop_map(|(session, count)| Change::Truncate(session, count)),
            1 => session().prop_map(Change::Delete),
            1 => (session(), session()).prop_map(|(from, to)| Change::Fork(from, to)),
            1 => prop::sample::select(&MODELS[..]).prop_map(Change::Model),
        ]
    }

    /// Makes a change; one that cannot be made is none.
    fn make(store: &SqliteStore, change: &Change, number: usize) {
        match *change {
            Change::Append(session, degrees) => {
                let message = said(Role::User, &number.to_string(), &format!("{degrees} degrees"));
                store.append(&key(session), vec![message], None).wait().unwrap();
            }
            Change::Vectors => drop(vectorise(store)),
            Change::Truncate(session, count) => {
                if let Ok(there) = store.session(&key(session)).wait() {
                    let _ = store.truncate(&key(session), there.position.saturating_sub(count), None).wait();
                }
            }
            Change::Delete(session) => drop(store.delete(&key(session)).wait()),
            Change::Fork(from, to) => drop(store.fork(&key(from), None, &id(to)).wait()),
            Change::Model(model) => store.use_model(model).wait().unwrap(),
        }
    }

    fn find(connection: &Connection, model: &str, session: Option<&str>, held: &mut Held) -> Vec<Recalled> {
        let vector = Some(QueryVector { model: model.into(), numbers: vec![1.0, 0.0], min_similarity: -1.0 });
        let recall = Recall { vector, session: session.map(id), limit: 100, max_bytes: 1 << 20, ..Recall::default() };
        recall::find(connection, &id("w"), &recall, held).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        /// With room for all vectors, for some, or for none.
        #[test]
        fn what_is_held_finds_what_is_stored(changes in prop::collection::vec(change(), 1..30)) {
            let home = TempDir::new().unwrap();
            let store = SqliteStore::open(&Options::new(home.path().to_owned())).unwrap();
            store.use_model(MODELS[0]).wait().unwrap();
            let connection = connection::reading(&Folder::create(home.path()).unwrap().database()).unwrap();
            let [mut all, mut some, mut none] = [1 << 20, SOME_BYTES, 0].map(Held::new);
            for (number, change) in changes.iter().enumerate() {
                make(&store, change, number);
                for (model, session) in [(MODELS[0], None), (MODELS[1], None), (MODELS[0], Some(SESSIONS[0]))] {
                    let stored = find(&connection, model, session, &mut Held::new(0));
                    prop_assert_eq!(&find(&connection, model, session, &mut all), &stored);
                    prop_assert_eq!(&find(&connection, model, session, &mut some), &stored);
                    prop_assert_eq!(&find(&connection, model, session, &mut none), &stored);
                    prop_assert!(some.bytes <= SOME_BYTES && none.sessions.is_empty());
                }
            }
        }
    }

    #[test]
    fn a_search_reads_what_is_new_alone() {
        let home = TempDir::new().unwrap();
        let store = SqliteStore::open(&Options::new(home.path().to_owned())).unwrap();
        store.use_model(MODELS[0]).wait().unwrap();
        let connection = connection::reading(&Folder::create(home.path()).unwrap().database()).unwrap();
        let mut held = Held::new(1 << 20);
        for (number, expected) in [1, 2].into_iter().enumerate() {
            make(&store, &Change::Append("a", 0), number);
            vectorise(&store);
            assert_eq!(find(&connection, MODELS[0], None, &mut held).len(), expected);
            // What was read is not read again: it would not be found any more.
            let writing = Connection::open(Folder::create(home.path()).unwrap().database()).unwrap();
            writing.execute("DELETE FROM vectors", []).unwrap();
        }
    }
}
