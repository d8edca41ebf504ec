//! What a store keeps of the vectors of messages, and of the work that makes them.
//!
//! A message waits for its vector until one of the model in use is stored; how far a session's messages have theirs is stored in the
//! same transaction, so that each has exactly one, whatever process ends in between.

use crate::Answer;

/// Keeps the vectors of messages, one each.
///
/// What is stored of a vector at a position of its session is seen from the next position on, so that a position names what a
/// search finds in the session for good.
pub trait Vectors {
    /// Vectors are of this model from now on. Where they were another's, all messages wait for new ones.
    fn use_model(&self, name: &str) -> Answer<()>;

    /// Messages that wait for a vector: at most so many, and of about so many bytes of text; none before a model is in use.
    fn waiting(&self, most: usize, max_bytes: usize) -> Answer<Unvectorised>;

    /// Adds the vectors of those messages that are still there, all or none.
    fn add_vectors(&self, vectors: Vectorised) -> Answer<()>;
}

/// Messages that wait for vectors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Unvectorised {
    /// The model in use as the store knows it.
    pub(crate) model: i64,
    /// Of which sessions, and of each from which position to which.
    pub(crate) sessions: Vec<(i64, u64, u64)>,
    /// In the order of their sessions and positions.
    pub messages: Vec<WaitingMessage>,
}

/// A message that waits for its vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingMessage {
    pub(crate) session: i64,
    pub(crate) position: u64,
    /// What of it is searched.
    pub text: String,
}

impl Unvectorised {
    /// Whether nothing waits.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.sessions.is_empty()
    }

    /// The vectors of the messages, in their order; an empty one for a message that is not found by meaning.
    #[must_use]
    pub fn vectorised(self, vectors: Vec<Vec<f32>>) -> Vectorised {
        Vectorised { of: self, vectors }
    }
}

/// Vectors, each of a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Vectorised {
    pub(crate) of: Unvectorised,
    pub(crate) vectors: Vec<Vec<f32>>,
}

/// What a search compares vectors with.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryVector {
    /// The model that it is of: vectors of others are not compared.
    pub model: String,
    /// The vector.
    pub numbers: Vec<f32>,
    /// How near a message must be, as the cosine of the angle between the two vectors.
    pub min_similarity: f32,
}
