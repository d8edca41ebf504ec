//! The numbers that a plan goes by.

/// The numbers that a plan goes by. The defaults are kern's.
#[derive(Debug, Clone, PartialEq)]
pub struct Thresholds {
    /// The fewest messages of any plan.
    pub min_messages: usize,
    /// The fewest messages of a plan that does not begin at the history's first message.
    pub min_new_messages: usize,
    /// The fewest tokens of such a plan.
    pub min_new_tokens: u64,
    /// The most messages that are cut together; a segment never goes on from one chunk into the next.
    pub chunk_messages: usize,
    /// How many messages are compared at a place. Embeddings of the caller's are expected to be of so many, half of them
    /// before the message.
    pub window_messages: usize,
    /// The most UTF-16 units of a message that are compared.
    pub max_message_units: usize,
    /// The same of a tool's result.
    pub max_tool_units: usize,
    /// The same of a message whose content is a JSON list of parts.
    pub max_parts_units: usize,
    /// The most UTF-16 units of one embedding's input.
    pub max_embedding_units: usize,
    /// A segment ends where the distance, from 0 (the same) to 2 (opposite), is above this.
    pub topic_distance: f32,
    /// A segment ends before it has more tokens.
    pub target_tokens: u64,
    /// Whether messages that go from a segment which became too large into the next count there. kern does not count
    /// them, so that a segment can have twice the tokens.
    pub recount_carried: bool,
    /// Whether segments begin at messages of a user only, so that no turn is divided.
    pub user_bounds: bool,
    /// Segments of fewer tokens are merged, if one beside them is near.
    pub min_segment_tokens: u64,
    /// Segments of fewer messages are merged, whatever is beside them.
    pub min_segment_messages: usize,
    /// How near a neighbour must be for a segment of few tokens.
    pub merge_distance: f32,
    /// A segment's summary has a part of its tokens: one of so many …
    pub summary_divisor: u32,
    /// … at least this many …
    pub min_summary_tokens: u32,
    /// … and at most this many.
    pub max_summary_tokens: u32,
    /// How many segments are rolled up into one.
    pub rollup_size: usize,
    /// The tokens of the summary of a rollup.
    pub rollup_tokens: u32,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            min_messages: 3,
            min_new_messages: 10,
            min_new_tokens: 10_000,
            chunk_messages: 500,
            window_messages: 5,
            max_message_units: 500,
            max_tool_units: 300,
            max_parts_units: 2_000,
            max_embedding_units: 8_000,
            topic_distance: 0.80,
            target_tokens: 15_000,
            recount_carried: false,
            user_bounds: false,
            min_segment_tokens: 5_000,
            min_segment_messages: 10,
            merge_distance: 0.7,
            summary_divisor: 10,
            min_summary_tokens: 200,
            max_summary_tokens: 1_500,
            rollup_size: 10,
            rollup_tokens: 1_500,
        }
    }
}

impl Thresholds {
    /// How long the summary of so many tokens may be.
    #[must_use]
    pub fn summary_tokens(&self, tokens: u64) -> u32 {
        let divisor = u64::from(self.summary_divisor.max(1));
        // Rounded to the nearest, halves up.
        let part = tokens.saturating_mul(2).saturating_add(divisor) / (2 * divisor);
        u32::try_from(part).unwrap_or(u32::MAX).min(self.max_summary_tokens).max(self.min_summary_tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_a_tenth_of_the_tokens_within_bounds() {
        for (tokens, target) in
            [(0, 200), (1_999, 200), (2_004, 200), (2_005, 201), (9_994, 999), (14_995, 1_500), (90_000, 1_500)]
        {
            assert_eq!(Thresholds::default().summary_tokens(tokens), target, "{tokens}");
        }
        assert_eq!(Thresholds::default().summary_tokens(u64::MAX), 1_500);
    }
}
