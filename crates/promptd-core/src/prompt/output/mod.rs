//! The result of assembly: messages, a report for each section, findings, digests.

pub(super) mod digest;
mod hidden;
mod prompt;
mod report;
mod span;

pub(crate) use prompt::sort_findings;
pub use prompt::{Behind, CachePlan, CachePrefix, CarriedConversation, ConversationOrigin, Memo, Message, Prompt};
pub use report::{Holder, Outcome, Position, SectionReport, Size, Source};
pub use span::{How, Origin, OriginKind, Span};
