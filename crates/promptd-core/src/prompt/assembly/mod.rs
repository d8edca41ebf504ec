//! From sections and conversation to a prompt.

mod assemble;
mod block_counts;
mod fit;
mod forecast;
mod message;
mod prepared;
mod sizes;
mod spans;
mod token_counts;

pub use assemble::{assemble, assemble_with_spans};
pub use prepared::Prepared;
pub use spans::MAX_SPANS;
pub use token_counts::count_tokens;
