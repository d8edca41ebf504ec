//! From JSON to the bytes of a message, along its descriptor. Every mistake is reported at once.

use std::{borrow::Cow, collections::HashSet};

use prost::Message as _;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MessageDescriptor};
use serde::de::value::{BorrowedStrDeserializer, Error as NotRead};

use super::{MAX_DEPTH, expect::expected, scalar, tree::Json, wire::Wire};
use crate::decode::{Violation, Violations};
use promptd_core::{finding::member, text::inline::inline, yaml::nearest};

/// Whole numbers beyond this are not exact in a `google.protobuf.Value`, whose numbers are doubles.
const MAX_EXACT: u64 = 1 << 53;

/// The most characters shown of a text that is not a name of an enum.
const MAX_SHOWN_CHARS: usize = 64;

type Members<'a> = [(Cow<'a, str>, Json<'a>)];

/// What has been read so far.
#[derive(Default)]
pub(super) struct Reader {
    wire: Wire,
    violations: Violations,
    /// Of the value that is being read, with a dot before each name.
    path: String,
    depth: usize,
}

impl Reader {
    /// Reads a whole request.
    pub(super) fn read(mut self, message: &MessageDescriptor, json: &Json<'_>) -> Result<Vec<u8>, Vec<Violation>> {
        match json {
            Json::Object(members) => self.fields(message, members),
            other => self.fault(format!("the request must be an object, not {}", other.shown())),
        }
        self.violations.into_result(self.wire.into_bytes())
    }

    fn fields(&mut self, message: &MessageDescriptor, members: &Members<'_>) {
        let mut seen = Vec::with_capacity(members.len());
        let mut chosen: Vec<FieldDescriptor> = Vec::new();
        for (key, json) in members {
            let field = message.get_field_by_json_name(key).or_else(|| message.get_field_by_name(key));
            let Some(field) = field else {
                self.at(&member("", key), |this| this.fault(unknown(message, key)));
                continue;
            };
            self.at(&member("", field.name()), |this| {
                if seen.contains(&field.number()) {
                    this.fault("is given twice".into());
                }
                let other = chosen.iter().find(|other| is_other_choice(other, &field));
                if let Some(other) = other.filter(|_| is_given(&field, json)) {
                    this.fault(format!("is given together with `{}`: only one of them can be", other.name()));
                }
                this.field(&field, json);
            });
            seen.push(field.number());
            if is_given(&field, json) && field.containing_oneof().is_some() {
                chosen.push(field);
            }
        }
    }

    /// A field's value; `null` is as good as none.
    fn field(&mut self, field: &FieldDescriptor, json: &Json<'_>) {
        let (tag, kind) = (field.number(), field.kind());
        let entry = kind.as_message().filter(|_| field.is_map());
        match (entry, json) {
            (Some(entry), Json::Object(members)) => self.entries(tag, &entry.map_entry_value_field().kind(), members),
            (Some(_), Json::Null) => {}
            (Some(_), _) => self.wrong("an object", json),
            (None, json) if field.is_list() => match json {
                Json::List(items) => self.items(tag, &kind, items),
                Json::Null => {}
                _ => self.wrong("a list", json),
            },
            (None, json) if !is_given(field, json) => {}
            (None, json) => self.value(tag, &kind, json),
        }
    }

    fn items(&mut self, tag: u32, kind: &Kind, items: &[Json<'_>]) {
        for (index, json) in items.iter().enumerate() {
            self.at(&format!("[{index}]"), |this| this.value(tag, kind, json));
        }
    }

    /// The entries of a map. Its keys are text: the contract has no other maps.
    fn entries(&mut self, tag: u32, kind: &Kind, members: &Members<'_>) {
        let mut seen = HashSet::with_capacity(members.len());
        for (key, json) in members {
            self.at(&member("", key), |this| {
                if !seen.insert(key) {
                    this.fault("is given twice".into());
                }
                this.inner(tag, |this| {
                    this.wire.bytes(1, key.as_bytes());
                    this.value(2, kind, json);
                });
            });
        }
    }

    /// One value of any kind.
    fn value(&mut self, tag: u32, kind: &Kind, json: &Json<'_>) {
        let Kind::Message(message) = kind else {
            if !scalar::write(&mut self.wire, tag, kind, json) {
                match json {
                    Json::Text(text) if kind.as_enum().is_some() => {
                        self.fault(format!(
                            "must be {}, not \"{}\"",
                            expected(kind),
                            inline(text, MAX_SHOWN_CHARS).text
                        ));
                    }
                    Json::Text(_) if matches!(kind, Kind::Bytes) => {
                        self.fault(format!("must be {}, which it is not", expected(kind)));
                    }
                    _ => self.wrong(&expected(kind), json),
                }
            }
            return;
        };
        match (message.full_name(), json) {
            ("google.protobuf.Value", json) => self.inner(tag, |this| this.any_value(message, json)),
            ("google.protobuf.Struct", Json::Object(_)) | ("google.protobuf.ListValue", Json::List(_)) => {
                self.inner(tag, |this| this.container(message, json));
            }
            ("google.protobuf.Timestamp" | "google.protobuf.Duration", Json::Text(text)) => {
                let read = DynamicMessage::deserialize(message.clone(), BorrowedStrDeserializer::<NotRead>::new(text));
                match read {
                    Ok(read) => self.wire.bytes(tag, &read.encode_to_vec()),
                    Err(_) => self.fault(format!("must be {}", expected(kind))),
                }
            }
            (name, Json::Object(members)) if !name.starts_with("google.protobuf.") => {
                self.inner(tag, |this| this.fields(message, members));
            }
            _ => self.wrong(&expected(kind), json),
        }
    }

    /// The one field of a `Struct` or `ListValue`, both of which hold values.
    fn container(&mut self, message: &MessageDescriptor, json: &Json<'_>) {
        if let Some(field) = message.get_field(1) {
            self.field(&field, json);
        }
    }

    /// A `google.protobuf.Value`: the one of its fields that JSON's value is for.
    fn any_value(&mut self, message: &MessageDescriptor, json: &Json<'_>) {
        const NULL: u32 = 1;
        const NUMBER: u32 = 2;
        const TEXT: u32 = 3;
        const BOOL: u32 = 4;
        const OBJECT: u32 = 5;
        const LIST: u32 = 6;
        match json {
            Json::Null => self.wire.varint(NULL, 0),
            Json::Bool(bool) => self.wire.varint(BOOL, (*bool).into()),
            Json::Whole(_) | Json::Double(_) => self.number(NUMBER, json),
            Json::Text(text) => self.wire.bytes(TEXT, text.as_bytes()),
            Json::Object(_) | Json::List(_) => {
                let tag = if matches!(json, Json::List(_)) { LIST } else { OBJECT };
                let kind = message.get_field(tag).map(|field| field.kind());
                if let Some(Kind::Message(container)) = kind {
                    self.inner(tag, |this| this.container(&container, json));
                }
            }
        }
    }

    /// A number as a double. Digits beyond its precision would be lost without a word.
    #[expect(clippy::cast_precision_loss, reason = "what it loses is reported")]
    fn number(&mut self, tag: u32, json: &Json<'_>) {
        let (double, exact) = match *json {
            Json::Whole(whole) => (whole as f64, whole.unsigned_abs() <= MAX_EXACT.into()),
            // More digits than a whole number's come as a double.
            Json::Double(double) => (double, double.abs() <= MAX_EXACT as f64),
            _ => return,
        };
        if !exact {
            self.fault("is not exact as a number; send it as text".into());
        }
        self.wire.fixed64(tag, double.to_le_bytes());
    }

    /// An inner message.
    fn inner(&mut self, tag: u32, write: impl FnOnce(&mut Self)) {
        if self.depth == MAX_DEPTH {
            return self.fault("is nested too deep".into());
        }
        self.depth += 1;
        let start = self.wire.begin(tag);
        write(self);
        self.wire.end(start);
        self.depth -= 1;
    }

    /// What lies below a step of the path: `.name` or `[index]`.
    fn at(&mut self, step: &str, read: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(step);
        read(self);
        self.path.truncate(length);
    }

    fn wrong(&mut self, expected: &str, json: &Json<'_>) {
        self.fault(format!("must be {expected}, not {}", json.shown()));
    }

    fn fault(&mut self, message: String) {
        self.violations.add(self.path.strip_prefix('.').unwrap_or_default(), message);
    }
}

/// Whether JSON's value is one of the field's: `null` is as good as none.
fn is_given(field: &FieldDescriptor, json: &Json<'_>) -> bool {
    *json != Json::Null || is_any_value(&field.kind())
}

/// Whether a message has one of the two fields at most. An optional field is in a oneof of its own.
fn is_other_choice(one: &FieldDescriptor, other: &FieldDescriptor) -> bool {
    one.number() != other.number() && one.containing_oneof() == other.containing_oneof()
}

/// Where `null` is a value like any other.
fn is_any_value(kind: &Kind) -> bool {
    kind.as_message().is_some_and(|message| message.full_name() == "google.protobuf.Value")
}

/// That there is no such field, and which one may be meant: in the spelling that the caller uses.
fn unknown(message: &MessageDescriptor, key: &str) -> String {
    let name = |field: FieldDescriptor| {
        if key.contains('_') { field.name().to_owned() } else { field.json_name().to_owned() }
    };
    let names: Vec<_> = message.fields().map(name).collect();
    let hint = match nearest(key, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "it has no fields".into(),
        None => format!("known fields: {}", names.join(", ")),
    };
    format!("is not a field of {}; {hint}", message.name())
}
