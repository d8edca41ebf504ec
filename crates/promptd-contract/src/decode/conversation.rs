//! The conversation of a turn.

use super::{Limits, Violations, choice, values::timestamp};
use crate::proto;
use promptd_core::turn::{Conversation, ConversationMessage, Role, Segment, ToolCall};

const PATH: &str = "turn.conversation";

/// Checks a conversation.
pub(super) fn conversation(raw: proto::Conversation, limits: &Limits, violations: &mut Violations) -> Conversation {
    let fits = violations.within(&format!("{PATH}.messages"), raw.messages.len(), limits.max_messages)
        & violations.within(&format!("{PATH}.segments"), raw.segments.len(), limits.max_segments);
    if !fits {
        return Conversation::default();
    }
    let messages =
        raw.messages.into_iter().enumerate().filter_map(|(index, raw)| message(raw, index, limits, violations));
    let messages = messages.collect();
    let segments = raw.segments.into_iter().enumerate().map(|(index, raw)| segment(raw, index, violations)).collect();
    Conversation { messages, segments, first_index: raw.first_index }
}

fn message(
    raw: proto::ConversationMessage,
    index: usize,
    limits: &Limits,
    violations: &mut Violations,
) -> Option<ConversationMessage> {
    let path = |field: &str| format!("{PATH}.messages[{index}].{field}");
    let role = role(raw.role, || path("role"), violations);
    let time = raw.time.and_then(|time| timestamp(&time, &path("time"), violations));
    if raw.tool_calls.len() > limits.max_tool_calls {
        violations.within(&path("tool_calls"), raw.tool_calls.len(), limits.max_tool_calls);
    }
    Some(ConversationMessage {
        role: role?,
        content: raw.content,
        tool_call_id: raw.tool_call_id,
        name: raw.name,
        time,
        tool_calls: raw.tool_calls.into_iter().map(tool_call).collect(),
        id: raw.id,
    })
}

fn role(number: i32, path: impl Fn() -> String, violations: &mut Violations) -> Option<Role> {
    Some(match choice(number, &path, violations)? {
        proto::Role::System => Role::System,
        proto::Role::User => Role::User,
        proto::Role::Assistant => Role::Assistant,
        proto::Role::Tool => Role::Tool,
        proto::Role::Unspecified => {
            violations.add(path(), "a message needs a role");
            return None;
        }
    })
}

fn tool_call(raw: proto::ToolCall) -> ToolCall {
    ToolCall { id: raw.id, name: raw.name, arguments_json: raw.arguments_json }
}

fn segment(raw: proto::SummarySegment, index: usize, violations: &mut Violations) -> Segment {
    let path = |field: &str| format!("{PATH}.segments[{index}].{field}");
    if raw.message_end < raw.message_start {
        violations.add(path("message_end"), format!("lies before message_start, {}", raw.message_start));
    }
    let mut time =
        |raw: Option<prost_types::Timestamp>, field| raw.and_then(|time| timestamp(&time, &path(field), violations));
    Segment {
        start_time: time(raw.start_time, "start_time"),
        end_time: time(raw.end_time, "end_time"),
        id: raw.id,
        parent_id: raw.parent_id,
        level: raw.level,
        message_start: raw.message_start,
        message_end: raw.message_end,
        summary: raw.summary,
        summary_tokens: raw.summary_tokens,
    }
}
