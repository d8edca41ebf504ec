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
    let messages = messages(raw.messages, &format!("{PATH}.messages"), limits, violations);
    let segments = raw.segments.into_iter().enumerate().map(|(index, raw)| segment(raw, index, violations)).collect();
    Conversation { messages, segments, first_index: raw.first_index, held_cut: raw.held_cut, rest_is_stored: false }
}

/// Checks messages; `path` is their list's.
pub(super) fn messages(
    raw: Vec<proto::ConversationMessage>,
    path: &str,
    limits: &Limits,
    violations: &mut Violations,
) -> Vec<ConversationMessage> {
    let messages = raw.into_iter().enumerate();
    messages.filter_map(|(index, raw)| message(raw, path, index, limits, violations)).collect()
}

fn message(
    raw: proto::ConversationMessage,
    list: &str,
    index: usize,
    limits: &Limits,
    violations: &mut Violations,
) -> Option<ConversationMessage> {
    let path = |field: &str| format!("{list}[{index}].{field}");
    let role = role(raw.role, || path("role"), violations);
    let time = timestamp(raw.time, || path("time"), violations);
    let tool_calls = tool_calls(raw.tool_calls, || path("tool_calls"), limits, violations);
    let role = role?;
    if role == Role::Tool && raw.tool_call_id.is_empty() {
        violations
            .add(path("tool_call_id"), "is missing or empty: it must be the id of the call that the result answers");
    }
    for (call, _) in tool_calls.iter().enumerate().filter(|(_, call)| call.id.is_empty()) {
        violations.add(path(&format!("tool_calls[{call}].id")), "must not be empty; its result refers to it");
    }
    Some(ConversationMessage {
        role,
        content: raw.content,
        tool_call_id: raw.tool_call_id,
        name: raw.name,
        time,
        tool_calls,
        id: raw.id,
    })
}

pub(super) fn role(number: i32, path: impl Fn() -> String, violations: &mut Violations) -> Option<Role> {
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

pub(super) fn tool_calls(
    raw: Vec<proto::ToolCall>,
    path: impl FnOnce() -> String,
    limits: &Limits,
    violations: &mut Violations,
) -> Vec<ToolCall> {
    if raw.len() > limits.max_tool_calls {
        violations.within(&path(), raw.len(), limits.max_tool_calls);
    }
    let call = |raw: proto::ToolCall| ToolCall { id: raw.id, name: raw.name, arguments_json: raw.arguments_json };
    raw.into_iter().map(call).collect()
}

fn segment(raw: proto::SummarySegment, index: usize, violations: &mut Violations) -> Segment {
    let path = |field: &str| format!("{PATH}.segments[{index}].{field}");
    if raw.message_end < raw.message_start {
        violations.add(path("message_end"), format!("lies before message_start, {}", raw.message_start));
    }
    let mut time = |raw, field| timestamp(raw, || path(field), violations);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_calls_are_required() {
        let call = |id: &str| proto::ToolCall { id: id.into(), ..Default::default() };
        let message = |role: proto::Role, tool_call_id: &str, tool_calls| proto::ConversationMessage {
            role: role.into(),
            tool_call_id: tool_call_id.into(),
            tool_calls,
            ..Default::default()
        };
        let messages = vec![
            message(proto::Role::User, "", vec![]),
            message(proto::Role::Assistant, "", vec![call("a"), call("")]),
            message(proto::Role::Tool, "a", vec![]),
            message(proto::Role::Tool, "", vec![]),
        ];
        let mut violations = Violations::default();
        let raw = proto::Conversation { messages, ..Default::default() };
        conversation(raw, &Limits::default(), &mut violations);
        let found = violations.into_result(()).unwrap_err();
        let fields: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            fields,
            [
                "turn.conversation.messages[1].tool_calls[1].id: must not be empty; its result refers to it",
                "turn.conversation.messages[3].tool_call_id: is missing or empty: it must be the id of the call that the result answers",
            ]
        );
    }
}
