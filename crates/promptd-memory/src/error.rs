//! Why a store cannot do what it is asked.

use std::fmt;

use promptd_core::text::inline::inline;

/// Why a call of a store fails. No text here has anything of a message in it but its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// There is no such session.
    NoSession,
    /// The session never had this position, or what it had then was removed by a truncation.
    NoPosition(u64),
    /// The session is not at the position that its writer expects, but at this one.
    Moved(u64),
    /// A message has the id of one that is stored and says something else.
    Differs(Refused),
    /// A message is stored already, after one that is new.
    OutOfOrder(Refused),
    /// There is a session of this name already.
    Exists,
    /// A truncation would remove more than [`MAX_TRUNCATED`](crate::MAX_TRUNCATED) messages: this many.
    RemovesTooMany(u64),
    /// More calls wait than the store takes.
    Busy,
    /// It took too long to find an answer.
    TooLong,
    /// The disk is full.
    Full,
    /// The store's files are damaged.
    Damaged(String),
    /// The store cannot be opened: its files are of a newer version, or another process has them.
    Unusable(String),
    /// The store failed.
    Failed(String),
}

/// A message of a call that refuses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its place in the call.
    pub index: usize,
    /// Its id.
    pub id: String,
}

impl Refused {
    /// The message at a place.
    #[must_use]
    pub fn new(index: usize, id: &str) -> Self {
        Self { index, id: id.to_owned() }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The most characters of an id that are shown.
        const SHOWN: usize = 80;
        write!(f, "messages[{}] (id `{}`)", self.index, inline(&self.id, SHOWN).text)
    }
}

/// What is said of a session does not name it: the caller does.
impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSession => f.write_str("there is no such session"),
            Self::NoPosition(position) => {
                write!(f, "position {position} does not exist, or a truncation removed it")
            }
            Self::Moved(position) => {
                write!(f, "its position is {position}, not the expected one: another writer changed it")
            }
            Self::Differs(message) => {
                write!(
                    f,
                    "{message} has the id of a stored message that says something else: a new message needs an id of its own"
                )
            }
            Self::OutOfOrder(message) => write!(f, "{message} is stored already, and a new one comes before it"),
            Self::Exists => f.write_str("it exists already: give the fork another id"),
            Self::RemovesTooMany(count) => write!(
                f,
                "it would remove {count} messages; at most {} are removed at once: fork the session instead",
                crate::MAX_TRUNCATED
            ),
            Self::Busy => f.write_str("too many calls wait for the store"),
            Self::TooLong => f.write_str("the store took too long to answer"),
            Self::Full => f.write_str("the disk of the store is full"),
            Self::Damaged(why) => write!(f, "the store is damaged: {why}"),
            Self::Unusable(why) => write!(f, "the store cannot be used: {why}"),
            Self::Failed(why) => write!(f, "the store failed: {why}"),
        }
    }
}

impl std::error::Error for StoreError {}
