//! The JSON Schema of turn files, made of the contract's descriptors and comments.

use std::collections::BTreeMap;

use promptd_core::{
    id,
    tokens::Encoding,
    turn::MAX_WORKING_DIRECTORY_BYTES,
    yaml::{
        schema::{document, or_null, text},
        shape::Text,
    },
};
use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Map, Value, json};

use super::descriptor;

/// The JSON Schema of a turn file: the fields of `Turn` by either of their names, and `profile`. Limits of the server's
/// settings, and what the profile's inputs must be, only the service knows.
#[must_use]
pub fn schema() -> Value {
    let mut messages = BTreeMap::new();
    let mut root = message(&descriptor("Turn"), &mut messages);
    let mut profile = or_null(text(&Text::like(id::PATTERN)));
    profile["description"] = "The profile to render the turn by. Default: that of the workspace.".into();
    root["properties"]["profile"] = profile;
    root["$defs"] = messages.into_iter().collect::<Map<_, _>>().into();
    document("promptd turn", "The turn that `promptd render --turn` renders: the contract's `Turn`.", root)
}

/// A message's schema; those that it refers to are added to `messages`.
fn message(message: &MessageDescriptor, messages: &mut BTreeMap<String, Value>) -> Value {
    let mut properties = Map::new();
    let mut twice = Vec::new();
    // Sessions are the service's: no file names one.
    let of_a_session = |field: &FieldDescriptor| message.name() == "Turn" && field.name().starts_with("session_");
    for field in message.fields().filter(|field| !of_a_session(field)) {
        let mut schema = or_null(field_schema(&field, messages));
        schema["description"] = comment(&field).into();
        properties.insert(field.name().to_owned(), schema.clone());
        if field.json_name() != field.name() {
            properties.insert(field.json_name().to_owned(), schema);
            twice.push(json!({"not": {"type": "object", "required": [field.name(), field.json_name()]}}));
        }
    }
    let mut schema = json!({"type": ["object", "null"], "properties": properties, "additionalProperties": false});
    if !twice.is_empty() {
        schema["allOf"] = twice.into();
    }
    constrain(message.name(), &mut schema);
    schema
}

/// What decoding asks of a message beyond the types of its fields: see `promptd_contract::decode`.
fn constrain(message: &str, schema: &mut Value) {
    const TEXT: &str = r"[^\s\u0000-\u001f\u007f-\u009f]";
    match message {
        "Turn" => {
            for name in ["context_files", "contextFiles"] {
                schema["properties"][name]["items"]["minLength"] = 1.into();
            }
            schema["properties"]["variables"]["propertyNames"] = json!({"pattern": TEXT});
            for name in ["time_zone", "timeZone"] {
                schema["properties"][name]["pattern"] = r"^\S*$".into();
            }
            for name in ["working_directory", "workingDirectory"] {
                schema["properties"][name]["pattern"] = INSIDE.into();
                schema["properties"][name]["maxLength"] = MAX_WORKING_DIRECTORY_BYTES.into();
            }
        }
        "NameGlobs" => {
            schema["properties"]["globs"]["items"]["minLength"] = 1.into();
            schema["properties"]["globs"]["items"]["maxLength"] = promptd_core::globs::MAX_GLOB_BYTES.into();
        }
        "ConversationMessage" => {
            let id = json!({"type": "string", "minLength": 1});
            let answers = |name: &str| json!({"required": [name], "properties": {name: id}});
            schema["type"] = "object".into();
            schema["required"] = json!(["role"]);
            schema["properties"]["role"]["not"] = json!({"enum": ["ROLE_UNSPECIFIED", null]});
            schema["if"] = json!({"properties": {"role": {"const": "ROLE_TOOL"}}});
            schema["then"] = json!({"anyOf": [answers("tool_call_id"), answers("toolCallId")]});
        }
        "Budget" => {
            schema["type"] = "object".into();
            schema["required"] = json!(["max"]);
            schema["properties"]["max"]["type"] = "integer".into();
            schema["properties"]["max"]["minimum"] = 1.into();
            let encodings: Vec<_> = Encoding::ALL.iter().map(|encoding| encoding.as_str()).collect();
            let names = encodings.into_iter().map(Value::from).chain(["".into(), Value::Null]);
            schema["properties"]["encoding"]["enum"] = names.collect();
        }
        "ToolCall" => {
            schema["type"] = "object".into();
            schema["required"] = json!(["id"]);
            schema["properties"]["id"]["type"] = "string".into();
            schema["properties"]["id"]["minLength"] = 1.into();
        }
        _ => {}
    }
}

fn field_schema(field: &FieldDescriptor, messages: &mut BTreeMap<String, Value>) -> Value {
    let one = value(&field.kind(), messages);
    if field.is_list() { json!({"type": "array", "items": one}) } else { one }
}

fn value(kind: &Kind, messages: &mut BTreeMap<String, Value>) -> Value {
    match kind {
        Kind::String => json!({"type": "string"}),
        Kind::Bool => json!({"type": "boolean"}),
        Kind::Uint32 => json!({"type": "integer", "minimum": 0, "maximum": u32::MAX}),
        // ProtoJSON writes 64-bit numbers as text.
        Kind::Uint64 => {
            json!({"type": ["integer", "string"], "minimum": 0, "maximum": i64::MAX, "pattern": r"^\+?[0-9]{1,19}$"})
        }
        Kind::Enum(names) => {
            json!({"type": "string", "enum": names.values().map(|value| value.name().to_owned()).collect::<Vec<_>>()})
        }
        Kind::Message(inner) => match inner.full_name() {
            "google.protobuf.Struct" => json!({"type": "object"}),
            "google.protobuf.Timestamp" => text(&Text::like(TIME)),
            _ => {
                let name = inner.name();
                if !messages.contains_key(name) {
                    messages.insert(name.to_owned(), Value::Null);
                    let schema = message(inner, messages);
                    messages.insert(name.to_owned(), schema);
                }
                json!({"$ref": format!("#/$defs/{name}")})
            }
        },
        _ => json!({"not": {}}),
    }
}

/// A path that stays below the folder that it starts from.
const INSIDE: &str = r"^(?!/)(?!(.*/)?\.\.(/|$))[^\\:\u0000-\u001f\u007f-\u009f]*$";

/// RFC 3339, as far as digits can say.
const TIME: &str = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$";

/// The field's comment in the contract, on one line.
fn comment(field: &FieldDescriptor) -> String {
    let file = field.parent_message().parent_file();
    let mut located = file.file_descriptor_proto().source_code_info.iter().flat_map(|info| &info.location);
    let comment = located.find(|place| place.path == field.path()).and_then(|place| place.leading_comments.as_deref());
    comment.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}
