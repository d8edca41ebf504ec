//! The filters that templates have besides minijinja's own.

use std::borrow::Cow;

use minijinja::{Environment, Error, ErrorKind, Value};

use crate::text::xml;

/// A filter from text to text, with at most one constant argument.
pub type PlainFilter = for<'a> fn(&'a str, &str) -> Cow<'a, str>;

/// Text filters: name, whether it takes an argument, and what it does. Those that minijinja has too do the same.
const PLAIN: &[(&str, bool, PlainFilter)] = &[
    ("trim", false, |text, _| Cow::Borrowed(text.trim())),
    ("xml", false, |text, _| xml::escape(text)),
    ("attribute", true, attribute),
    ("defuse", true, |text, tag| xml::defuse_closing_tag(text, tag)),
];

/// The text filter of that name, and whether it takes an argument.
#[must_use]
pub fn plain(name: &str) -> Option<(bool, PlainFilter)> {
    PLAIN.iter().find(|(known, ..)| *known == name).map(|(_, argument, filter)| (*argument, *filter))
}

/// ` name="value"` with a space before it and the value escaped; nothing where the value is empty.
fn attribute<'a>(value: &'a str, name: &str) -> Cow<'a, str> {
    if value.is_empty() {
        Cow::Borrowed("")
    } else {
        Cow::Owned(format!(" {name}=\"{}\"", xml::escape_attribute(value)))
    }
}

/// Adds the filters to an environment.
pub fn register(env: &mut Environment<'static>) {
    for &(name, takes_argument, filter) in PLAIN.iter().filter(|(name, ..)| *name != "trim") {
        if takes_argument {
            env.add_filter(name, move |text: &str, argument: &str| filter(text, argument).into_owned());
        } else {
            env.add_filter(name, move |text: &str| filter(text, "").into_owned());
        }
    }
    env.add_filter("json", json);
    env.add_filter("quoted", |text: &str| text.replace('"', "&quot;"));
    env.add_filter("sum_of", sum_of);
}

/// Compact JSON, as `JSON.stringify` writes it: keys in their order, nothing escaped that need not be.
fn json(value: &Value) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|e| Error::new(ErrorKind::InvalidOperation, e.to_string()))
}

/// The sum of a whole-number field over a list of objects.
fn sum_of(list: &Value, field: &str) -> Result<i64, Error> {
    let mut sum = 0_i64;
    for item in list.try_iter()? {
        sum = sum.saturating_add(item.get_attr(field)?.as_i64().unwrap_or(0));
    }
    Ok(sum)
}
