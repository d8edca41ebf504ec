//! Lists and maps that know what name and path they were found by.

use std::{fmt, sync::Arc};

use minijinja::{
    Value,
    value::{Enumerator, Object, ObjectRepr, ValueKind},
};

/// The place of a value: a name that templates use, and the way down from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValuePlace {
    /// The name.
    pub name: Arc<str>,
    /// The steps below it; may be empty.
    pub steps: Vec<Step>,
}

/// A step down into a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A map's field.
    Field(String),
    /// A list's item.
    Item(usize),
}

impl ValuePlace {
    /// The place of a name's own value.
    #[must_use]
    pub fn root(name: &str) -> Self {
        Self { name: name.into(), steps: Vec::new() }
    }

    /// The place below it.
    #[must_use]
    pub fn below(&self, step: Step) -> Self {
        let mut place = self.clone();
        place.steps.push(step);
        place
    }
}

impl Step {
    /// The step by a key.
    pub(super) fn by(key: &Value) -> Self {
        match key.as_usize() {
            Some(index) if key.is_number() => Self::Item(index),
            _ => Self::Field(key.as_str().map_or_else(|| key.to_string(), ToOwned::to_owned)),
        }
    }
}

/// A list or a map that is found at a place; whatever is taken from it knows its own.
#[derive(Debug)]
pub(super) struct Located {
    value: Value,
    pub place: ValuePlace,
}

impl Located {
    /// The value as one that knows its place; what is neither a list nor a map stays as it is.
    pub(super) fn wrap(value: Value, place: impl FnOnce() -> ValuePlace) -> Value {
        match value.kind() {
            ValueKind::Map | ValueKind::Seq => Value::from_object(Self { value, place: place() }),
            _ => value,
        }
    }

    /// The place of a value that knows it.
    pub(super) fn place_of(value: &Value) -> Option<&ValuePlace> {
        value.downcast_object_ref::<Self>().map(|located| &located.place)
    }
}

impl Object for Located {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        if self.value.kind() == ValueKind::Map { ObjectRepr::Map } else { ObjectRepr::Seq }
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let value = self.value.get_item(key).ok().filter(|value| !value.is_undefined())?;
        Some(Self::wrap(value, || self.place.below(Step::by(key))))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        match self.repr() {
            ObjectRepr::Map => Enumerator::Values(self.value.try_iter().into_iter().flatten().collect()),
            _ => Enumerator::Seq(self.value.len().unwrap_or_default()),
        }
    }

    fn is_true(self: &Arc<Self>) -> bool {
        self.value.is_true()
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.value, f)
    }
}
