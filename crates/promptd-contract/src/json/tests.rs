use proptest::prelude::*;
use prost::Message as _;
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto, field_descriptor_proto::Type};

use super::*;

const MAX_VALUES: usize = 1_000;

fn message(name: &str) -> MessageDescriptor {
    descriptors().get_message_by_name(name).unwrap()
}

fn request(json: &str) -> Result<proto::AssemblePromptRequest, String> {
    let read = read(&message("promptd.v1.AssemblePromptRequest"), json.as_bytes(), MAX_VALUES);
    let shown = |violations: Vec<Violation>| violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    read.map(|bytes| proto::AssemblePromptRequest::decode(&*bytes).unwrap()).map_err(shown)
}

#[test]
fn fields_are_read_by_either_name_and_null_is_no_value() {
    let turn = r#"{"timeZone": "UTC", "skip_context_files": true, "persona": "", "heartbeat": null, "knowledge": null,
        "now": "2026-02-28T18:30:00.5-08:00", "responseFormat": "RESPONSE_FORMAT_TEXT", "stage": 1,
        "skillFilter": {"allowlist": {}, "blocklist": {"globs": ["a", "b"]}},
        "conversation": {"firstIndex": "18446744073709551615", "segments": [{"level": 3.0, "messageEnd": 7}]},
        "variables": {"n": 1.5, "t": "\u00e9", "b": true, "z": null, "l": [[], {}, -0], "o": {"": {"k": "v"}}}}"#;
    let read = request(&format!(r#"{{"workspaceId": "a", "if_none_match": ["x"], "turn": {turn}}}"#)).unwrap();
    insta::assert_debug_snapshot!(read);
    assert_eq!(request("{}"), Ok(proto::AssemblePromptRequest::default()));
}

#[test]
fn every_mistake_is_reported_at_once_with_its_path() {
    let json = r#"{"workspace": "a", "workspace_id": 7, "workspaceId": "b", "turn": {
        "user": {"nmae": "Dana"}, "agent": ["x"], "now": 1772332200, "time_zone": null, "heartbeat": "true",
        "knowledge": {"content": "x"}, "stage": "SYNTHESIS", "context_files": ["a", null, 1],
        "conversation": {"firstIndex": -1, "messages": [{}, {"role": 9, "time": "today"}], "segments": [{"level": 1.5}]},
        "variables": {"id": 12345678901234567890, "list": [1, 9007199254740993], "twice": 1, "twice": 2}, "inputs": [],
        "x\n|y": 1, "skillFilter": {"allow": {}}}}"#;
    insta::assert_snapshot!(request(json).unwrap_err());
}

#[test]
fn one_of_a_choice_is_taken_and_null_is_none_of_it() {
    let diff = message("promptd.v1.DiffPromptRequest");
    let read = |json: &str| {
        let read = read(&diff, json.as_bytes(), MAX_VALUES).map_err(|found| found[0].to_string());
        read.map(|bytes| proto::DiffPromptRequest::decode(&*bytes).unwrap().after)
    };
    let said = |json: &str| read(json).unwrap_err();
    assert_eq!(
        said(r#"{"proposed": {}, "afterRevision": ""}"#),
        "after_revision: is given together with `proposed`: only one of them can be"
    );
    assert_eq!(
        said(r#"{"after_revision": "r", "proposed": {}}"#),
        "proposed: is given together with `after_revision`: only one of them can be"
    );
    let revision = Some(proto::diff_prompt_request::After::AfterRevision(String::new()));
    for json in [r#"{"proposed": null, "afterRevision": ""}"#, r#"{"afterRevision": "", "proposed": null}"#] {
        assert_eq!(read(json), Ok(revision.clone()), "{json}");
    }
    assert_eq!(read(r#"{"proposed": null, "afterRevision": null}"#), Ok(None));
    assert_eq!(said(r#"{"proposed": {}, "proposed": {}}"#), "proposed: is given twice");
}

/// No two fields of any choice of the contract can be given, and all optional fields can.
#[test]
fn every_choice_of_the_contract_is_one() {
    let own = descriptors().all_messages().filter(|message| message.full_name().starts_with("promptd."));
    for message in own {
        let empty = |field: &prost_reflect::FieldDescriptor| {
            if field.kind().as_message().is_some() { "{}" } else { "\"\"" }
        };
        for choice in message.oneofs().filter(|choice| !choice.is_synthetic()) {
            let fields: Vec<_> = choice.fields().collect();
            for pair in fields.windows(2) {
                let json = format!(
                    r#"{{"{}": {}, "{}": {}}}"#,
                    pair[0].name(),
                    empty(&pair[0]),
                    pair[1].name(),
                    empty(&pair[1])
                );
                let said = read(&message, json.as_bytes(), MAX_VALUES).unwrap_err();
                assert!(said.iter().any(|found| found.message.contains(pair[0].name())), "{json}: {said:?}");
            }
        }
    }
    assert!(request(r#"{"turn": {"persona": "a", "ephemeralSystemPrompt": "b"}}"#).is_ok());
}

#[test]
fn bytes_that_are_no_base64_are_said() {
    let files = message("promptd.v1.DiffPromptRequest");
    for (json, message) in
        [(r#""sealed orders!""#, "must be base64 text, which it is not"), ("7", "must be base64 text, not 7")]
    {
        let json = format!(r#"{{"proposed": {{"files": [{{"path": "AGENTS.md", "content": {json}}}]}}}}"#);
        let said = read(&files, json.as_bytes(), MAX_VALUES).unwrap_err();
        assert_eq!(said[0].to_string(), format!("proposed.files[0].content: {message}"));
    }
}

#[test]
fn what_is_no_json_or_no_object_is_said() {
    for json in ["", " ", "{", "[]", "\"text\"", "nul", "{\"a\": 1} x", "{\"a\": 1e999}", "{\"a\": \"\u{1}\"}"] {
        let said = request(json).unwrap_err();
        assert!(said.starts_with("the request ") && !said.contains('\u{1}'), "{json}: {said}");
    }
    insta::assert_snapshot!(request("{\n  workspaceId: 1}").unwrap_err(), @"the request is not JSON: key must be a string at line 2 column 3");
}

#[test]
fn values_are_bounded() {
    let list = |values: usize| format!(r#"{{"if_none_match": [{}]}}"#, vec![r#""""#; values].join(","));
    assert!(request(&list(MAX_VALUES - 2)).is_ok());
    assert_eq!(request(&list(MAX_VALUES - 1)).unwrap_err(), "the request has more than 1000 values");
}

#[test]
fn messages_are_read_as_deep_as_prost_reads_them() {
    let nested =
        |levels: usize| format!(r#"{{"turn": {{"inputs": {{"k": {}{}}}}}}}"#, "[".repeat(levels), "]".repeat(levels));
    let deepest = (1..64).take_while(|levels| request(&nested(*levels)).is_ok()).last().unwrap();
    let said = request(&nested(deepest + 1)).unwrap_err();
    assert!(said.starts_with("turn.inputs.k[0][0]") && said.ends_with("is nested too deep"), "{said}");
    // One more level would be more than prost takes.
    let mut value = prost_types::Value::default();
    for _ in 0..=deepest {
        let list = prost_types::ListValue { values: vec![value] };
        value = prost_types::Value { kind: Some(prost_types::value::Kind::ListValue(list)) };
    }
    let inputs = prost_types::Struct { fields: [("k".into(), value)].into() };
    let turn = proto::Turn { inputs: Some(inputs), ..Default::default() };
    let request = proto::AssemblePromptRequest { turn: Some(turn), ..Default::default() };
    assert!(proto::AssemblePromptRequest::decode(&*request.encode_to_vec()).is_err());
}

#[test]
fn maps_have_keys_of_text() {
    let maps = descriptors().all_messages().flat_map(|message| message.fields().collect::<Vec<_>>());
    for field in maps.filter(prost_reflect::FieldDescriptor::is_map) {
        let kind = field.kind();
        let key = kind.as_message().unwrap().map_entry_key_field();
        assert_eq!(key.kind(), prost_reflect::Kind::String, "{}", field.full_name());
    }
}

/// A message with a field of every scalar type, named by it.
fn scalars() -> MessageDescriptor {
    let fields = (1..=18).filter_map(|number| {
        let kind = Type::try_from(number).ok()?;
        let of_messages = matches!(kind, Type::Group | Type::Message | Type::Enum);
        (!of_messages).then(|| FieldDescriptorProto {
            name: Some(format!("{kind:?}").to_lowercase()),
            number: Some(number),
            r#type: Some(number),
            label: Some(1),
            ..Default::default()
        })
    });
    let all = DescriptorProto { name: Some("All".into()), field: fields.collect(), ..Default::default() };
    let file = FileDescriptorProto {
        name: Some("all.proto".into()),
        syntax: Some("proto3".into()),
        message_type: vec![all],
        ..Default::default()
    };
    let mut pool = DescriptorPool::new();
    pool.add_file_descriptor_proto(file).unwrap();
    pool.get_message_by_name("All").unwrap()
}

#[test]
fn scalars_of_every_type_are_read_as_prost_reflect_reads_them() {
    let all = scalars();
    let values = [
        "0",
        "1",
        "-1",
        "1.5",
        "1e3",
        "7.0",
        "2147483647",
        "2147483648",
        "-2147483648",
        "-2147483649",
        "4294967295",
        "4294967296",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "18446744073709551615",
        "1e300",
        "\"7\"",
        "\"-7\"",
        "\"x\"",
        "\"\"",
        "\"NaN\"",
        "\"-Infinity\"",
        "\"aGk=\"",
        "\"aGk\"",
        "\"_-8\"",
        "\"18446744073709551615\"",
        "true",
        "false",
        "[]",
        "{}",
    ];
    for field in all.fields() {
        for value in values {
            let json = format!(r#"{{"{}": {value}}}"#, field.name());
            let ours = read(&all, json.as_bytes(), MAX_VALUES).ok();
            // Read and written again, since the order of fields and the room for lengths differ.
            let ours = ours.map(|bytes| DynamicMessage::decode(all.clone(), &*bytes).unwrap().encode_to_vec());
            let theirs = DynamicMessage::deserialize(all.clone(), &mut serde_json::Deserializer::from_str(&json)).ok();
            assert_eq!(ours, theirs.map(|message| message.encode_to_vec()), "{json}");
        }
    }
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1_000_000_000_000_i64..1_000_000_000_000).prop_map(Value::from),
        any::<f32>().prop_filter("finite", |number| number.is_finite() && number.abs() < 1e15).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(".{0,8}", inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_value_is_read_as_prost_reflect_reads_it(value in json_value()) {
        let any = message("promptd.v1.Turn");
        let json = serde_json::json!({ "inputs": { "k": value } }).to_string();
        let ours = DynamicMessage::decode(any.clone(), &*read(&any, json.as_bytes(), MAX_VALUES).unwrap()).unwrap();
        let theirs = DynamicMessage::deserialize(any.clone(), &mut serde_json::Deserializer::from_str(&json)).unwrap();
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn a_double_is_the_nearest_to_its_digits(whole: u8, digits in "[0-9]{1,40}", exponent in -300..300) {
        let json = format!("{whole}.{digits}e{exponent}");
        let read = Json::parse(json.as_bytes(), MAX_VALUES);
        prop_assert_eq!(read, Ok(Json::Double(json.parse().unwrap())));
    }

    #[test]
    fn what_is_written_is_read_again(name in ".{0,20}", seconds in -62_135_596_800_i64..253_402_300_800, flags: (bool, bool),
                                     stage in 0..2, number: u64, texts in prop::collection::vec(".{0,8}", 0..4)) {
        let turn = proto::Turn {
            user: Some(proto::User { id: String::new(), name: name.clone() }),
            now: Some(prost_types::Timestamp { seconds, nanos: 0 }),
            heartbeat: flags.0,
            persona: flags.1.then_some(name),
            context_files: texts,
            conversation: Some(proto::Conversation { first_index: number, ..Default::default() }),
            stage,
            ..Default::default()
        };
        let turn = proto::AssemblePromptRequest { turn: Some(turn), ..Default::default() };
        let descriptor = message("promptd.v1.AssemblePromptRequest");
        let json = write(&descriptor, &turn.encode_to_vec()).unwrap();
        prop_assert_eq!(request(std::str::from_utf8(&json).unwrap()), Ok(turn));
    }

    #[test]
    fn no_input_panics(json in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = read(&message("promptd.v1.AssemblePromptRequest"), &json, MAX_VALUES);
    }
}
