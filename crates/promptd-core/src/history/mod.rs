//! How a long history becomes a tree of summaries: where its segments begin and end, which summaries are joined into one
//! of the level above, and how long each summary may be. What says the summaries is a model, which the caller asks.
//!
//! The rules and the numbers are those of kern, and where its versions differ, of its newest (0.33):
//!
//! 1. A plan waits until enough messages are new ([`Thresholds::min_new_messages`], [`Thresholds::min_new_tokens`]).
//! 2. The messages are cut into chunks, and a chunk where the topic shifts or a segment becomes too large (`cuts`). How far
//!    two places are apart comes from the caller's embeddings, or from the words of the messages (`lexical`).
//! 3. Segments that are too small join the nearer of their neighbours (`merge`).
//! 4. Ten summaries in a row are rolled up into one (`rollup`).
//!
//! A plan is a pure function of its inputs. What it settles, no later plan changes: the next one begins after it.
//!
//! Kept as in kern, although it can surprise: a history's first plan needs three messages only; messages that go from a
//! segment which became too large into the next are not counted there, unless [`Thresholds::recount_carried`] is set; two
//! merged segments have the mean of both vectors, however long each is; a vector of zeros is 1 away from any other.
//!
//! What differs from kern, on purpose:
//!
//! - Existing segments are gone around, and what lies between them is planned. kern's newest version cuts through them,
//!   and drops what overlaps: those messages are in no summary.
//! - A chunk that is full is settled although it has few tokens, since a request has at most one chunk.
//! - Times of a merged segment are those of its first and last message that has one; kern keeps those of one part.
//! - A segment's tokens are the sum of its messages', without the roles that kern writes before each.
//! - Where no place differs from any other, a segment that is too large ends where it becomes so, not after one message.

mod cuts;
mod input;
mod lexical;
mod merge;
mod plan;
mod rollup;
mod text;
mod thresholds;
mod vectors;

pub use cuts::Cut;
pub use input::{History, HistoryMessage, HistorySegment};
pub use lexical::text_vector;
pub use plan::{Plan, PlannedSegment, Waiting, plan};
pub use rollup::Rollup;
pub use text::embedding_inputs;
pub use thresholds::Thresholds;

#[cfg(test)]
mod tests;
