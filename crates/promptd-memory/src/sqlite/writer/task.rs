//! What the thread that writes is given: a write or a copy, what must follow it, and its answer.

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::{SessionKey, StoreError, sqlite::sessions::Fork};

/// What must be done, once a write is on the disk, before it is acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sqlite) enum After {
    /// Nothing.
    Nothing,
    /// So many messages are counted, and those who watch are told.
    Stored(u64),
    /// What was removed goes from the log too.
    Scrubbed,
    /// A session is removed, by its key, and then the same.
    Removed(i64),
    /// A session is copied to another.
    Forked(Fork),
}

/// A write, whatever it answers.
pub(super) trait Task: Send {
    /// Whether somebody waits for it.
    fn is_wanted(&self) -> bool;
    /// The session that it changes; `None`: what it changes nobody watches.
    fn session(&self) -> Option<&SessionKey>;
    /// Does the work; says whether it succeeded, and what must follow.
    fn run(&mut self, connection: &Connection) -> Option<After>;
    /// What it waited for is done.
    fn end(&mut self, connection: &Connection) {
        let _ = connection;
    }
    fn fail(&mut self, error: StoreError);
    /// Why it failed.
    fn error(&self) -> Option<&StoreError>;
    /// Answers.
    fn answer(self: Box<Self>);
}

/// A write of one transaction.
pub(super) struct Job<T, W> {
    pub(super) session: Option<SessionKey>,
    pub(super) work: W,
    pub(super) outcome: Result<T, StoreError>,
    pub(super) reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, W> Task for Job<T, W>
where
    T: Send,
    W: FnMut(&Connection) -> Result<(T, After), StoreError> + Send,
{
    fn is_wanted(&self) -> bool {
        !self.reply.is_closed()
    }

    fn session(&self) -> Option<&SessionKey> {
        self.session.as_ref()
    }

    fn run(&mut self, connection: &Connection) -> Option<After> {
        match (self.work)(connection) {
            Ok((done, after)) => {
                self.outcome = Ok(done);
                Some(after)
            }
            Err(error) => {
                self.outcome = Err(error);
                None
            }
        }
    }

    fn fail(&mut self, error: StoreError) {
        self.outcome = Err(error);
    }

    fn error(&self) -> Option<&StoreError> {
        self.outcome.as_ref().err()
    }

    fn answer(self: Box<Self>) {
        let _ = self.reply.send(self.outcome);
    }
}

/// A copy of a session, which takes many.
pub(super) struct Forking<T, B, E> {
    /// The session that is made.
    pub(super) session: SessionKey,
    pub(super) begin: B,
    pub(super) end: E,
    pub(super) outcome: Result<T, StoreError>,
    pub(super) reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, B, E> Task for Forking<T, B, E>
where
    T: Send,
    B: FnMut(&Connection) -> Result<Fork, StoreError> + Send,
    E: FnMut(&Connection) -> Result<T, StoreError> + Send,
{
    fn is_wanted(&self) -> bool {
        !self.reply.is_closed()
    }

    fn session(&self) -> Option<&SessionKey> {
        Some(&self.session)
    }

    fn run(&mut self, connection: &Connection) -> Option<After> {
        let begun = (self.begin)(connection).map(After::Forked);
        begun.map_err(|error| self.fail(error)).ok()
    }

    fn end(&mut self, connection: &Connection) {
        self.outcome = (self.end)(connection);
    }

    fn fail(&mut self, error: StoreError) {
        self.outcome = Err(error);
    }

    fn error(&self) -> Option<&StoreError> {
        self.outcome.as_ref().err()
    }

    fn answer(self: Box<Self>) {
        let _ = self.reply.send(self.outcome);
    }
}
