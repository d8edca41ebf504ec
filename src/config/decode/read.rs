//! One setting at a time, read and checked; a value that is not allowed becomes a fault with its place.

use std::{path::PathBuf, time::Duration};

use promptd_core::{
    finding::Code,
    yaml::{Fields, Mark, Node, Value},
};

use crate::config::{
    Base, Shape, TABLE,
    values::{bytes, duration},
};

/// Text that `parse` understands; its error is what the setting must be.
pub(super) fn value<T>(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Option<T> {
    let text = fields.text(key)?;
    parse(text).map_err(|wanted| invalid(fields, key, &format!("be {wanted}"))).ok()
}

/// A list of texts that `parse` understands; its error is what the setting needs.
pub(super) fn values<T>(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Vec<(T, Mark)> {
    let name = fields.name(key);
    let texts = fields.texts(key).unwrap_or_default();
    let one = |(text, at): (&str, Mark)| {
        let fault = |wanted| fields.faults().add(Code::InvalidValue, at, format!("`{name}` needs {wanted}"));
        parse(text).map_err(fault).ok().map(|value| (value, at))
    };
    texts.into_iter().filter_map(one).collect()
}

/// One of a few names.
pub(super) fn choice<T: Copy + Default>(fields: &mut Fields<'_, '_>, key: &'static str, choices: &[(&str, T)]) -> T {
    let chosen = value(fields, key, |text| {
        let names: Vec<_> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
        let found = choices.iter().find(|(name, _)| *name == text);
        found.map(|(_, value)| *value).ok_or_else(|| format!("one of {}", names.join(", ")))
    });
    chosen.unwrap_or_default()
}

pub(super) fn path(fields: &mut Fields<'_, '_>, key: &'static str, base: &Base<'_>) -> Option<PathBuf> {
    value(fields, key, |text| base.path(text))
}

pub(super) fn paths(fields: &mut Fields<'_, '_>, key: &'static str, base: &Base<'_>) -> Vec<PathBuf> {
    values(fields, key, |text| base.path(text)).into_iter().map(|(path, _)| path).collect()
}

/// A whole number.
pub(super) fn count(fields: &mut Fields<'_, '_>, key: &'static str) -> usize {
    let count = fields.count(key);
    at_least(fields, key, count, |shape| match shape {
        Shape::Count { least } => Some((usize::try_from(*least).ok()?, least.to_string())),
        _ => None,
    })
}

/// A whole number between the two of the table.
#[cfg(any(feature = "etcd", feature = "memory"))]
pub(super) fn range(fields: &mut Fields<'_, '_>, key: &'static str) -> usize {
    let name = fields.name(key);
    let range = TABLE.iter().find(|setting| setting.key == name).and_then(|setting| match setting.shape {
        Shape::Range { least, most } => Some(least..=most),
        _ => None,
    });
    debug_assert!(range.is_some(), "`{name}` is not read as in its table");
    let count: Option<usize> = fields.count(key);
    if let (Some(count), Some(range)) = (count, range)
        && !range.contains(&(count as u64))
    {
        invalid(fields, key, &format!("be from {} to {}", range.start(), range.end()));
    }
    count.unwrap_or_default()
}

/// A number of bytes: a plain number, or text with a unit.
pub(super) fn size(fields: &mut Fields<'_, '_>, key: &'static str) -> usize {
    let is_number = fields.node(key).is_some_and(is_number);
    let size = if is_number { fields.count(key) } else { value(fields, key, bytes) };
    at_least(fields, key, size, |shape| match shape {
        Shape::Size { least } => Some((usize::try_from(*least).ok()?, least.to_string())),
        _ => None,
    })
}

/// The same for a setting that need not be set.
pub(super) fn size_if_set(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<usize> {
    let is_set = fields.node(key).is_some();
    let size = size(fields, key);
    is_set.then_some(size)
}

pub(super) fn span(fields: &mut Fields<'_, '_>, key: &'static str) -> Duration {
    let span = match fields.node(key).map(|node| (node, &node.value)) {
        Some((node, Value::Scalar(scalar))) if is_number(node) => {
            let message = format!("`{}` needs a unit, such as `{}s`", fields.name(key), scalar.text);
            fields.faults().add(Code::InvalidValue, node.at, message);
            None
        }
        _ => value(fields, key, duration),
    };
    at_least(fields, key, span, |shape| match shape {
        Shape::Span { least } => Some((duration(least).ok()?, (*least).to_owned())),
        _ => None,
    })
}

/// A number from 0 to 1.
#[cfg(any(feature = "memory", feature = "otlp", feature = "record"))]
pub(super) fn share(fields: &mut Fields<'_, '_>, key: &'static str) -> f64 {
    let share = fields.number(key);
    if share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
        invalid(fields, key, "be from 0 to 1");
    }
    share.unwrap_or_default()
}

fn is_number(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar(scalar) if scalar.as_number().is_some())
}

/// A value that must not be below the bound of the table, which messages write as given; the default of its type where it
/// has a fault, since a config with faults is never used.
fn at_least<T: PartialOrd + Default>(
    fields: &Fields<'_, '_>,
    key: &'static str,
    value: Option<T>,
    bound: impl FnOnce(&Shape) -> Option<(T, String)>,
) -> T {
    let name = fields.name(key);
    let bound = TABLE.iter().find(|setting| setting.key == name).and_then(|setting| bound(&setting.shape));
    debug_assert!(bound.is_some(), "`{name}` is not read as in its table");
    if let (Some(value), Some((least, text))) = (&value, bound)
        && *value < least
    {
        invalid(fields, key, &format!("be at least {text}"));
    }
    value.unwrap_or_default()
}

fn invalid(fields: &Fields<'_, '_>, key: &str, must: &str) {
    let message = format!("`{}` must {must}", fields.name(key));
    fields.faults().add(Code::InvalidValue, fields.mark(key), message);
}

/// A section of the config. Where it is not a mapping the fault names the settings that belong in it.
pub(super) fn section<'n, 'f>(root: &mut Fields<'n, 'f>, key: &'static str) -> Fields<'n, 'f> {
    let name = root.name(key);
    match root.node(key) {
        Some(node) if !matches!(node.value, Value::Map(_)) => {
            let below = |setting: &&str| setting.strip_prefix(&*name).is_some_and(|rest| rest.starts_with('.'));
            let keys = TABLE.iter().map(|setting| setting.key).filter(below);
            let keys: Vec<_> = keys.map(|setting| format!("`{}`", &setting[name.len() + 1..])).collect();
            let hint = match &node.value {
                Value::Scalar(folder) if key == "workspaces" => {
                    let folder = &folder.text;
                    format!(
                        ": write `root: {folder}` for a folder of workspaces, `single: [{folder}]` for a single one"
                    )
                }
                _ => String::new(),
            };
            let message = format!("`{name}` must be a mapping of {}, not {}{hint}", keys.join(", "), node.kind());
            root.faults().add(Code::WrongType, node.at, message);
            Fields::at_path(&EMPTY, name, root.faults())
        }
        _ => root.fields(key),
    }
}

static EMPTY: Node = Node { at: Mark { line: 1, column: 1 }, value: Value::Map(Vec::new()) };
