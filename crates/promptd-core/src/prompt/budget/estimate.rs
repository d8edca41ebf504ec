//! How many tokens a message takes, without a tokenizer: the UTF-16 length of its JSON at 3.3 units a token.
//!
//! kern counts so; the JSON is that of the AI SDK's messages, which kern stores.

use crate::{
    text::measure::utf16,
    turn::{ConversationMessage, Role},
};

/// What every message takes besides its JSON.
const PER_MESSAGE: u64 = 4;

/// A message of the conversation that says `content`.
pub(crate) fn message(message: &ConversationMessage, content: &str) -> u64 {
    let body = match message.role {
        Role::Tool => {
            fixed(r#"[{"type":"tool-result","toolCallId":,"toolName":,"output":{"type":"text","value":}}]"#)
                + string(&message.tool_call_id)
                + string(&message.name)
                + string(content)
        }
        Role::Assistant if !message.tool_calls.is_empty() => {
            let text = if content.is_empty() { 0 } else { fixed(r#"{"type":"text","text":},"#) + string(content) };
            let calls = message.tool_calls.iter().map(|call| {
                fixed(r#"{"type":"tool-call","toolCallId":,"toolName":,"input":},"#)
                    + string(&call.id)
                    + string(&call.name)
                    + utf16(&call.arguments_json).max(fixed("{}"))
            });
            // The last comma counts for one of the brackets.
            fixed("[") + text + calls.sum::<usize>()
        }
        _ => string(content),
    };
    of_message(message.role, body)
}

/// A user message that says `text`.
pub(crate) fn user_message(text: &str) -> u64 {
    of_message(Role::User, string(text))
}

/// A summary whose tokens its author did not count: a quarter of its length.
pub(crate) fn summary(text: &str) -> u64 {
    (utf16(text) as u64).div_ceil(4)
}

fn of_message(role: Role, body: usize) -> u64 {
    let units = fixed(r#"{"role":"","content":}"#) + role.as_str().len() + body;
    // n / 3.3 rounded up, in whole numbers; doubles give the same.
    (units as u64).saturating_mul(10).div_ceil(33) + PER_MESSAGE
}

const fn fixed(json: &str) -> usize {
    json.len()
}

/// The UTF-16 length of a JSON string, quotes included.
fn string(text: &str) -> usize {
    let parts = text.as_bytes().chunks(PART);
    parts.map(|part| usize::from(part.iter().map(|&byte| units(byte)).sum::<u8>())).sum::<usize>() + 2
}

/// So many bytes are counted at once, in one byte, by the processor's widest instructions.
const PART: usize = 32;

/// The UTF-16 units of a JSON string that a byte becomes, at most six.
fn units(byte: u8) -> u8 {
    // Its first byte has counted the character.
    let continues = u8::from(byte & 0xc0 == 0x80);
    // What UTF-16 writes as a pair.
    let is_pair = u8::from(byte >= 0xf0);
    let is_quoted = u8::from(byte == b'"') + u8::from(byte == b'\\');
    let is_control = u8::from(byte < 0x20);
    // `\b`, `\t`, `\n`, `\f`, `\r` in the place of `\u0000`.
    let is_short = u8::from(byte.wrapping_sub(0x08) < 6) - u8::from(byte == 0x0b);
    1 - continues + is_pair + is_quoted + 5 * is_control - 4 * is_short
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::turn::ToolCall;

    fn of(role: Role) -> ConversationMessage {
        ConversationMessage { tool_call_id: "c1".into(), name: "read".into(), ..ConversationMessage::new(role, "") }
    }

    /// The size of a message from its JSON, as JavaScript computes it.
    fn from_json(json: &serde_json::Value) -> u64 {
        let units = json.to_string().encode_utf16().count();
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small"
        )]
        let tokens = (units as f64 / 3.3).ceil() as u64;
        tokens + 4
    }

    #[test]
    fn the_sizes_of_a_known_history() {
        let filler = "x".repeat(400);
        let sizes: Vec<u64> = (0..100)
            .map(|i| {
                let role = if i % 2 == 0 { Role::User } else { Role::Assistant };
                message(&of(role), &format!("msg {i} {filler}"))
            })
            .collect();
        assert_eq!((sizes[0], sizes[1], sizes[98], sizes.iter().sum()), (136, 138, 136, 13_700_u64));
    }

    proptest! {
        #[test]
        fn every_form_has_the_size_of_its_json(text in "(\\PC|[\u{0}-\u{1f}\"\\\\]|😀){0,40}", calls in 0_usize..3) {
            let user = serde_json::json!({"role": "user", "content": text});
            prop_assert_eq!(user_message(&text), from_json(&user));
            prop_assert_eq!(message(&of(Role::User), &text), from_json(&user));
            let output = serde_json::json!({"type": "text", "value": text});
            let result = serde_json::json!({"role": "tool", "content": [
                {"type": "tool-result", "toolCallId": "c1", "toolName": "read", "output": output}
            ]});
            prop_assert_eq!(message(&of(Role::Tool), &text), from_json(&result));
            if calls > 0 {
                let call = |n: usize| ToolCall { id: n.to_string(), name: "t".into(), arguments_json: "{\"a\":1}".into() };
                let calling = ConversationMessage { tool_calls: (0..calls).map(call).collect(), ..of(Role::Assistant) };
                let mut parts = vec![serde_json::json!({"type": "text", "text": text})];
                parts.retain(|_| !text.is_empty());
                parts.extend((0..calls).map(|n| serde_json::json!(
                    {"type": "tool-call", "toolCallId": n.to_string(), "toolName": "t", "input": {"a": 1}}
                )));
                let json = serde_json::json!({"role": "assistant", "content": parts});
                prop_assert_eq!(message(&calling, &text), from_json(&json));
            }
        }
    }
}
