//! Assembly: a pure function of snapshot, profile and turn.
//!
//! [`assemble`](fn@assemble) goes through the profile's messages in order. Every text that comes out has a
//! [`SectionReport`], and every loss has a [`Finding`](crate::finding::Finding). From the bottom up:
//!
//! - `output`: the result: messages, cards, section reports, digests;
//! - `validate`: whether the turn may be assembled;
//! - `document`: files of the workspace, cut and measured;
//! - `scope`: the values of one turn, as templates see them;
//! - `budget`: the limits that sections share;
//! - `conversation`: which of the caller's messages are carried, and how;
//! - `section`: rendering one section, a file for each kind;
//! - `assembly`: messages joined from sections; what depends on the snapshot alone is rendered once a revision.

mod assembly;
mod budget;
mod conversation;
mod document;
mod output;
mod scope;
mod section;
mod validate;

pub use assembly::{Prepared, assemble, count_tokens, forecast, may_lose};
pub use output::{
    CachePlan, CachePrefix, CarriedConversation, ConversationOrigin, Holder, Memo, Message, Outcome, Position, Prompt,
    SectionReport, Size, Source,
};
pub use validate::TurnError;
