//! Turn files: the contract's `Turn` from YAML or JSON, every fault reported with its place.
//!
//! `promptd render --turn` reads them.
//!
//! The file is walked along the contract's own descriptor. A deserializer would stop at the first fault and keep no
//! positions; the names here are the contract's, so a field added there is known here.

mod schema;

pub use schema::schema;

use std::collections::HashSet;

use promptd_contract::{json::descriptors, proto};
use promptd_core::{
    finding::{Code, Finding},
    profile::ProfileSet,
    yaml::{self, Faults, Mark, Node, Pair, Scalar, Value as Yaml, nearest},
};
use prost_reflect::{DynamicMessage, EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor, Value};

/// Whole numbers beyond this are not exact in a `google.protobuf.Struct`, whose numbers are doubles.
const MAX_EXACT: u64 = 1 << 53;

/// A turn file: the fields of a `Turn`, and the profile to render it by, which a request has beside its turn.
#[derive(Debug, PartialEq)]
pub struct TurnFile {
    /// The turn; nothing but its form is checked.
    pub turn: proto::Turn,
    /// The profile.
    pub profile: Option<String>,
}

/// Reads a turn file; `name` is its name for findings.
pub fn read(text: &str, name: &str, profiles: &ProfileSet) -> Result<TurnFile, Vec<Finding>> {
    let findings = |faults: Vec<yaml::Fault>| faults.into_iter().map(|f| f.into_finding(name)).collect::<Vec<_>>();
    let decode = |root: &Node, faults: &Faults| {
        let mut root = root.clone();
        let profile = take_profile(&mut root, profiles, faults);
        let turn = message(&root, &descriptor("Turn"), "turn", faults).and_then(|turn| turn.transcode_to().ok());
        turn.map(|turn| TurnFile { turn, profile })
    };
    let root = yaml::parse(text).map_or_else(|faults| json(text, &faults), Some);
    let read = match root {
        Some(root) => {
            let faults = Faults::default();
            let turn = decode(&root, &faults);
            if faults.is_empty() { Ok(turn) } else { Err(faults.into_vec()) }
        }
        None => yaml::read(text, decode),
    };
    read.map_err(findings)?.ok_or_else(Vec::new)
}

/// Takes the key `profile` out of the file's root.
fn take_profile(root: &mut Node, profiles: &ProfileSet, faults: &Faults) -> Option<String> {
    let Yaml::Map(pairs) = &mut root.value else { return None };
    let index = pairs.iter().position(|pair| pair.key == "profile")?;
    let node = pairs.remove(index).value;
    if node.is_null() {
        return None;
    }
    let Some(Value::String(name)) = value(&node, &Kind::String, "profile", faults) else { return None };
    if let Err(message) = profiles.named(&name) {
        faults.add(Code::InvalidValue, node.at, message);
    }
    Some(name)
}

/// JSON that is not YAML: surrogate pairs, or more values than YAML may have. Its positions are not known.
fn json(text: &str, faults: &[yaml::Fault]) -> Option<Node> {
    let is_twice = faults.iter().any(|fault| fault.code == Code::DuplicateKey);
    if is_twice { None } else { serde_json::from_str(text).ok().map(|value| from_json(&value)) }
}

fn from_json(value: &serde_json::Value) -> Node {
    let at = Mark { line: 1, column: 1 };
    let scalar = |text: String, plain| Yaml::Scalar(Scalar { text, plain, literal: false, cut: None });
    let value = match value {
        serde_json::Value::Null => scalar(String::new(), true),
        serde_json::Value::Bool(bool) => scalar(bool.to_string(), true),
        serde_json::Value::Number(number) => scalar(number.to_string(), true),
        serde_json::Value::String(text) => scalar(text.clone(), false),
        serde_json::Value::Array(items) => Yaml::List(items.iter().map(from_json).collect()),
        serde_json::Value::Object(fields) => Yaml::Map(
            fields.iter().map(|(key, value)| Pair { key: key.clone(), at, value: from_json(value) }).collect(),
        ),
    };
    Node { at, value }
}

/// A message of the contract by its name.
#[must_use]
pub fn descriptor(name: &str) -> MessageDescriptor {
    #[expect(clippy::expect_used, reason = "the contract is compiled in, and the names are literals")]
    descriptors().get_message_by_name(&format!("promptd.v1.{name}")).expect("a message of the contract")
}

fn message(node: &Node, descriptor: &MessageDescriptor, path: &str, faults: &Faults) -> Option<DynamicMessage> {
    match descriptor.full_name() {
        "google.protobuf.Struct" => {
            exact(node, path, faults);
            known(node, descriptor, path, "a mapping", faults)
        }
        "google.protobuf.Timestamp" => {
            known(node, descriptor, path, "a time such as `2026-02-28T18:30:00-08:00`", faults)
        }
        _ => fields(node, descriptor, path, faults),
    }
}

fn fields(node: &Node, descriptor: &MessageDescriptor, path: &str, faults: &Faults) -> Option<DynamicMessage> {
    let mut message = DynamicMessage::new(descriptor.clone());
    let pairs = match &node.value {
        Yaml::Map(pairs) => pairs.as_slice(),
        _ if node.is_null() => &[],
        _ => return wrong(node, path, "a mapping", faults),
    };
    let mut seen = HashSet::new();
    for pair in pairs {
        let field = descriptor.get_field_by_name(&pair.key).or_else(|| descriptor.get_field_by_json_name(&pair.key));
        let Some(field) = field else {
            unknown(pair, descriptor, path, faults);
            continue;
        };
        if !seen.insert(field.number()) {
            faults.add(Code::DuplicateKey, pair.at, format!("duplicate key `{path}.{}`", field.name()));
        }
        if pair.value.is_null() {
            continue;
        }
        if let Some(value) = field_value(&pair.value, &field, &format!("{path}.{}", field.name()), faults) {
            message.set_field(&field, value);
        }
    }
    Some(message)
}

fn unknown(pair: &Pair, descriptor: &MessageDescriptor, path: &str, faults: &Faults) {
    let names: Vec<_> = descriptor.fields().map(|field| field.name().to_owned()).collect();
    let hint = match nearest(&pair.key, names.iter().map(String::as_str)) {
        Some(known) => format!("; did you mean `{known}`?"),
        None => format!("; known here: {}", names.join(", ")),
    };
    faults.add(Code::UnknownKey, pair.at, format!("`{path}` has no field `{}`{hint}", pair.key));
}

fn field_value(node: &Node, field: &FieldDescriptor, path: &str, faults: &Faults) -> Option<Value> {
    if !field.is_list() {
        return value(node, &field.kind(), path, faults);
    }
    let Yaml::List(items) = &node.value else { return wrong(node, path, "a list", faults) };
    let item = |(index, item)| value(item, &field.kind(), &format!("{path}[{index}]"), faults);
    Some(Value::List(items.iter().enumerate().filter_map(item).collect()))
}

fn value(node: &Node, kind: &Kind, path: &str, faults: &Faults) -> Option<Value> {
    if let Kind::Message(descriptor) = kind {
        return message(node, descriptor, path, faults).map(Value::Message);
    }
    let scalar = match &node.value {
        Yaml::Scalar(scalar) if !scalar.is_null() => Some(scalar),
        _ => None,
    };
    let whole = || scalar.and_then(Scalar::as_count);
    match kind {
        Kind::String => match scalar {
            Some(scalar) if scalar.as_bool().is_none() && scalar.as_number().is_none() => {
                Some(Value::String(scalar.text.clone()))
            }
            Some(scalar) => wrong(node, path, &format!("text; write \"{}\" to mean the text", scalar.text), faults),
            None => wrong(node, path, "text", faults),
        },
        Kind::Bool => match scalar.and_then(Scalar::as_bool) {
            Some(bool) => Some(Value::Bool(bool)),
            None => wrong(node, path, "`true` or `false`", faults),
        },
        Kind::Uint32 => match whole().and_then(|number| u32::try_from(number).ok()) {
            Some(number) => Some(Value::U32(number)),
            None => wrong(node, path, "a whole number from 0 to 4294967295", faults),
        },
        // ProtoJSON writes 64-bit numbers as text.
        Kind::Uint64 => match whole().or_else(|| scalar.and_then(|scalar| scalar.text.parse().ok())) {
            Some(number) => Some(Value::U64(number)),
            None => wrong(node, path, "a whole number, 0 or more", faults),
        },
        Kind::Enum(names) => choice(node, scalar, names, path, faults),
        _ => wrong(node, path, "of a type that `--turn` can read", faults),
    }
}

fn choice(node: &Node, scalar: Option<&Scalar>, names: &EnumDescriptor, path: &str, faults: &Faults) -> Option<Value> {
    let found = scalar.and_then(|scalar| names.get_value_by_name(&scalar.text));
    if let Some(found) = found {
        return Some(Value::EnumNumber(found.number()));
    }
    let all: Vec<_> = names.values().map(|value| format!("`{}`", value.name())).collect();
    wrong(node, path, &format!("one of {}", all.join(", ")), faults)
}

/// The types that JSON writes in a form of their own.
fn known(
    node: &Node,
    descriptor: &MessageDescriptor,
    path: &str,
    wanted: &str,
    faults: &Faults,
) -> Option<DynamicMessage> {
    let value = node.to_json();
    match DynamicMessage::deserialize(descriptor.clone(), value) {
        Ok(message) => Some(message),
        Err(_) => wrong(node, path, wanted, faults),
    }
}

fn exact(node: &Node, path: &str, faults: &Faults) {
    match &node.value {
        Yaml::Scalar(scalar) => {
            let whole = scalar.as_number().and_then(|number| number.as_i64());
            let digits = scalar.plain && scalar.text.len() > 15 && scalar.text.bytes().all(|b| b.is_ascii_digit());
            if whole.is_some_and(|number| number.unsigned_abs() > MAX_EXACT) || (whole.is_none() && digits) {
                let message = format!("`{path}` is not exact as a number; write \"{}\" to mean the text", scalar.text);
                faults.add(Code::InvalidValue, node.at, message);
            }
        }
        Yaml::List(items) => {
            items.iter().enumerate().for_each(|(index, item)| exact(item, &format!("{path}[{index}]"), faults));
        }
        Yaml::Map(pairs) => {
            for pair in pairs {
                exact(&pair.value, &format!("{path}.{}", pair.key), faults);
            }
        }
    }
}

fn wrong<T>(node: &Node, path: &str, wanted: &str, faults: &Faults) -> Option<T> {
    faults.add(Code::WrongType, node.at, format!("`{path}` must be {wanted}, not {}", node.kind()));
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> String {
        let line = |f: Finding| format!("{} {}\n", f.place, f.message);
        read(text, "turn.yaml", &ProfileSet::default()).unwrap_err().into_iter().map(line).collect()
    }

    #[test]
    fn a_turn_is_read_by_both_names_and_in_both_languages() {
        let yaml = "user: {name: Ada}\ntimeZone: Europe/Berlin\nheartbeat: true\nnow: 2026-02-28T18:30:00-08:00\n\
                    persona: ''\nresponse_format: RESPONSE_FORMAT_JSON_OBJECT\nvariables: {n: 3, list: [1, x]}\n\
                    knowledge:\n  - content: |\n      two\n      lines\nconversation: {first_index: \"7\"}\n";
        let turn = read(yaml, "t", &ProfileSet::default()).unwrap().turn;
        assert_eq!(turn.user.as_ref().unwrap().name, "Ada");
        assert_eq!((turn.time_zone.as_str(), turn.heartbeat), ("Europe/Berlin", true));
        assert_eq!(turn.now.unwrap().seconds, 1_772_332_200);
        assert_eq!(turn.persona.as_deref(), Some(""));
        assert_eq!(turn.response_format, 2);
        assert_eq!(turn.variables.as_ref().unwrap().fields.len(), 2);
        assert_eq!(turn.knowledge[0].content, "two\nlines\n");
        assert_eq!(turn.conversation.unwrap().first_index, 7);
        let json = read(
            r#"{"user": {"name": "\ud83d\ude00"}, "skillFilter": {"allowlist": {}}}"#,
            "t",
            &ProfileSet::default(),
        )
        .unwrap()
        .turn;
        assert_eq!(json.user.unwrap().name, "😀");
        assert!(json.skill_filter.unwrap().allowlist.unwrap().globs.is_empty());
        let empty = TurnFile { turn: proto::Turn::default(), profile: None };
        assert_eq!(read("", "t", &ProfileSet::default()).unwrap(), empty);
    }

    #[test]
    fn every_fault_is_reported_with_its_place_and_the_nearest_field() {
        let text = "user:\n  nmae: Ada\n  id: 5\nheartbeat: yes\nnow: today\nknowledge: {content: x}\n\
                    response_format: JSON\nvariables: {id: 9007199254740993}\nstage: [x]\nwhatever: 1\n";
        insta::assert_snapshot!(faults(text), @r#"
        turn.yaml:2:3 `turn.user` has no field `nmae`; did you mean `name`?
        turn.yaml:3:7 `turn.user.id` must be text; write "5" to mean the text, not a number
        turn.yaml:4:12 `turn.heartbeat` must be `true` or `false`, not text
        turn.yaml:5:6 `turn.now` must be a time such as `2026-02-28T18:30:00-08:00`, not text
        turn.yaml:6:12 `turn.knowledge` must be a list, not a mapping
        turn.yaml:7:18 `turn.response_format` must be one of `RESPONSE_FORMAT_UNSPECIFIED`, `RESPONSE_FORMAT_TEXT`, `RESPONSE_FORMAT_JSON_OBJECT`, not text
        turn.yaml:8:17 `turn.variables.id` is not exact as a number; write "9007199254740993" to mean the text
        turn.yaml:9:8 `turn.stage` must be one of `STAGE_UNSPECIFIED`, `STAGE_SYNTHESIS`, not a list
        turn.yaml:10:1 `turn` has no field `whatever`; known here: agent, user, channel, now, time_zone, heartbeat, variables, persona, knowledge, conversation_summary, response_format, ephemeral_system_prompt, skip_context_files, skill_filter, context_files, conversation, inputs, stage, session_id, budget, working_directory, session_position, session_held_cut
        "#);
    }

    #[test]
    fn a_duplicate_key_is_reported_whichever_name_it_has() {
        assert!(faults("time_zone: UTC\ntimeZone: UTC\n").contains("turn.yaml:2:1 duplicate key `turn.time_zone`"));
        let json = read("{\"heartbeat\": true, \"heartbeat\": false}", "t", &ProfileSet::default()).unwrap_err();
        assert_eq!(json[0].code, Code::DuplicateKey);
    }
}
