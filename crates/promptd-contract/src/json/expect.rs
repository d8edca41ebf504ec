//! What a field takes, in words: for messages about values that it does not take.

use prost_reflect::{EnumDescriptor, Kind};

/// What a value of this kind must be: `text`, `a whole number from 0 to 4294967295` …
pub(super) fn expected(kind: &Kind) -> String {
    match kind {
        Kind::String => "text".into(),
        Kind::Bool => "true or false".into(),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => whole(i32::MIN, i32::MAX),
        Kind::Uint32 | Kind::Fixed32 => whole(u32::MIN, u32::MAX),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => whole(i64::MIN, i64::MAX),
        Kind::Uint64 | Kind::Fixed64 => whole(u64::MIN, u64::MAX),
        Kind::Double | Kind::Float => "a number".into(),
        Kind::Bytes => "base64 text".into(),
        Kind::Enum(names) => choice(names),
        Kind::Message(message) => match message.full_name() {
            "google.protobuf.Timestamp" => "a time in RFC 3339, such as \"2026-02-28T18:30:00-08:00\"".into(),
            "google.protobuf.Duration" => "a duration in seconds, such as \"1.5s\"".into(),
            "google.protobuf.ListValue" => "a list".into(),
            "google.protobuf.Value" => "any JSON value".into(),
            _ => "an object".into(),
        },
    }
}

fn whole(least: impl std::fmt::Display, most: impl std::fmt::Display) -> String {
    format!("a whole number from {least} to {most}")
}

/// The names to choose from, without the one that means none.
fn choice(names: &EnumDescriptor) -> String {
    let given = names.values().filter(|value| value.number() != 0);
    format!("one of {}", given.map(|value| format!("\"{}\"", value.name())).collect::<Vec<_>>().join(", "))
}
