//! JSON Schema (draft 2020-12) made of the tables of [`super::shape`].
//!
//! It says of a file what [`super::Fields`] says: an unknown key is refused, a null is as good as an absent key, and text
//! that looks like a number needs quotes.

use serde_json::{Map, Value, json};

use super::{
    parse,
    shape::{Key, Shape, Text},
};

/// The dialect that every schema names.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The name of an input, or of a field of one.
pub const NAME: &str = "^[a-z][a-z0-9_]*$";

/// Whole digits, as text.
const DIGITS: &str = "^\\+?[0-9]+$";

/// A whole schema: the dialect and a title before what the file's root is.
#[must_use]
pub fn document(title: &str, description: &str, root: Value) -> Value {
    let mut document = Map::new();
    document.insert("$schema".into(), DIALECT.into());
    document.insert("title".into(), title.into());
    document.insert("description".into(), description.into());
    if let Value::Object(root) = root {
        document.extend(root);
    }
    document.into()
}

/// A mapping with these keys and no others. An empty file, or a null, is one without keys.
#[must_use]
pub fn mapping(keys: &[Key]) -> Value {
    let properties: Map<_, _> = keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let required: Vec<_> = keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if required.is_empty() {
        return or_null(schema);
    }
    schema["required"] = required.into();
    schema
}

/// The value of a key, with what editors show of it.
fn property(key: &Key) -> Value {
    let schema = of(&key.shape);
    described(if key.required { schema } else { or_null(schema) }, key.about, key.default)
}

/// A value's schema with its description, and its default as YAML unless that is empty.
#[must_use]
pub fn described(schema: Value, about: &str, default: &str) -> Value {
    let mut described = Map::new();
    described.insert("description".into(), about.into());
    if let Value::Object(schema) = schema {
        described.extend(schema);
    }
    if let Some(default) = Some(default).filter(|default| !default.is_empty()).and_then(|text| parse(text).ok()) {
        described.insert("default".into(), default.to_json());
    }
    described.into()
}

/// What a shape takes, null aside.
fn of(shape: &Shape) -> Value {
    match shape {
        Shape::Text(rule) => text(rule),
        Shape::Scalar(rule) => scalar(rule),
        Shape::Choice(words) => choice(words),
        Shape::WordOrMap(words, keys) => {
            json!({"if": {"type": "string"}, "then": choice(words), "else": mapping(keys)})
        }
        Shape::TextsOrMap(rule, keys) => {
            json!({"if": {"type": "array"}, "then": list(&scalar(rule)), "else": mapping(keys)})
        }
        Shape::Number => json!({"type": "number"}),
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Count => count(0),
        Shape::Amount => json!({"anyOf": [count(0), text(&Text::like(DIGITS)), text(&Text::like(NAME))]}),
        Shape::Share => json!({"anyOf": [
            {"type": "number", "minimum": 0, "maximum": 1},
            text(&Text::like("^0*(\\.[0-9]+|0\\.?[0-9]*|1(\\.0*)?)$")),
            text(&Text::like(NAME)),
        ]}),
        Shape::Texts(rule) => list(&scalar(rule)),
        Shape::Choices { words, least } => {
            let mut schema = list(&choice(words));
            if *least > 0 {
                schema["minItems"] = (*least).into();
            }
            schema
        }
        Shape::Map(keys) => mapping(keys),
        Shape::Each { keys, most } => {
            let mut schema = list(&mapping(keys));
            if *most < usize::MAX {
                schema["maxItems"] = (*most).into();
            }
            schema
        }
        Shape::Named(keys) => json!({"type": "object", "additionalProperties": mapping(keys)}),
        Shape::Pairs => json!({"type": "object"}),
        Shape::Any => json!({}),
    }
}

/// Text.
#[must_use]
pub fn text(rule: &Text) -> Value {
    let mut schema = json!({"type": "string"});
    if let Some(pattern) = rule.pattern {
        schema["pattern"] = pattern.into();
    }
    if let Some(most) = rule.most {
        schema["maxLength"] = most.into();
    }
    schema
}

/// Any scalar but null; the rule is for those that are text.
#[must_use]
pub fn scalar(rule: &Text) -> Value {
    let mut schema = text(rule);
    schema["type"] = json!(["string", "number", "boolean"]);
    schema
}

/// One of these words.
#[must_use]
pub fn choice(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// A whole number that is not below `least`.
#[must_use]
pub fn count(least: u64) -> Value {
    json!({"type": "integer", "minimum": least, "maximum": i64::MAX})
}

/// A list of such items.
#[must_use]
pub fn list(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

/// The same schema, which also takes a null.
#[must_use]
pub fn or_null(mut schema: Value) -> Value {
    let Value::Object(fields) = &mut schema else { return schema };
    if fields.contains_key("anyOf") || fields.contains_key("$ref") {
        return json!({"anyOf": [schema, {"type": "null"}]});
    }
    match fields.get_mut("type") {
        Some(Value::Array(types)) if types.iter().any(|ty| ty == "null") => {}
        Some(Value::Array(types)) => types.push("null".into()),
        Some(ty) => *ty = json!([ty.take(), "null"]),
        None => {}
    }
    if let Some(Value::Array(words)) = fields.get_mut("enum") {
        words.push(Value::Null);
    }
    schema
}
