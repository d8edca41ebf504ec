//! How much one request may carry.

/// Bounds on one request's lists. A list over its bound is `INVALID_ARGUMENT` and names the bound; bytes are bounded
/// by the server's message limit already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The most `turn.knowledge` snippets.
    pub max_knowledge: usize,
    /// The most `turn.variables`.
    pub max_variables: usize,
    /// The most `turn.inputs`.
    pub max_inputs: usize,
    /// The most `turn.conversation.messages`.
    pub max_messages: usize,
    /// The most `turn.conversation.segments`.
    pub max_segments: usize,
    /// The most tool calls of one message.
    pub max_tool_calls: usize,
    /// The most `turn.context_files`.
    pub max_context_files: usize,
    /// The most `if_none_match` digests.
    pub max_digests: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_knowledge: 1_000,
            max_variables: 256,
            max_inputs: 256,
            max_messages: 10_000,
            max_segments: 10_000,
            max_tool_calls: 1_000,
            max_context_files: 1_000,
            max_digests: 16_384,
        }
    }
}
