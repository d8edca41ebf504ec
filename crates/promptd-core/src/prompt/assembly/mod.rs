//! From sections and conversation to a prompt.

mod assemble;
mod block_counts;
mod forecast;
mod message;
mod prepared;
mod token_counts;

pub use assemble::assemble;
pub use forecast::{forecast, may_lose};
pub use prepared::Prepared;
pub use token_counts::count_tokens;
