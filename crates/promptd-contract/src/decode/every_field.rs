//! Every field of a request, found in the contract's descriptors: another value of it alone changes the decoded request.

use jiff::Timestamp;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, Value};

use super::*;
use crate::json::descriptors;

/// Values for fields that do not take just any; the second is the changed one.
const VALUES: &[(&str, [&str; 2])] = &[
    (
        "revision",
        [
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
        ],
    ),
    (
        "if_none_match",
        [
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
        ],
    ),
    ("token_encoding", ["o200k_base", "cl100k_base"]),
    ("turn.time_zone", ["Europe/Berlin", "America/New_York"]),
];
/// `message_end` must not lie before `message_start`.
const LATER: &str = "turn.conversation.segments.message_end";

#[test]
fn every_field_of_a_request_changes_the_decoded_request() {
    let request = descriptors().get_message_by_name("promptd.v1.AssemblePromptRequest").unwrap();
    let mut fields = Vec::new();
    leaves(&request, "", &mut fields);
    assert!(fields.contains(&"turn.conversation.messages.tool_calls.arguments_json".to_owned()), "{fields:?}");
    let before = decoded(&request, None);
    assert_eq!(decoded(&request, None), before);
    for field in fields {
        assert!(decoded(&request, Some(&field)) != before, "{field} is not decoded");
    }
}

/// A request with every field set, and `changed` to another value than the others' requests; decoded, as text.
fn decoded(request: &MessageDescriptor, changed: Option<&str>) -> String {
    let raw = message(request, "", changed).transcode_to().unwrap();
    let allowed = |_: &Id| Ok::<_, Vec<Violation>>(());
    format!("{:?}", assemble_request(raw, &Limits::default(), Timestamp::UNIX_EPOCH, allowed).unwrap())
}

fn message(descriptor: &MessageDescriptor, prefix: &str, changed: Option<&str>) -> DynamicMessage {
    let mut message = DynamicMessage::new(descriptor.clone());
    for field in descriptor.fields() {
        let path = format!("{prefix}{}", field.name());
        let one = value(&field, &path, changed);
        message.set_field(&field, if field.is_list() { Value::List(vec![one]) } else { one });
    }
    message
}

fn value(field: &FieldDescriptor, path: &str, changed: Option<&str>) -> Value {
    let is_changed = changed == Some(path);
    let number = u32::from(is_changed) + if path == LATER { 7 } else { 1 };
    match field.kind() {
        Kind::Message(inner) if is_struct(&inner) => object(if is_changed { "b" } else { "a" }),
        Kind::Message(inner) => Value::Message(message(&inner, &format!("{path}."), changed)),
        Kind::String => {
            let [first, second] = VALUES.iter().find(|(known, _)| *known == path).map_or(["a", "b"], |(_, both)| *both);
            Value::String(if is_changed { second } else { first }.to_owned())
        }
        Kind::Bool => Value::Bool(is_changed),
        // The last value and the one before it: the first two can mean the same.
        Kind::Enum(kind) => {
            let last = i32::try_from(kind.values().count()).unwrap() - 1;
            Value::EnumNumber(last - i32::from(is_changed))
        }
        Kind::Uint32 => Value::U32(number),
        Kind::Uint64 => Value::U64(number.into()),
        Kind::Int32 => Value::I32(number.cast_signed()),
        Kind::Int64 => Value::I64(number.into()),
        other => panic!("{path}: a request has no {other:?} yet"),
    }
}

/// `{"k": text}`
fn object(text: &str) -> Value {
    let mut object = DynamicMessage::new(descriptors().get_message_by_name("google.protobuf.Struct").unwrap());
    let kind = prost_types::value::Kind::StringValue(text.to_owned());
    let fields = [("k".to_owned(), prost_types::Value { kind: Some(kind) })].into();
    object.transcode_from(&prost_types::Struct { fields }).unwrap();
    Value::Message(object)
}

/// Every field that is no message itself, and every free-form object.
fn leaves(message: &MessageDescriptor, prefix: &str, found: &mut Vec<String>) {
    for field in message.fields() {
        let path = format!("{prefix}{}", field.name());
        match field.kind() {
            Kind::Message(inner) if !is_struct(&inner) => leaves(&inner, &format!("{path}."), found),
            _ => found.push(path),
        }
    }
}

fn is_struct(message: &MessageDescriptor) -> bool {
    message.full_name() == "google.protobuf.Struct"
}
