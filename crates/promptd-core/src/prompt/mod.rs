//! Assembly: a pure function of snapshot, profile and turn.
//!
//! [`assemble`](fn@assemble) goes through the profile's messages; [`section`] renders one section, a file a kind;
//! [`prepared`] keeps what depends on the snapshot alone, so that it is rendered once a revision; every text that
//! comes out has a report and, where something was lost, a finding.

mod answer;
mod assemble;
mod block;
mod budget;
mod cache_plan;
mod clock;
mod conversation;
mod digest;
mod draft;
mod error;
mod forecast;
mod inputs;
mod locals;
mod lock;
mod memo;
mod one_line;
mod prepared;
mod scope;
mod section;
mod token_counts;

pub use answer::{CachePrefix, ConversationOrigin, Message, Outcome, Prompt, SectionReport, Size, Source};
pub use assemble::assemble;
pub use cache_plan::CachePlan;
pub use error::TurnError;
pub use forecast::{forecast, may_lose};
pub use memo::Memo;
pub use prepared::Prepared;
pub use token_counts::count_tokens;
