//! Messages of a conversation, as a caller brought them.

use super::timestamp;
use crate::proto;
use promptd_core::turn::{ConversationMessage, ToolCall};

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
