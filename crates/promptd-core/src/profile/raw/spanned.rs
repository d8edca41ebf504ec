//! Values of a profile's YAML with their places.

use std::sync::Arc;

use crate::{
    finding::Code,
    yaml::{Fault, Fields, Mark, Value},
};

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it is.
    pub at: Mark,
    /// In which file.
    pub file: Arc<str>,
    /// A `|` block, whose lines are lines of the file.
    pub literal: bool,
}

pub(super) fn spanned<T>(value: T, at: Mark, file: &Arc<str>) -> Spanned<T> {
    Spanned { value, at, file: Arc::clone(file), literal: false }
}

/// A fault of a profile: its code and one sentence.
pub(crate) type ProfileFault = Spanned<(Code, String)>;

impl<T> Spanned<T> {
    /// A fault at this place.
    pub(crate) fn fault(&self, code: Code, message: impl Into<String>) -> ProfileFault {
        Spanned { value: (code, message.into()), at: self.at, file: self.file.clone(), literal: false }
    }
}

impl ProfileFault {
    /// A fault of the YAML file of that name.
    #[must_use]
    pub(crate) fn of(fault: Fault, file: &Arc<str>) -> Self {
        Spanned { value: (fault.code, fault.message), at: fault.at, file: file.clone(), literal: false }
    }
}

pub(super) fn text(fields: &mut Fields<'_, '_>, key: &'static str, file: &Arc<str>) -> Option<Spanned<String>> {
    let node = fields.node(key)?;
    let literal = matches!(&node.value, Value::Scalar(scalar) if scalar.literal);
    fields.text(key).map(|text| Spanned { literal, ..spanned(text.to_owned(), node.at, file) })
}

pub(super) fn flag(fields: &mut Fields<'_, '_>, key: &'static str, _: &Arc<str>) -> Option<bool> {
    fields.bool(key)
}

/// A number, or an input's name.
pub(super) fn amount(fields: &mut Fields<'_, '_>, key: &'static str, file: &Arc<str>) -> Option<Spanned<String>> {
    scalar(fields, key, file, "a number or the name of an input")
}

/// An expression, `true` and `false` included.
pub(super) fn expression(fields: &mut Fields<'_, '_>, key: &'static str, file: &Arc<str>) -> Option<Spanned<String>> {
    scalar(fields, key, file, "an expression")
}

fn scalar(fields: &mut Fields<'_, '_>, key: &'static str, file: &Arc<str>, wanted: &str) -> Option<Spanned<String>> {
    let node = fields.node(key)?;
    match &node.value {
        Value::Scalar(scalar) => Some(spanned(scalar.text.clone(), node.at, file)),
        _ => {
            let message = format!("`{}` must be {wanted}, not {}", fields.name(key), node.kind());
            fields.faults().add(Code::WrongType, node.at, message);
            None
        }
    }
}

pub(super) fn texts(fields: &mut Fields<'_, '_>, key: &'static str, file: &Arc<str>) -> Option<Spanned<Vec<String>>> {
    let at = fields.node(key).map(|node| node.at)?;
    fields.texts(key).map(|texts| spanned(texts.into_iter().map(|(text, _)| text.to_owned()).collect(), at, file))
}

pub(super) fn facts(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    file: &Arc<str>,
) -> Option<Vec<(Spanned<String>, Spanned<String>)>> {
    pairs_of(fields, key, ["label", "value"], file)
}

pub(super) fn files(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    file: &Arc<str>,
) -> Option<Vec<(Spanned<String>, Spanned<String>)>> {
    pairs_of(fields, key, ["path", "purpose"], file)
}

fn pairs_of(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    names: [&'static str; 2],
    file: &Arc<str>,
) -> Option<Vec<(Spanned<String>, Spanned<String>)>> {
    fields.node(key)?;
    let mut pairs = Vec::new();
    for mut item in fields.each(key) {
        let (first, second) = (text(&mut item, names[0], file), text(&mut item, names[1], file));
        match (first, second) {
            (Some(first), Some(second)) => pairs.push((first, second)),
            _ => {
                let message = format!("needs `{}` and `{}`", names[0], names[1]);
                item.faults().add(Code::InvalidValue, item.at(), message);
            }
        }
        item.finish();
    }
    Some(pairs)
}
