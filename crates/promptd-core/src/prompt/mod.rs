//! Assembly: a pure function of snapshot, profile and turn.
//!
//! [`assemble`](fn@assemble) goes through the profile's messages in order. Every text that comes out has a
//! [`SectionReport`], and every loss has a [`Finding`](crate::finding::Finding). From the bottom up:
//!
//! - `output`: the result: messages, cards, section reports, digests;
//! - `validate`: whether the turn may be assembled;
//! - `trace`: which bytes of a text came from where, while spans are asked for;
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
mod trace;
mod validate;

pub use assembly::{MAX_SPANS, Prepared, assemble, assemble_with_spans, count_tokens};
pub use conversation::{Tail, TailBounds, trimmed_messages};
pub use output::{
    Behind, CachePlan, CachePrefix, CarriedConversation, ConversationOrigin, Holder, How, Memo, Message, Origin,
    OriginKind, Outcome, Position, Prompt, SectionReport, Size, Source, Span,
};
pub use validate::{BudgetTooSmall, TurnError};
