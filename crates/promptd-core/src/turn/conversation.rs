//! The conversation that a turn brings.

use crate::time::Moment;

/// The conversation so far, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// The messages that the caller sends.
    pub messages: Vec<ConversationMessage>,
    /// The tree of summaries over the whole history.
    pub segments: Vec<Segment>,
    /// Index, in the whole history, of `messages[0]`.
    pub first_index: u64,
    /// Where the window began in an earlier turn, in the whole history; 0: none yet. Set: the cut is held while it can be,
    /// and a new one leaves room to hold it.
    pub held_cut: Option<u64>,
    /// Whether the messages before `first_index` are stored, and were not read since the prompt cannot carry them: they count as
    /// left out of it.
    pub rest_is_stored: bool,
}

/// A message of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationMessage {
    /// The speaker's role.
    pub role: Role,
    /// The text.
    pub content: String,
    /// On a tool result, the id of the call that it answers; empty on others.
    pub tool_call_id: String,
    /// The speaker's name; may be empty.
    pub name: String,
    /// When it was said.
    pub time: Option<Moment>,
    /// The tools that an assistant message calls.
    pub tool_calls: Vec<ToolCall>,
    /// For removing duplicates; empty: never a duplicate.
    pub id: String,
}

impl ConversationMessage {
    /// A message with `content` and no other field.
    #[must_use]
    pub fn new(role: Role, content: &str) -> Self {
        Self {
            role,
            content: content.into(),
            tool_call_id: String::new(),
            name: String::new(),
            time: None,
            tool_calls: Vec::new(),
            id: String::new(),
        }
    }

    /// The bytes of its texts, those of its calls included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let calls = self.tool_calls.iter().map(|call| call.id.len() + call.name.len() + call.arguments_json.len());
        let own = self.content.len() + self.name.len() + self.tool_call_id.len() + self.id.len();
        own + calls.sum::<usize>()
    }

    /// The tools that it calls: none unless it is the assistant's.
    #[must_use]
    pub fn calls(&self) -> &[ToolCall] {
        if self.role == Role::Assistant { &self.tool_calls } else { &[] }
    }
}

/// A call of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// Its id. An id that is used again belongs to the newest call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as JSON text.
    pub arguments_json: String,
}

/// A summary of a stretch of the history.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Segment {
    /// Its id.
    pub id: String,
    /// Its parent's id; empty: a root.
    pub parent_id: String,
    /// 0: a summary of messages; n: of level n-1.
    pub level: u32,
    /// First message, inclusive.
    pub message_start: u64,
    /// Last message, exclusive.
    pub message_end: u64,
    /// When it began.
    pub start_time: Option<Moment>,
    /// When it ended.
    pub end_time: Option<Moment>,
    /// The text.
    pub summary: String,
    /// Its tokens; 0: to be estimated.
    pub summary_tokens: u32,
}

/// A message's role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// `system`.
    System,
    /// `user`.
    User,
    /// `assistant`.
    Assistant,
    /// `tool`.
    Tool,
}

impl Role {
    /// Lower-case name, as providers, profiles and digests write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}
