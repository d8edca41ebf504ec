//! The JSON Schema of profiles: the tables of keys, and what keys need of each other.

use serde_json::{Value, json};

use super::{
    compile::reply::MAX_THOUGHTS,
    keys::{ACTION, INPUT, NUMBER_AS_TEXT, ROOT},
    names::ROOTS,
    words::TYPES,
};
use crate::yaml::schema::{NAME, choice, document, mapping};

/// The JSON Schema of a profile's file. It does not look into templates and expressions, and does not know the profile
/// that another one extends: of an extending one only what is written there is checked.
#[must_use]
pub fn schema() -> Value {
    let description = "A recipe that promptd assembles prompts by; docs/profiles.md is the manual.";
    let mut root = mapping(ROOT);
    root["type"] = "object".into();
    root["properties"]["inputs"] = inputs(&root["properties"]["inputs"]["description"]);
    let message = &mut root["properties"]["messages"]["items"];
    message["type"] = "object".into();
    message["if"] = json!({"required": ["conversation"]});
    message["then"] = json!({"properties": {"name": {"type": "null"}}});
    message["else"] = json!({"required": ["name"], "properties": {"name": {"type": "string"}}});
    let card = json!({"required": ["card"], "properties": {"card": {"const": true}}});
    message["allOf"] = json!([{"if": card, "then": {"properties": {"role": {"type": "null"}}}}]);
    root["if"] = given("extends");
    root["else"] = whole_profile();
    let actions = &mut root["properties"]["reply"]["else"]["properties"]["actions"];
    *actions = json!({
        "description": actions["description"],
        "type": ["object", "null"],
        "additionalProperties": {"$ref": "#/$defs/action"},
    });
    root["properties"]["reply"]["else"]["properties"]["thoughts"]["maxItems"] = MAX_THOUGHTS.into();
    root["$defs"] = json!({
        "input": input(&mapping(INPUT)),
        "element": element(),
        "action": action(),
        "field": input(&mapping(&[INPUT, &[NUMBER_AS_TEXT]].concat())),
    });
    document("promptd profile", description, root)
}

/// That a key has a value.
fn given(key: &str) -> Value {
    json!({"required": [key], "properties": {key: {"not": {"type": "null"}}}})
}

/// That a key has one of these words.
fn is_one_of(key: &str, words: &[&str]) -> Value {
    json!({"required": [key], "properties": {key: {"enum": words}}})
}

/// What a profile needs that extends no other.
fn whole_profile() -> Value {
    let message = json!({
        "if": {"required": ["conversation"]},
        "then": {"properties": {"conversation": {"allOf": [
            needs("max_tokens", "summary_budget"),
            needs("summary_budget", "max_tokens"),
            needs("keep_unsummarised", "max_tokens"),
            needs("auto_recall", "max_tokens"),
        ]}}},
        "else": {
            "required": ["sections"],
            "properties": {"sections": {"type": "array", "minItems": 1, "items": whole_section()}},
        },
    });
    json!({
        "required": ["messages"],
        "properties": {"messages": {"type": "array", "minItems": 1, "items": message}},
    })
}

/// What a section needs that is laid over no other.
fn whole_section() -> Value {
    let when = |what: Value, key: &str| json!({"if": what, "then": given(key)});
    let has_template = json!({"not": {"anyOf": [given("each"), is_one_of("kind", &["facts", "summary_tree"])]}});
    json!({"allOf": [
        {"not": {"allOf": [given("each"), given("kind")]}},
        when(has_template, "template"),
        when(is_one_of("kind", &["context_files", "summary_tree"]), "entry"),
        needs("each", "entry"),
        needs("fallback", "file"),
        {"if": {"allOf": [given("each"), {"required": ["whole"], "properties": {"whole": {"const": true}}}]}, "then": given("budget")},
    ]})
}

fn needs(key: &str, other: &str) -> Value {
    json!({"if": given(key), "then": given(other)})
}

fn inputs(description: &Value) -> Value {
    let taken: Vec<_> = ROOTS.iter().map(|root| root.name).collect();
    json!({
        "description": description,
        "type": ["object", "null"],
        "propertyNames": {"pattern": NAME, "not": {"enum": taken}},
        "additionalProperties": {"$ref": "#/$defs/input"},
    })
}

/// The names of types that need nothing else.
fn type_name() -> Value {
    choice(&TYPES.iter().copied().filter(|ty| *ty != "object").collect::<Vec<_>>())
}

/// An action of `reply`. How it is named depends on the form of its contract, which may be another profile's.
fn action() -> Value {
    let mut action = mapping(ACTION);
    let fields = &mut action["properties"]["fields"];
    fields["additionalProperties"] = json!({"$ref": "#/$defs/field"});
    action
}

/// A type's name, or a declaration with these keys.
fn input(declaration: &Value) -> Value {
    let mut declaration = declaration.clone();
    let of = &mut declaration["properties"]["of"];
    of["$ref"] = "#/$defs/element".into();
    declaration["properties"]["one_of"]["minItems"] = 1.into();
    let is = |ty: &str| json!({"required": ["type"], "properties": {"type": {"const": ty}}});
    let default_of =
        |ty: &str, json_type: Value| json!({"if": is(ty), "then": {"properties": {"default": {"type": json_type}}}});
    declaration["allOf"] = json!([
        default_of("string", json!(["string", "null"])),
        default_of("bool", json!(["boolean", "null"])),
        default_of("int", json!(["integer", "null"])),
        default_of("number", json!(["number", "null"])),
        default_of("time", json!(["string", "integer", "null"])),
        default_of("list", json!(["array", "null"])),
        default_of("object", json!(["object", "null"])),
        {"if": {"anyOf": [{"required": ["min"]}, {"required": ["max"]}]}, "then": is_one_of("type", &["int", "number"])},
        {"if": given("one_of"), "then": is("string")},
        {"if": given("of"), "then": is_one_of("type", &["list", "object"])},
        {"if": is("object"), "then": {"required": ["of"], "properties": {"of": {
            "type": "object",
            "if": is_declaration(),
            "then": is("object"),
        }}}},
    ]);
    json!({"if": {"type": "string"}, "then": type_name(), "else": declaration})
}

/// Whether a mapping is a declaration, rather than the fields of an object, one of which may be called `type`.
fn is_declaration() -> Value {
    json!({"required": ["type"], "properties": {"type": {"not": {"type": ["object", "array"]}}}})
}

/// What `of` may be: a type's name, a declaration with `type`, or the fields of an object.
fn element() -> Value {
    let fields = json!({"type": "object", "additionalProperties": {"$ref": "#/$defs/input"}});
    json!({
        "if": {"type": "null"},
        "else": {
            "if": {"type": "string"},
            "then": type_name(),
            "else": {"if": is_declaration(), "then": {"$ref": "#/$defs/input"}, "else": fields},
        },
    })
}
