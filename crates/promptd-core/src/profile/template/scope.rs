//! Where templates find their values.

use std::borrow::Cow;

use minijinja::Value;

/// Where a template finds its values.
pub trait Scope {
    /// The text of a name, or of its field; an empty `field` means the name itself. `None`: it is no text.
    fn text(&self, name: &str, field: &str) -> Option<Cow<'_, str>>;

    /// The value of a name.
    fn value(&self, name: &str) -> Value;
}

/// A scope without any name.
pub struct NoNames;

impl Scope for NoNames {
    fn text(&self, _: &str, _: &str) -> Option<Cow<'_, str>> {
        None
    }

    fn value(&self, _: &str) -> Value {
        Value::UNDEFINED
    }
}
