//! One setting at a time, read and checked; a value that is not allowed becomes a fault with its place.

use std::{path::PathBuf, time::Duration};

use promptd_core::{
    finding::Code,
    yaml::{Fields, Mark, Node, Value},
};

use crate::config::{
    Base, TABLE,
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

pub(super) fn count(fields: &mut Fields<'_, '_>, key: &'static str) -> usize {
    fields.count(key).unwrap_or_default()
}

/// A number of bytes: a plain number, or text with a unit.
pub(super) fn size(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<usize> {
    if is_number(fields.node(key)?) { fields.count(key) } else { value(fields, key, bytes) }
}

pub(super) fn span(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Duration> {
    let node = fields.node(key)?;
    match &node.value {
        Value::Scalar(scalar) if is_number(node) => {
            let message = format!("`{}` needs a unit, such as `{}s`", fields.name(key), scalar.text);
            fields.faults().add(Code::InvalidValue, node.at, message);
            None
        }
        _ => value(fields, key, duration),
    }
}

fn is_number(node: &Node) -> bool {
    matches!(&node.value, Value::Scalar(scalar) if scalar.as_number().is_some())
}

/// A value that must not be below a bound; the default of its type where it has a fault, since a config with faults is
/// never used.
pub(super) fn at_least<T: PartialOrd + Default>(
    least: &Bound<T>,
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    read: fn(&mut Fields<'_, '_>, &'static str) -> Option<T>,
) -> T {
    let value = read(fields, key);
    if value.as_ref().is_some_and(|value| *value < least.value) {
        invalid(fields, key, &format!("be at least {}", least.text));
    }
    value.unwrap_or_default()
}

/// A lower bound, and how a message writes it.
pub(super) struct Bound<T> {
    value: T,
    text: &'static str,
}

pub(super) const ONE: Bound<usize> = Bound { value: 1, text: "1" };
pub(super) const A_SECOND: Bound<Duration> = Bound { value: Duration::from_secs(1), text: "1s" };
/// Looking at all files more often than this would keep a core busy.
pub(super) const SHORTEST_INTERVAL: Bound<Duration> = Bound { value: Duration::from_millis(100), text: "100ms" };

pub(super) fn a_count(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<usize> {
    fields.count(key)
}

fn invalid(fields: &Fields<'_, '_>, key: &str, must: &str) {
    let message = format!("`{}` must {must}", fields.name(key));
    fields.faults().add(Code::InvalidValue, fields.mark(key), message);
}

/// A section of the config. Where it is not a mapping the fault names the settings that belong in it.
pub(super) fn section<'n, 'f>(root: &mut Fields<'n, 'f>, key: &'static str) -> Fields<'n, 'f> {
    match root.node(key) {
        Some(node) if !matches!(node.value, Value::Map(_)) => {
            let below = |setting: &&str| setting.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
            let keys = TABLE.iter().map(|setting| setting.key).filter(below);
            let keys: Vec<_> = keys.map(|setting| format!("`{}`", &setting[key.len() + 1..])).collect();
            let hint = match &node.value {
                Value::Scalar(folder) if key == "workspaces" => {
                    let folder = &folder.text;
                    format!(
                        ": write `root: {folder}` for a folder of workspaces, `single: [{folder}]` for a single one"
                    )
                }
                _ => String::new(),
            };
            let message = format!("`{key}` must be a mapping of {}, not {}{hint}", keys.join(", "), node.kind());
            root.faults().add(Code::WrongType, node.at, message);
            Fields::at_path(&EMPTY, key.to_owned(), root.faults())
        }
        _ => root.fields(key),
    }
}

static EMPTY: Node = Node { at: Mark { line: 1, column: 1 }, value: Value::Map(Vec::new()) };
