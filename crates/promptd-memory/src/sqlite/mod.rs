//! The embedded store: an SQLite database in a folder of its own.
//!
//! One thread writes, and commits what waits together ([`writer`]); others read ([`readers`]), searches apart from the rest. The
//! write-ahead log is synced at each commit, so that what is acknowledged is on the disk. Removed text is overwritten in the
//! database and cut off the log before its removal is acknowledged.

mod append;
mod chores;
mod connection;
mod files;
mod folder;
mod gate;
mod messages;
mod notes;
mod readers;
mod recall;
mod remove;
mod schema;
mod segments;
mod sessions;
mod terms;
#[cfg(test)]
mod tests;
mod vectors;
mod words;
mod writer;

pub use self::{
    chores::Keep,
    files::{Checked, backup, check, restore, vacuum},
};

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use promptd_core::{id::Id, turn::ConversationMessage};
use rusqlite::Connection;
use tokio::sync::watch;

use self::{
    folder::{Folder, Lock},
    readers::Readers,
    vectors::Held,
    writer::{After, Writer},
};
use crate::{
    Answer, Appended, Job, Jobs, ListedSegments, Messages, Notes, NotesSummary, Outcome, PageOfMessages,
    PageOfSegments, PageOfSessions, Planned, Recall, Recalled, Segments, Session, SessionKey, Source, Stats, Status,
    Store, StoreError, StoredNotesSummary, Tail, Unplanned, Unvectorised, Vectorised, Vectors, Window, clock,
    watchers::Watchers,
};

/// How many threads read sessions.
const READERS: usize = 2;
/// How many threads search.
const SEARCHERS: usize = 1;

/// Where the store is, and how much it keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The folder; it is made if it does not exist.
    pub dir: PathBuf,
    /// What is removed by itself.
    pub keep: Keep,
    /// The most bytes of vectors that are held in memory, of the sessions that were searched; all others are read for each search.
    pub held_vectors: usize,
}

impl Options {
    /// A folder whose store keeps everything, and holds as many vectors as the service does by default.
    #[must_use]
    pub fn new(dir: PathBuf) -> Self {
        Self { dir, keep: Keep::default(), held_vectors: 64 << 20 }
    }
}

/// The store.
pub struct SqliteStore {
    readers: Readers,
    searchers: Readers,
    /// For the thread that searches.
    held: Arc<Mutex<Held>>,
    /// Ends last: only a connection that writes leaves no log behind.
    writer: Writer,
    watchers: Arc<Watchers>,
    status: Arc<Status>,
}

impl SqliteStore {
    /// Opens the store, and makes it where there is none. Its files are for this process alone until it is dropped.
    pub fn open(options: &Options) -> Result<Self, StoreError> {
        let folder = Folder::create(&options.dir)?;
        let lock = folder.lock()?;
        Self::open_locked(&folder, lock, options)
    }

    fn open_locked(folder: &Folder, lock: Lock, options: &Options) -> Result<Self, StoreError> {
        let (status, watchers, gate) = (Arc::default(), Arc::default(), Arc::default());
        let writer =
            Writer::start(folder, lock, options.keep, Arc::clone(&status), Arc::clone(&watchers), Arc::clone(&gate))?;
        let readers = Readers::start("memory-read", READERS, folder, None, Arc::clone(&status))?;
        let searchers =
            Readers::start("memory-search", SEARCHERS, folder, Some(Arc::clone(&gate)), Arc::clone(&status))?;
        let held = Arc::new(Mutex::new(Held::new(options.held_vectors)));
        Ok(Self { readers, searchers, held, writer, watchers, status })
    }

    /// How it is doing.
    #[must_use]
    pub fn status(&self) -> &Arc<Status> {
        &self.status
    }
}

impl Store for SqliteStore {
    fn append(
        &self,
        session: &SessionKey,
        messages: Vec<ConversationMessage>,
        expected: Option<u64>,
    ) -> Answer<Appended> {
        let key = session.clone();
        self.writer.run(session, move |connection| {
            let appended = append::append(connection, &key, &messages, expected, clock::milliseconds())?;
            let after = if appended.stored > 0 { After::Stored(appended.stored) } else { After::Nothing };
            Ok((appended, after))
        })
    }

    fn session(&self, session: &SessionKey) -> Answer<Session> {
        let key = session.clone();
        self.readers.run(move |connection| sessions::find(connection, &key).map(|row| row.session))
    }

    fn sessions(&self, workspace: &Id, page: PageOfSessions) -> Answer<Vec<Session>> {
        let workspace = workspace.clone();
        self.readers.run(move |connection| sessions::list(connection, &workspace, &page))
    }

    fn messages(&self, session: &SessionKey, page: PageOfMessages) -> Answer<Messages> {
        let key = session.clone();
        self.readers.run(move |connection| messages::page(connection, &key, &page))
    }

    fn window(
        &self,
        session: &SessionKey,
        position: Option<u64>,
        summaries: u64,
        mut tail: Box<dyn Tail>,
    ) -> Answer<Window> {
        let key = session.clone();
        self.readers.run(move |connection| messages::window(connection, &key, position, summaries, &mut *tail))
    }

    fn fork(&self, session: &SessionKey, position: Option<u64>, to: &Id) -> Answer<Session> {
        let from = session.clone();
        let to = SessionKey { workspace: session.workspace.clone(), session: to.clone() };
        let made = to.clone();
        let begin = move |connection: &Connection| {
            sessions::begin_fork(connection, &from, position, &made, clock::milliseconds())
        };
        let made = to.clone();
        let end = move |connection: &Connection| sessions::find(connection, &made).map(|row| row.session);
        self.writer.fork(&to, begin, end)
    }

    fn truncate(&self, session: &SessionKey, position: u64, expected: Option<u64>) -> Answer<Session> {
        let key = session.clone();
        self.writer.run(session, move |connection| {
            let (session, removed) = remove::truncate(connection, &key, position, expected, clock::milliseconds())?;
            Ok((session, if removed > 0 { After::Scrubbed } else { After::Nothing }))
        })
    }

    fn delete(&self, session: &SessionKey) -> Answer<u64> {
        let key = session.clone();
        self.writer.run(session, move |connection| {
            let row = sessions::find(connection, &key)?;
            sessions::hide(connection, row.key)?;
            Ok((row.session.message_count(), After::Removed(row.key)))
        })
    }

    fn recall(&self, workspace: &Id, recall: Recall) -> Answer<Vec<Recalled>> {
        let (workspace, held) = (workspace.clone(), Arc::clone(&self.held));
        self.searchers.run(move |connection| {
            let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
            recall::find(connection, &workspace, &recall, &mut held)
        })
    }

    fn stats(&self, workspace: &Id) -> Answer<Stats> {
        let workspace = workspace.clone();
        self.readers.run(move |connection| sessions::stats(connection, &workspace))
    }

    fn watch(&self, session: &SessionKey) -> watch::Receiver<()> {
        self.watchers.watch(session)
    }
}

impl Notes for SqliteStore {
    fn notes_summaries(&self, workspace: &Id, limit: usize) -> Answer<Vec<StoredNotesSummary>> {
        let workspace = workspace.clone();
        self.readers.run(move |connection| notes::list(connection, &workspace, limit))
    }

    fn notes_summary_at(&self, session: &SessionKey, position: u64) -> Answer<Option<StoredNotesSummary>> {
        let key = session.clone();
        self.readers.run(move |connection| notes::at(connection, &key, position))
    }

    fn add_notes_summary(&self, workspace: &Id, summary: NotesSummary) -> Answer<bool> {
        let workspace = workspace.clone();
        self.writer.job(None, move |connection| {
            let added = notes::add(connection, &workspace, &summary, clock::milliseconds())?;
            Ok((added.is_stored, if added.has_removed { After::Scrubbed } else { After::Nothing }))
        })
    }
}

impl Segments for SqliteStore {
    fn segments(&self, session: &SessionKey, page: PageOfSegments) -> Answer<ListedSegments> {
        let key = session.clone();
        self.readers.run(move |connection| segments::page(connection, &key, &page))
    }

    fn due(&self, limit: usize) -> Answer<Vec<SessionKey>> {
        self.searchers.run(move |connection| segments::due(connection, limit))
    }

    fn unplanned(&self, session: &SessionKey, most: usize) -> Answer<Unplanned> {
        let key = session.clone();
        self.searchers.run(move |connection| segments::unplanned(connection, &key, most))
    }

    fn add_segments(&self, session: &SessionKey, planned: Planned) -> Answer<()> {
        self.writer.run(session, move |connection| Ok((segments::add(connection, &planned)?, After::Nothing)))
    }

    fn jobs(&self, limit: usize) -> Answer<Jobs> {
        self.searchers.run(move |connection| segments::jobs(connection, limit, clock::milliseconds()))
    }

    fn source(&self, job: &Job, max_bytes: usize) -> Answer<Source> {
        let job = job.clone();
        self.searchers.run(move |connection| segments::source(connection, &job, max_bytes))
    }

    fn finish(&self, job: &Job, outcome: Outcome) -> Answer<bool> {
        let done = job.clone();
        self.writer.run(&job.session, move |connection| {
            Ok((segments::finish(connection, &done, &outcome, clock::milliseconds())?, After::Nothing))
        })
    }

    fn watch_all(&self) -> watch::Receiver<()> {
        self.watchers.watch_all()
    }
}

impl Vectors for SqliteStore {
    fn use_model(&self, name: &str) -> Answer<()> {
        let name = name.to_owned();
        self.writer.run_apart(move |connection| vectors::use_model(connection, &name))
    }

    fn waiting(&self, most: usize, max_bytes: usize) -> Answer<Unvectorised> {
        self.searchers.run(move |connection| vectors::waiting(connection, most, max_bytes))
    }

    fn add_vectors(&self, vectors: Vectorised) -> Answer<()> {
        self.writer.run_apart(move |connection| vectors::add(connection, &vectors))
    }
}
