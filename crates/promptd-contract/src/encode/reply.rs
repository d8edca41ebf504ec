//! The answer of `ParseReply`.

use prost_types::{ListValue, Struct, Value as Raw, value::Kind};
use serde_json::{Map, Value};

use super::findings::finding;
use crate::proto;
use promptd_core::{
    reply::{Action, Reply},
    text::clamped,
};

/// The answer for a parsed reply.
#[must_use]
pub fn parse_reply_response(reply: Reply) -> proto::ParseReplyResponse {
    proto::ParseReplyResponse {
        text: reply.text,
        heartbeat_ok: reply.heartbeat_ok,
        actions: reply.actions.into_iter().map(action).collect(),
        findings: reply.findings.iter().map(finding).collect(),
    }
}

fn action(action: Action) -> proto::Action {
    proto::Action {
        tag: action.tag,
        payload: Some(object(action.payload)),
        payload_text: action.payload_text.unwrap_or_default(),
        byte_start: clamped(action.range.start),
        byte_end: clamped(action.range.end),
    }
}

/// A mapping as a `Struct`.
#[must_use]
pub fn object(map: Map<String, Value>) -> Struct {
    Struct { fields: map.into_iter().map(|(key, value)| (key, raw(value))).collect() }
}

/// Numbers become doubles, as a `Struct` has no others.
fn raw(value: Value) -> Raw {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(bool) => Kind::BoolValue(bool),
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or_default()),
        Value::String(text) => Kind::StringValue(text),
        Value::Array(items) => Kind::ListValue(ListValue { values: items.into_iter().map(raw).collect() }),
        Value::Object(map) => Kind::StructValue(object(map)),
    };
    Raw { kind: Some(kind) }
}
