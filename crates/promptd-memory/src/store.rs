//! What a store of conversations does.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use promptd_core::{
    id::Id,
    time::Moment,
    turn::{ConversationMessage, Segment},
};
use tokio::sync::{oneshot, watch};

use crate::{
    StoreError,
    notes::Notes,
    segments::Segments,
    vectors::{QueryVector, Vectors},
};

/// The most messages that a truncation removes.
pub const MAX_TRUNCATED: u64 = 1_000;
/// The most messages that a recall finds.
pub const MAX_RECALLED: usize = 100;

/// Keeps conversations. Every call is answered in its time and blocks nobody.
///
/// A session's *position* counts what happened to it: each message that is appended takes the next one, and so does a
/// truncation. A position never comes back, so that it names for good what the session had then: the messages before it.
pub trait Store: Segments + Vectors + Notes + Send + Sync {
    /// Appends messages, in order, and makes the session if there is none. Answered when they are on the disk.
    ///
    /// A message whose id is stored already is not stored again; those of one call must come before its new ones. With an
    /// `expected` position the new ones are stored only if nobody else has written: the session is at this position, or
    /// at the end of the messages that the call repeats from there on. All are stored or none is.
    ///
    /// `messages` has at least one, each with an id that is unique in the call.
    fn append(
        &self,
        session: &SessionKey,
        messages: Vec<ConversationMessage>,
        expected: Option<u64>,
    ) -> Answer<Appended>;

    /// A session.
    fn session(&self, session: &SessionKey) -> Answer<Session>;

    /// Sessions of a workspace: those that changed last come first.
    fn sessions(&self, workspace: &Id, page: PageOfSessions) -> Answer<Vec<Session>>;

    /// Messages of a session, the oldest first.
    fn messages(&self, session: &SessionKey, page: PageOfMessages) -> Answer<Messages>;

    /// The newest messages of a session as it was at a position (`None`: as it is now), as many as `tail` wants, and the tree of
    /// summaries as far as a prompt can show it that has room for about so many tokens of `summaries` (0: none). It costs what
    /// these cost, however long the session is.
    fn window(
        &self,
        session: &SessionKey,
        position: Option<u64>,
        summaries: u64,
        tail: Box<dyn Tail>,
    ) -> Answer<Window>;

    /// Copies a session as it was at a position (`None`: as it is now) to a new one of the same workspace.
    fn fork(&self, session: &SessionKey, position: Option<u64>, to: &Id) -> Answer<Session>;

    /// Removes the messages from a position on, at most [`MAX_TRUNCATED`], unless the session is not at the `expected` one.
    /// Answered when their text is gone from the disk.
    fn truncate(&self, session: &SessionKey, position: u64, expected: Option<u64>) -> Answer<Session>;

    /// Removes a session. Answered, with the number of its messages, when their text is gone from the disk.
    fn delete(&self, session: &SessionKey) -> Answer<u64>;

    /// Finds messages by their words and, with a vector of the query, by theirs: BM25 and the cosine, ranked together. How well one
    /// matches depends on what its workspace has, and on nothing else.
    fn recall(&self, workspace: &Id, recall: Recall) -> Answer<Vec<Recalled>>;

    /// What a workspace has.
    fn stats(&self, workspace: &Id) -> Answer<Stats>;

    /// Is told whenever the session has changed.
    fn watch(&self, session: &SessionKey) -> watch::Receiver<()>;
}

/// Which messages at the end of a conversation are wanted.
pub trait Tail: Send {
    /// Takes the next older message; whether one more is wanted. `is_reached`: what is before it has its place in the summaries,
    /// as far as there are any.
    fn take(&mut self, message: &ConversationMessage, is_reached: bool) -> bool;
}

impl<F: FnMut(&ConversationMessage, bool) -> bool + Send> Tail for F {
    fn take(&mut self, message: &ConversationMessage, is_reached: bool) -> bool {
        self(message, is_reached)
    }
}

/// A session's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    /// The workspace that it belongs to.
    pub workspace: Id,
    /// Its id in the workspace.
    pub session: Id,
}

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: Id,
    /// Where it is.
    pub position: u64,
    /// How many messages it has, by role: `system`, `user`, `assistant`, `tool`.
    pub messages: [u64; 4],
    /// The bytes of their texts and of the arguments of their tool calls.
    pub bytes: u64,
    /// When its first message was stored.
    pub created: Moment,
    /// When it changed last.
    pub changed: Moment,
}

impl Session {
    /// How many messages it has.
    #[must_use]
    pub fn message_count(&self) -> u64 {
        self.messages.iter().sum()
    }
}

/// What an append did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The session, with them.
    pub session: Session,
    /// How many of them were stored; the others had been before.
    pub stored: u64,
}

/// A message as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// Its position; ascending in a session.
    pub position: u64,
    /// Its index among the session's messages, from 0.
    pub index: u64,
    /// When it was stored.
    pub stored: Moment,
    /// The message.
    pub message: ConversationMessage,
}

/// Which sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageOfSessions {
    /// The last of the page before: when it had changed, in milliseconds since 1970, and its id.
    pub after: Option<(i64, Id)>,
    /// The most.
    pub limit: usize,
}

/// Which messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageOfMessages {
    /// The first position.
    pub from: u64,
    /// As the session was at this position; `None`: as it is.
    pub at: Option<u64>,
    /// The most messages.
    pub limit: usize,
    /// The most bytes of their texts; the first comes whatever it has.
    pub max_bytes: usize,
}

/// A page of messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Messages {
    /// The session's position.
    pub position: u64,
    /// In order.
    pub messages: Vec<StoredMessage>,
    /// Where the next page begins; `None`: this was the last.
    pub next: Option<u64>,
}

/// The end of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// The position that it was read at.
    pub position: u64,
    /// The index of the first of the messages; how many there are where there is none.
    pub first_index: u64,
    /// The messages, in order.
    pub messages: Vec<ConversationMessage>,
    /// The position of each.
    pub positions: Vec<u64>,
    /// Of the tree of summaries what a prompt can show; a parent that is none of them is not named.
    pub segments: Vec<Segment>,
}

/// What to find.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recall {
    /// The words; a message with some of them is found, one with more and rarer ones first.
    pub query: String,
    /// The query as a vector; `None`: messages are found by words alone.
    pub vector: Option<QueryVector>,
    /// Only of this session.
    pub session: Option<Id>,
    /// With a session: only messages before this position.
    pub before: Option<u64>,
    /// With a session: as its vectors were when it was at this position.
    pub at: Option<u64>,
    /// What is not to be found, since the prompt has it.
    pub in_context: Option<InContext>,
    /// Only messages of this time or later.
    pub since: Option<Moment>,
    /// Only messages before this time.
    pub until: Option<Moment>,
    /// The most messages, at most [`MAX_RECALLED`].
    pub limit: usize,
    /// The most bytes of their texts; the first comes whatever it has.
    pub max_bytes: usize,
}

/// What a prompt has of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InContext {
    /// The session.
    pub session: Id,
    /// All messages from this position on.
    pub from: Option<u64>,
    /// These messages too.
    pub positions: Vec<u64>,
}

/// A message that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// Its session.
    pub session: Id,
    /// The message.
    pub message: StoredMessage,
    /// How well it matches: the reciprocals of its ranks by words and by vectors, added. It compares with others of the same
    /// recall alone.
    pub score: f64,
    /// How near its vector is to the query's, as a cosine; `None`: it was found by words alone.
    pub similarity: Option<f32>,
}

/// What a workspace has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// Its sessions.
    pub sessions: u64,
    /// Their messages.
    pub messages: u64,
    /// The bytes of their texts and of the arguments of their tool calls.
    pub bytes: u64,
    /// When the first of its sessions was made.
    pub first: Option<Moment>,
    /// When one of them changed last.
    pub last: Option<Moment>,
    /// How many of their segments wait for their summary, have it, and are set aside.
    pub segments: [u64; 3],
    /// How many of the messages have a vector of the model.
    pub vectors: u64,
    /// How many wait for it.
    pub vectors_waiting: u64,
    /// The name of the model that vectors are of; empty: there is none.
    pub model: String,
}

/// What a store will answer.
#[derive(Debug)]
pub struct Answer<T>(oneshot::Receiver<Result<T, StoreError>>);

impl<T> Answer<T> {
    /// An answer, and what gives it.
    pub fn new() -> (oneshot::Sender<Result<T, StoreError>>, Self) {
        let (sender, receiver) = oneshot::channel();
        (sender, Self(receiver))
    }

    /// An answer that is there already.
    pub fn of(result: Result<T, StoreError>) -> Self {
        let (sender, answer) = Self::new();
        let _ = sender.send(result);
        answer
    }

    /// Waits for it. Not for the threads of a runtime.
    pub fn wait(self) -> Result<T, StoreError> {
        self.0.blocking_recv().unwrap_or_else(|_| Err(stopped()))
    }
}

impl<T> Future for Answer<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(|answer| answer.unwrap_or_else(|_| Err(stopped())))
    }
}

fn stopped() -> StoreError {
    StoreError::Failed("it has stopped".into())
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.workspace, self.session)
    }
}
