//! The `inputs` of a profile: how they are declared, and whether given values fit.

use serde_json::{Map, Value as Json};

use super::{
    keys, names,
    range::Range,
    raw::{ProfileFault, Spanned},
    spec::{Input, Profile, Stability},
    types::{Field, Mismatch, Type, check_object},
    words::{STABILITIES, TYPES},
};
use crate::{
    finding::Code,
    yaml::{Faults, Fields, Node, Value},
};

/// Reads all declarations.
pub(super) fn declared(raw: &[(Spanned<String>, Node)], faults: &mut Vec<ProfileFault>) -> Vec<Input> {
    raw.iter().map(|(name, node)| input(name, node, faults)).collect()
}

fn input(name: &Spanned<String>, node: &Node, faults: &mut Vec<ProfileFault>) -> Input {
    if names::root(&name.value).is_some() {
        faults.push(
            name.fault(Code::InvalidValue, format!("`{}` is already a name that every template has", name.value)),
        );
    }
    if !is_name(&name.value) {
        let message =
            format!("invalid name `{}`: it must begin with a letter and have only a-z, 0-9 and _", name.value);
        faults.push(name.fault(Code::InvalidValue, message));
    }
    let found = Faults::default();
    let path = format!("inputs.{}", name.value);
    let silent = Faults::default();
    let text = |key| match &node.value {
        Value::Map(_) => Fields::at_path(node, path.clone(), &silent).text(key).map(ToOwned::to_owned),
        _ => None,
    };
    let default_from = text("default_from");
    let stability = text("stability");
    let stability = STABILITIES.iter().find(|(word, _)| stability.as_deref() == Some(*word)).map(|(_, found)| *found);
    let field = field(&name.value, node, &path, &found);
    faults.extend(found.into_vec().into_iter().map(|fault| ProfileFault::of(fault, &name.file)));
    Input { field, default_from, stability: stability.unwrap_or(Stability::Session) }
}

/// A declaration: a type's name alone, or a mapping with `type`.
pub(super) fn field(name: &str, node: &Node, path: &str, faults: &Faults) -> Field {
    let mut declared =
        Field { name: name.to_owned(), ty: Type::Any, required: false, default: None, description: String::new() };
    if let Value::Scalar(scalar) = &node.value {
        declared.ty = named(&scalar.text, node, faults);
        return declared;
    }
    let mut fields = Fields::at_path(node, path.to_owned(), faults).by(keys::INPUT);
    let ty = written_type(&mut fields, path, faults);
    declared.ty = bounded(ty, &mut fields, path, faults);
    declared.required = fields.bool("required").unwrap_or(false);
    fields.text("description").unwrap_or_default().clone_into(&mut declared.description);
    let default = fields.node("default");
    if fields.has("default") {
        declared.default = Some(default_of(default, &declared.ty, path, faults));
    }
    // Of an input as a whole: `input` reads them.
    let _ = (fields.text("default_from"), fields.choice("stability"));
    fields.finish();
    declared
}

/// `type`, with `of` and `one_of`.
fn written_type(fields: &mut Fields<'_, '_>, path: &str, faults: &Faults) -> Type {
    let ty_node = fields.node("type");
    let ty = fields.text("type");
    let words = fields.texts("one_of");
    let of = fields.node("of");
    if let (Some(of), Some(ty)) = (of, ty.filter(|ty| !matches!(*ty, "list" | "object"))) {
        faults.add(Code::InvalidValue, of.at, format!("`{path}.of` is for lists and objects, not for `{ty}`"));
    }
    match (ty, ty_node) {
        (Some("string"), Some(_)) if words.is_some() => {
            let words: Vec<_> = words.into_iter().flatten().map(|(word, _)| word.to_owned()).collect();
            if words.is_empty() {
                faults.add(Code::InvalidValue, fields.mark("one_of"), format!("`{path}.one_of` must not be empty"));
            }
            Type::Choice(words)
        }
        (Some(_), Some(at)) if words.is_some() => {
            faults.add(Code::InvalidValue, at.at, format!("`{path}` must be a string to be `one_of` some words"));
            Type::Any
        }
        (Some("list"), _) => Type::List(Box::new(element(of, path, faults))),
        (Some("object"), Some(at)) => match element(of, path, faults) {
            ty @ Type::Object(_) => ty,
            _ => {
                faults.add(Code::InvalidValue, at.at, format!("`{path}` needs its fields under `of`"));
                Type::Any
            }
        },
        (Some(ty), Some(at)) => named(ty, at, faults),
        _ => {
            faults.add(Code::InvalidValue, fields.at(), format!("`{path}` needs a `type`"));
            Type::Any
        }
    }
}

/// The type with `min` and `max`, which only numbers have.
fn bounded(ty: Type, fields: &mut Fields<'_, '_>, path: &str, faults: &Faults) -> Type {
    let range = Range { min: fields.number("min"), max: fields.number("max") };
    let key = if fields.has("min") { "min" } else { "max" };
    if range.is_empty() {
        faults.add(Code::InvalidValue, fields.mark(key), format!("no number is {range}, the range of `{path}`"));
    }
    match ty {
        Type::Int(_) => Type::Int(range),
        Type::Number(_) => Type::Number(range),
        ty => {
            if fields.has(key) {
                faults.add(
                    Code::InvalidValue,
                    fields.mark(key),
                    format!("`{path}` has a `{key}`, which only a number can have"),
                );
            }
            ty
        }
    }
}

/// `default: null` means null where absent, also for text.
fn default_of(node: Option<&Node>, ty: &Type, path: &str, faults: &Faults) -> serde_json::Value {
    let Some(node) = node else { return serde_json::Value::Null };
    ty.check(&node.to_json()).unwrap_or_else(|mismatch| {
        faults.add(Code::WrongType, node.at, format!("`{path}.default{}` {}", mismatch.path, mismatch.message));
        ty.nothing()
    })
}

/// The value of `of`: a type's name, a declaration with `type`, or the fields of an object.
fn element(node: Option<&Node>, path: &str, faults: &Faults) -> Type {
    let Some(node) = node else { return Type::Any };
    match &node.value {
        Value::Scalar(scalar) => named(&scalar.text, node, faults),
        Value::Map(pairs)
            if pairs.iter().all(|pair| pair.key != "type" || !matches!(pair.value.value, Value::Scalar(_))) =>
        {
            let fields =
                pairs.iter().map(|pair| field(&pair.key, &pair.value, &format!("{path}.of.{}", pair.key), faults));
            Type::Object(fields.collect())
        }
        _ => field("", node, &format!("{path}.of"), faults).ty,
    }
}

fn named(name: &str, node: &Node, faults: &Faults) -> Type {
    match name {
        "string" => Type::Text,
        "bool" => Type::Bool,
        "int" => Type::Int(Range::default()),
        "number" => Type::Number(Range::default()),
        "time" => Type::Time,
        "any" => Type::Any,
        "list" => Type::List(Box::new(Type::Any)),
        _ => {
            let message = format!("unknown type `{name}`; known: {}", TYPES.join(", "));
            faults.add(Code::InvalidValue, node.at, message);
            Type::Any
        }
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// Whether a workspace's `inputs` fit the profile that it names. The path begins with a dot.
pub fn check(profile: &Profile, inputs: &Map<String, Json>) -> Result<(), Mismatch> {
    check_names(profile, inputs)?;
    for input in &profile.inputs {
        if let Some(value) = inputs.get(&input.field.name).filter(|v| !v.is_null()) {
            checked(input, value)?;
        }
    }
    Ok(())
}

/// Every input of a profile as a prompt has it: as given, otherwise the workspace's own, otherwise its default. Texts of files are
/// not read.
///
/// # Errors
///
/// An input that is not declared, or of another type. The path begins with a dot.
pub fn complete(
    profile: &Profile,
    own: &Map<String, Json>,
    given: &Map<String, Json>,
) -> Result<Map<String, Json>, Mismatch> {
    check_names(profile, given)?;
    let complete = |input: &Input| {
        let name = &input.field.name;
        let value = match given.get(name).or_else(|| own.get(name)).filter(|value| !value.is_null()) {
            Some(value) => checked(input, value)?,
            None => input.field.absent(),
        };
        Ok((name.clone(), value))
    };
    profile.inputs.iter().map(complete).collect()
}

/// A given value, checked against its declaration. The path begins with a dot.
pub(crate) fn checked(input: &Input, value: &Json) -> Result<Json, Mismatch> {
    let at = |below: &str| format!(".{}{below}", input.field.name);
    input.field.ty.check(value).map_err(|e| Mismatch { path: at(&e.path), message: e.message })
}

/// Whether every name is declared.
pub(crate) fn check_names(profile: &Profile, given: &Map<String, Json>) -> Result<(), Mismatch> {
    let fields: Vec<_> = profile.inputs.iter().map(|input| Field { required: false, ..input.field.clone() }).collect();
    let unknown = given.keys().find(|key| fields.iter().all(|field| field.name != **key));
    let Some(unknown) = unknown else { return Ok(()) };
    let only: Map<String, Json> = [(unknown.clone(), Json::Null)].into_iter().collect();
    check_object(&fields, &only)
        .map(|_| ())
        .map_err(|e| Mismatch { message: format!("{} (profile `{}`)", e.message, profile.name), ..e })
}

/// For tests: the declarations in a YAML text.
#[cfg(test)]
fn declarations(text: &str) -> Result<Vec<Input>, Vec<String>> {
    let node = crate::yaml::parse(text).unwrap();
    let Value::Map(pairs) = &node.value else { panic!("a mapping") };
    let file: std::sync::Arc<str> = "p.yaml".into();
    let written = |pair: &crate::yaml::Pair| Spanned {
        value: pair.key.clone(),
        at: pair.at,
        file: std::sync::Arc::clone(&file),
        literal: false,
    };
    let raw: Vec<_> = pairs.iter().map(|pair| (written(pair), pair.value.clone())).collect();
    let mut faults = Vec::new();
    let inputs = declared(&raw, &mut faults);
    if faults.is_empty() {
        Ok(inputs)
    } else {
        Err(faults.into_iter().map(|f| format!("{}:{} {}", f.at.line, f.at.column, f.value.1)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_declaration() {
        let inputs = declarations(
            "soul: { type: string, default_from: SOUL.md }\nhas_tools: bool\nlimit: { type: int, default: 50 }\n\
             error: { type: string, default: null }\n\
             list: { type: list, of: { key: string, n: { type: int, default: 1 } } }\n\
             box: { type: object, of: { on: bool } }\nhour: { type: int, min: 0, max: 23 }\n\
             shares: { type: list, of: { type: number, min: 0.5 } }\n",
        )
        .unwrap();
        let types: Vec<_> = inputs.iter().map(|input| input.field.ty.describe()).collect();
        let written = ["string", "bool", "int", "string", "list of {key: string, n: int}", "{on: bool}", "int"];
        assert_eq!(types, [&written[..], &["list of number"]].concat());
        assert_eq!(inputs[6].field.ty.range(), Some(Range { min: Some(0.0), max: Some(23.0) }));
        let at_least_half = Range { min: Some(0.5), max: None };
        assert_eq!(inputs[7].field.ty, Type::List(Box::new(Type::Number(at_least_half))));
        assert_eq!(inputs[0].default_from.as_deref(), Some("SOUL.md"));
        assert_eq!(inputs[2].field.absent(), 50);
        assert_eq!(inputs[3].field.absent(), serde_json::Value::Null);
    }

    #[test]
    fn every_fault_of_a_range() {
        let found = declarations(
            "a: { type: int, min: 2, max: 1 }\nb: { type: string, max: 1 }\nc: { type: int, min: x }\n\
             d: { type: number, min: 0, max: 1, default: 75 }\n",
        );
        assert_eq!(
            found.unwrap_err(),
            [
                "1:22 no number is from 2 to 1, the range of `inputs.a`",
                "2:25 `inputs.b` has a `max`, which only a number can have",
                "3:22 `inputs.c.min` must be a number, not text",
                "4:45 `inputs.d.default` must be from 0 to 1, not 75",
            ]
        );
    }

    #[test]
    fn every_fault_of_a_declaration() {
        let found = declarations("user: bool\nBad: bool\na: strin\nb: { typ: bool }\nc: { type: int, default: x }\n")
            .unwrap_err();
        assert_eq!(found.len(), 6, "{found:#?}");
        assert!(found[0].starts_with("1:1 `user` is already"), "{found:#?}");
        assert!(found[2].starts_with("3:4 unknown type `strin`"), "{found:#?}");
        assert!(found[5].starts_with("5:26 `inputs.c.default` must be a whole number"), "{found:#?}");
    }
}
