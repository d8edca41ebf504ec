//! Strict JSON, with what a `google.protobuf.Struct` cannot hold of it.

use std::{cell::RefCell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::text::shorten;

/// The largest whole number up to which a double holds every one.
const MAX_EXACT: u64 = 1 << 53;

/// The most characters of a key that a note shows.
const SHOWN_CHARS: usize = 64;

/// The most notes of one object.
const MAX_NOTES: usize = 8;

/// What an object has that its payload cannot hold, a phrase each.
#[derive(Debug, Default)]
pub(super) struct Notes(RefCell<Vec<String>>);

impl Notes {
    pub(super) fn into_vec(self) -> Vec<String> {
        self.0.into_inner()
    }

    fn add(&self, note: String) {
        let mut notes = self.0.borrow_mut();
        if notes.len() < MAX_NOTES && !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// A key that an object had before: the last one counts.
    pub(super) fn duplicate(&self, key: &str) {
        self.add(format!("the key `{}` is there twice, and the last one counts", shorten(key, SHOWN_CHARS)));
    }

    /// A number, if it is a whole one that a double may round.
    pub(super) fn number(&self, key: &str, number: &Number) {
        let exact = match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => int.unsigned_abs() <= MAX_EXACT,
            (None, Some(int)) => int <= MAX_EXACT,
            (None, None) => number.as_f64().is_none_or(|float| float.fract() != 0.0 || float.abs() < 2_f64.powi(53)),
        };
        if !exact {
            self.add(format!("the number of `{}` is beyond 2^53", shorten(key, SHOWN_CHARS)));
        }
    }
}

/// The object that `text` is.
pub(super) fn object(text: &str, notes: &Notes) -> serde_json::Result<Map<String, Value>> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = Seed { notes, key: "" }.deserialize(&mut json)?;
    json.end()?;
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(serde_json::Error::custom("it is not an object")),
    }
}

/// A value, below a key.
#[derive(Clone, Copy)]
struct Seed<'n> {
    notes: &'n Notes,
    key: &'n str,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Seed<'_> {
    fn number(self, number: Number) -> Value {
        self.notes.number(self.key, &number);
        Value::Number(number)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(self.number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(self.number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, |number| self.number(number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = pairs.next_key::<String>()? {
            let value = pairs.next_value_seed(Seed { notes: self.notes, key: &key })?;
            if map.contains_key(&key) {
                self.notes.duplicate(&key);
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_double_or_a_map_cannot_hold_is_noted() {
        for (text, expected) in [
            (r#"{"a":[1,-9007199254740992,9007199254740992,1.5,1e3,"x",null,true]}"#, &[][..]),
            (r#"{"a":{"id":1234567890123456789}}"#, &["the number of `id` is beyond 2^53"]),
            (r#"{"a":[-9007199254740993]}"#, &["the number of `a` is beyond 2^53"]),
            (r#"{"a":100000000000000000000001}"#, &["the number of `a` is beyond 2^53"]),
            (r#"{"a":1,"b":{"a":1},"a":2}"#, &["the key `a` is there twice, and the last one counts"]),
        ] {
            let notes = Notes::default();
            let read = object(text, &notes).unwrap();
            assert_eq!(Value::Object(read), serde_json::from_str::<Value>(text).unwrap());
            assert_eq!(notes.into_vec(), expected, "{text}");
        }
    }
}
