//! What a model is asked. The requests are prompts of profiles, so that an operator can change them.

use promptd_core::{id::Id, turn::Role};
use promptd_memory::Source;

use crate::Later;

/// Makes the requests for summaries.
pub trait Prompts: Send + Sync {
    /// The request for a summary, of at most so many tokens, of what a session of a workspace has. An error says why there is
    /// none, and has nothing of a message in it.
    fn request<'a>(
        &'a self,
        workspace: &'a Id,
        source: Source,
        target_tokens: u32,
    ) -> Later<'a, Result<Request, String>>;
}

/// What a model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The messages.
    pub messages: Vec<(Role, String)>,
    /// The most tokens of the answer.
    pub max_tokens: u32,
}

impl Request {
    /// About how many tokens it takes, with its answer.
    #[must_use]
    pub(crate) fn tokens(&self) -> u64 {
        let chars: u64 = self.messages.iter().map(|(_, text)| text.chars().count() as u64).sum();
        chars.div_ceil(4) + u64::from(self.max_tokens)
    }
}
