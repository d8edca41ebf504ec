//! Names that hold for one entry, file or message, before those of the turn.

use std::borrow::Cow;

use minijinja::Value;

use super::{Found, Places};
use crate::profile::{Scope, Step};

/// A scope with local names before those of another scope.
pub(crate) struct Locals<'s> {
    /// The local names.
    pub own: &'s [(&'s str, Local<'s>)],
    /// Where all other names are found.
    pub outer: &'s dyn Places,
    /// Where the local values came from; asked for spans alone, and only of those.
    pub origins: &'s dyn Fn(&str, &[Step]) -> Found,
}

/// A local value.
pub(crate) enum Local<'s> {
    /// Text.
    Text(&'s str),
    /// Texts by field.
    Texts(&'s [(&'s str, &'s str)]),
    /// Any value.
    Value(Value),
}

impl Locals<'_> {
    fn find(&self, name: &str) -> Option<&Local<'_>> {
        self.own.iter().find(|(own, _)| *own == name).map(|(_, local)| local)
    }
}

impl Scope for Locals<'_> {
    fn text(&self, name: &str, field: &str) -> Option<Cow<'_, str>> {
        match (self.find(name), field) {
            (None, _) => self.outer.text(name, field),
            (Some(Local::Text(text)), "") => Some(Cow::Borrowed(text)),
            (Some(Local::Texts(fields)), _) => {
                fields.iter().find(|(own, _)| *own == field).map(|(_, text)| Cow::Borrowed(*text))
            }
            (Some(Local::Value(value)), "") => value.as_str().map(|text| Cow::Owned(text.to_owned())),
            _ => None,
        }
    }

    fn value(&self, name: &str) -> Value {
        match self.find(name) {
            None => self.outer.value(name),
            Some(Local::Text(text)) => Value::from(*text),
            Some(Local::Texts(fields)) => Value::from_pairs(fields.iter().copied()),
            Some(Local::Value(value)) => value.clone(),
        }
    }
}

impl Places for Locals<'_> {
    fn found(&self, name: &str, steps: &[Step]) -> Found {
        if self.find(name).is_some() { (self.origins)(name, steps) } else { self.outer.found(name, steps) }
    }
}
