//! What templates see of the reply contract, so that the prompt teaches what the reader takes.

use std::fmt::Write as _;

use minijinja::Value as Shown;
use serde_json::{Map, Value, json};

use super::{
    names::text_fields,
    spec::{ActionForm, ActionSpec, Block, ReplyContract, Visibility},
    types::{Field, Type, to_rendered},
};
use crate::kai_ui;

/// The names that templates have for it, unless an input has one of them.
pub(super) const NAMES: [&str; 2] = ["actions", "reply"];

/// The values of [`NAMES`].
#[derive(Debug, Clone, Default)]
pub struct Taught {
    /// `actions`: a line for each action, and one for each of its fields.
    pub actions: String,
    /// `reply`: `actions` as a list, `forms` by name, `schema`, and `kai_ui`, the catalogue of screens.
    pub reply: Shown,
}

impl Taught {
    pub(super) fn of(contract: &ReplyContract) -> Self {
        let shown: Vec<&ActionSpec> = taught(contract).collect();
        let forms: Map<String, Value> =
            shown.iter().map(|spec| (spec.name.clone(), form(spec, contract.form).into())).collect();
        let list: Vec<Value> = shown.iter().map(|spec| listed(spec, contract.form)).collect();
        let schema = schema(&shown, contract.form).to_string();
        Self {
            actions: shown.iter().map(|spec| lines(spec, contract.form)).collect::<Vec<_>>().join("\n"),
            reply: to_rendered(
                &json!({ "actions": list, "forms": forms, "schema": schema, "kai_ui": screens(contract) }),
            ),
        }
    }

    /// The value of one of [`NAMES`].
    pub(crate) fn value(&self, name: &str) -> Option<Shown> {
        match name {
            "actions" => Some(self.actions.as_str().into()),
            "reply" => Some(self.reply.clone()),
            _ => None,
        }
    }
}

/// The actions that the model may learn of.
pub(super) fn taught(contract: &ReplyContract) -> impl Iterator<Item = &ActionSpec> {
    contract.declared().iter().filter(|spec| spec.visibility == Visibility::Taught)
}

/// The types of [`NAMES`], in order.
pub(super) fn types(contract: &ReplyContract) -> [Type; 2] {
    let field = |name: &str, ty: Type| Field { ty, ..text_fields(&[name]).remove(0) };
    let mut of_field = text_fields(&["name", "type", "description"]);
    of_field.extend([field("required", Type::Bool), field("default", Type::Any)]);
    let mut of_action = text_fields(&["name", "description", "form"]);
    of_action.push(field("fields", Type::List(Box::new(Type::Object(of_field)))));
    let forms: Vec<&str> = taught(contract).map(|spec| &*spec.name).collect();
    let reply = Type::Object(vec![
        field("actions", Type::List(Box::new(Type::Object(of_action)))),
        field("forms", Type::Object(text_fields(&forms))),
        field("schema", Type::Text),
        field("kai_ui", Type::Text),
    ]);
    [Type::Text, reply]
}

/// What screens may be made of; empty where replies have none.
fn screens(contract: &ReplyContract) -> String {
    if contract.blocks.contains(&Block::KaiUi) { kai_ui::prompt() } else { String::new() }
}

fn listed(spec: &ActionSpec, action_form: ActionForm) -> Value {
    let field = |field: &Field| {
        json!({
            "name": field.name,
            "type": field.ty.describe(),
            "description": field.description,
            "required": field.required,
            "default": field.default,
        })
    };
    let fields: Vec<Value> = spec.fields.iter().map(|f| field(&f.field)).collect();
    json!({ "name": spec.name, "description": spec.description, "form": form(spec, action_form), "fields": fields })
}

/// The action as a reply would have it: what it must have, and what has a default.
fn form(spec: &ActionSpec, form: ActionForm) -> String {
    let shown = spec.fields.iter().map(|f| &f.field).filter(|field| field.required || has_default(field));
    let payload: Map<String, Value> = shown.map(|field| (field.name.clone(), example(field))).collect();
    match form {
        ActionForm::Tags => format!("[{}:{}]", spec.name, Value::Object(payload)),
        ActionForm::Json if payload.is_empty() => json!({ "action": spec.name }).to_string(),
        ActionForm::Json => json!({ "action": spec.name, "parameters": payload }).to_string(),
        ActionForm::Team => Value::Object(payload).to_string(),
    }
}

fn has_default(field: &Field) -> bool {
    field.default.as_ref().is_some_and(|default| !default.is_null())
}

fn example(field: &Field) -> Value {
    match (&field.default, &field.ty) {
        (Some(default), _) if !default.is_null() => default.clone(),
        (_, Type::Choice(words)) => words.join("|").into(),
        (_, Type::Text | Type::Time | Type::Any) => "…".into(),
        (_, Type::Int(range) | Type::Number(range)) => json!(range.min.unwrap_or_default()),
        (_, ty) => ty.nothing(),
    }
}

fn lines(spec: &ActionSpec, action_form: ActionForm) -> String {
    let mut text = format!("- `{}`", form(spec, action_form));
    if !spec.description.is_empty() {
        let _ = write!(text, ": {}", spec.description);
    }
    for field in spec.fields.iter().map(|f| &f.field) {
        let required = if field.required { ", required" } else { "" };
        let _ = write!(text, "\n  - {} ({}{required})", field.name, field.ty.describe());
        if !field.description.trim().is_empty() {
            let _ = write!(text, ": {}", field.description.trim());
        }
    }
    text
}

/// A JSON Schema: of payloads by tag, or of the object that is the reply.
fn schema(shown: &[&ActionSpec], form: ActionForm) -> Value {
    match form {
        ActionForm::Team => {
            let number = json!({ "type": "integer", "minimum": 1 });
            let monsters = json!({ "type": "array", "items": number, "minItems": 1 });
            let properties = json!({ "summoner": number, "monsters": monsters, "mana_total": { "type": "integer" } });
            json!({ "type": "object", "properties": properties, "required": ["summoner", "monsters"] })
        }
        ActionForm::Tags => shown.iter().map(|spec| (spec.name.clone(), object(spec))).collect::<Map<_, _>>().into(),
        ActionForm::Json => {
            let action = |spec: &&ActionSpec| {
                let required: &[&str] = if spec.fields.iter().any(|field| field.field.required) {
                    &["action", "parameters"]
                } else {
                    &["action"]
                };
                let name = json!({ "const": spec.name, "description": spec.description });
                json!({
                    "type": "object",
                    "properties": { "action": name, "parameters": object(spec) },
                    "required": required,
                })
            };
            json!({ "oneOf": shown.iter().map(action).collect::<Vec<_>>() })
        }
    }
}

fn object(spec: &ActionSpec) -> Value {
    let fields = spec.fields.iter().map(|field| &field.field);
    let required: Vec<&str> = fields.clone().filter(|field| field.required).map(|field| &*field.name).collect();
    let properties: Map<String, Value> = fields.map(|field| (field.name.clone(), property(field))).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

fn property(field: &Field) -> Value {
    let mut property = of_type(&field.ty);
    if let Value::Object(property) = &mut property {
        if !field.description.trim().is_empty() {
            property.insert("description".into(), field.description.trim().into());
        }
        if has_default(field) {
            property.insert("default".into(), json!(field.default));
        }
    }
    property
}

fn of_type(ty: &Type) -> Value {
    let number = |name: &str, min: Option<f64>, max: Option<f64>| {
        let mut number = json!({ "type": name });
        for (key, bound) in [("minimum", min), ("maximum", max)] {
            if let (Value::Object(number), Some(bound)) = (&mut number, bound) {
                number.insert(key.into(), json!(bound));
            }
        }
        number
    };
    match ty {
        Type::Text | Type::Time => json!({ "type": "string" }),
        Type::Choice(words) => json!({ "enum": words }),
        Type::Bool => json!({ "type": "boolean" }),
        Type::Int(range) => number("integer", range.min, range.max),
        Type::Number(range) => number("number", range.min, range.max),
        Type::List(of) => json!({ "type": "array", "items": of_type(of) }),
        Type::Object(fields) => {
            let properties: Map<String, Value> = fields.iter().map(|f| (f.name.clone(), property(f))).collect();
            json!({ "type": "object", "properties": properties })
        }
        Type::Any => json!({}),
    }
}
