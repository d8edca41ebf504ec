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
    ("turn.budget.encoding", ["o200k_base", "cl100k_base"]),
    ("turn.time_zone", ["Europe/Berlin", "America/New_York"]),
];
/// Numbers that must not be less than another field, or must be greater than 1.
const LATER: [&str; 5] = [
    "turn.conversation.segments.message_end",
    "segments.message_end",
    "thresholds.chunk_messages",
    "thresholds.max_summary_tokens",
    "thresholds.rollup_size",
];

#[test]
fn every_field_of_a_request_changes_the_decoded_request() {
    let assemble = |raw: DynamicMessage| {
        let raw = raw.transcode_to().unwrap();
        format!("{:?}", assemble_request(raw, &Limits::default(), Timestamp::UNIX_EPOCH, allowed).unwrap())
    };
    // A turn brings its conversation or names a session.
    let session = ["turn.session_id", "turn.session_position", "turn.session_held_cut"];
    let deep = "turn.conversation.messages.tool_calls.arguments_json";
    every_field("AssemblePromptRequest", deep, &session, assemble);
    every_field(
        "AssemblePromptRequest",
        "turn.session_position",
        &["turn.conversation", "reference_conversation"],
        assemble,
    );
    let plan = |raw: DynamicMessage| {
        format!("{:?}", plan_request(raw.transcode_to().unwrap(), &Limits::default(), allowed).unwrap())
    };
    every_field("PlanHistoryRequest", "messages.tool_calls.arguments_json", &[], plan);
}

#[allow(clippy::unnecessary_wraps, reason = "it is what decoding asks whether a caller may name a workspace")]
fn allowed(_: &Id) -> Result<(), Vec<Violation>> {
    Ok(())
}

/// Checks that each field of a request but those `without` matters when it is decoded, as text; `deep` is one of them.
fn every_field(request: &str, deep: &str, without: &[&str], decode: impl Fn(DynamicMessage) -> String) {
    let request = descriptors().get_message_by_name(&format!("promptd.v1.{request}")).unwrap();
    let mut fields = Vec::new();
    leaves(&request, "", without, &mut fields);
    assert!(fields.contains(&deep.to_owned()), "{fields:?}");
    // A request with every field set, one of them to another value than in the others.
    let decoded = |changed: Option<&str>| decode(message(&request, "", without, changed));
    let before = decoded(None);
    assert_eq!(decoded(None), before);
    for field in fields {
        assert!(decoded(Some(&field)) != before, "{field} is not decoded");
    }
}

fn message(descriptor: &MessageDescriptor, prefix: &str, without: &[&str], changed: Option<&str>) -> DynamicMessage {
    let mut message = DynamicMessage::new(descriptor.clone());
    for field in descriptor.fields() {
        let path = format!("{prefix}{}", field.name());
        if without.contains(&path.as_str()) {
            continue;
        }
        let one = value(&field, &path, without, changed);
        message.set_field(&field, if field.is_list() { Value::List(vec![one]) } else { one });
    }
    message
}

fn value(field: &FieldDescriptor, path: &str, without: &[&str], changed: Option<&str>) -> Value {
    let is_changed = changed == Some(path);
    let number = u32::from(is_changed) + if LATER.contains(&path) { 7 } else { 1 };
    match field.kind() {
        Kind::Message(inner) if is_struct(&inner) => object(if is_changed { "b" } else { "a" }),
        Kind::Message(inner) => Value::Message(message(&inner, &format!("{path}."), without, changed)),
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
        Kind::Float => Value::F32(if is_changed { 0.25 } else { 0.5 }),
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

/// Every field that is not a message itself, and every free-form object.
fn leaves(message: &MessageDescriptor, prefix: &str, without: &[&str], found: &mut Vec<String>) {
    for field in message.fields() {
        let path = format!("{prefix}{}", field.name());
        if without.contains(&path.as_str()) {
            continue;
        }
        match field.kind() {
            Kind::Message(inner) if !is_struct(&inner) => leaves(&inner, &format!("{path}."), without, found),
            _ => found.push(path),
        }
    }
}

fn is_struct(message: &MessageDescriptor) -> bool {
    message.full_name() == "google.protobuf.Struct"
}
