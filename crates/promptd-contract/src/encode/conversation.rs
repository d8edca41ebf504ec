//! Messages and summaries of a conversation, as a caller brought them.

use super::timestamp;
use crate::proto;
use promptd_core::turn::{ConversationMessage, Segment, ToolCall};

/// A message, whole.
#[must_use]
pub fn conversation_message(message: ConversationMessage) -> proto::ConversationMessage {
    let call = |call: ToolCall| proto::ToolCall { id: call.id, name: call.name, arguments_json: call.arguments_json };
    proto::ConversationMessage {
        role: proto::Role::from(message.role).into(),
        content: message.content,
        tool_call_id: message.tool_call_id,
        name: message.name,
        time: message.time.map(timestamp),
        tool_calls: message.tool_calls.into_iter().map(call).collect(),
        id: message.id,
    }
}

/// A summary, whole.
#[must_use]
pub fn summary_segment(segment: Segment) -> proto::SummarySegment {
    proto::SummarySegment {
        id: segment.id,
        parent_id: segment.parent_id,
        level: segment.level,
        message_start: segment.message_start,
        message_end: segment.message_end,
        start_time: segment.start_time.map(timestamp),
        end_time: segment.end_time.map(timestamp),
        summary: segment.summary,
        summary_tokens: segment.summary_tokens,
    }
}
