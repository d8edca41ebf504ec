//! JSON as a tree that keeps what a message's reading needs: keys as they came, also twice, and whole numbers whole.

use std::{borrow::Cow, cell::Cell, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json<'a> {
    Null,
    Bool(bool),
    Whole(i128),
    Double(f64),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Reads a document of at most so many values; the error says what is wrong and where.
    pub(super) fn parse(text: &'a [u8], max_values: usize) -> Result<Self, String> {
        let left = Cell::new(max_values);
        let mut document = serde_json::Deserializer::from_slice(text);
        let read = Tree { left: &left }.deserialize(&mut document).and_then(|tree| document.end().map(|()| tree));
        read.map_err(|error| {
            if error.is_data() {
                format!("the request has more than {max_values} values")
            } else {
                format!("the request is not JSON: {error}")
            }
        })
    }

    /// What it is, in words.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Null => "null".into(),
            Self::Bool(bool) => bool.to_string(),
            Self::Whole(whole) => whole.to_string(),
            Self::Double(double) => double.to_string(),
            Self::Text(_) => "text".into(),
            Self::List(_) => "a list".into(),
            Self::Object(_) => "an object".into(),
        }
    }
}

/// Reads one value and counts it.
#[derive(Clone, Copy)]
struct Tree<'c> {
    left: &'c Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json<'de>, D::Error> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| D::Error::custom("too many values"))?;
        self.left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(bool))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json<'de>, E> {
        Ok(Json::Whole(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json<'de>, E> {
        Ok(Json::Whole(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json<'de>, E> {
        Ok(Json::Double(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Json<'de>, A::Error> {
        let mut members = Vec::new();
        while let Some(Key(key)) = object.next_key_seed(Key::default())? {
            members.push((key, object.next_value_seed(self)?));
        }
        Ok(Json::Object(members))
    }
}

/// A key, without a copy where it has no escapes.
#[derive(Default)]
struct Key<'de>(Cow<'de, str>);

impl<'de> DeserializeSeed<'de> for Key<'de> {
    type Value = Self;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key<'de> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self, E> {
        Ok(Self(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self, E> {
        Ok(Self(Cow::Borrowed(text)))
    }
}
