//! What a plan is made from.

use std::ops::Range;

use crate::{
    text::measure::utf16,
    time::Moment,
    turn::{Role, ToolCall},
};

/// A stretch of a history and the segments that there are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// Index, in the whole history, of `messages[0]`.
    pub first_index: u64,
    /// The messages that are not settled, oldest first.
    pub messages: Vec<HistoryMessage>,
    /// The segments so far, of every level, in any order.
    pub segments: Vec<HistorySegment>,
}

/// A message of the history.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryMessage {
    /// Who spoke.
    pub role: Role,
    /// The text; may be left out where tokens and an embedding are given.
    pub content: String,
    /// The tools that it calls.
    pub tool_calls: Vec<ToolCall>,
    /// When it was said.
    pub time: Option<Moment>,
    /// Its size; `None`: it is estimated.
    pub tokens: Option<u32>,
    /// A vector of the message and those around it; of all messages or of none, and of one length.
    pub embedding: Vec<f32>,
}

impl HistoryMessage {
    /// A message of that text and nothing else.
    #[must_use]
    pub fn new(role: Role, content: &str) -> Self {
        Self { role, content: content.into(), tool_calls: Vec::new(), time: None, tokens: None, embedding: Vec::new() }
    }

    /// Its size in tokens: as given, else a quarter of the UTF-16 length of its content and its calls, rounded up.
    #[must_use]
    pub fn size(&self) -> u64 {
        let calls = self.tool_calls.iter().map(|call| utf16(&call.name) + utf16(&call.arguments_json));
        let units = || utf16(&self.content) + calls.sum::<usize>();
        self.tokens.map_or_else(|| (units() as u64).div_ceil(4), u64::from)
    }
}

/// A segment that an earlier plan made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistorySegment {
    /// Its id, unique among the segments.
    pub id: String,
    /// The id of the segment that sums it up; empty: none does yet.
    pub parent_id: String,
    /// 0: of messages; n: of segments of level n-1.
    pub level: u32,
    /// Index of its first message in the whole history, inclusive.
    pub message_start: u64,
    /// Index after its last message, exclusive.
    pub message_end: u64,
    /// When its first message was said.
    pub start_time: Option<Moment>,
    /// When its last message was said.
    pub end_time: Option<Moment>,
    /// The tokens of the messages that it covers.
    pub tokens: u64,
    /// Whether a model has said its summary.
    pub is_summarised: bool,
}

impl HistorySegment {
    pub(super) fn range(&self) -> Range<u64> {
        self.message_start..self.message_end
    }
}
