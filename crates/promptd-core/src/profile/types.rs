//! The types of values that templates see, and how a caller's values are checked against them.

use minijinja::Value as Rendered;
use serde_json::{Map, Value};

use super::range::Range;
use crate::{text::shorten, time::Moment, yaml::nearest};

/// The most characters of a caller's word that a message shows.
const MAX_SHOWN_CHARS: usize = 64;

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// Text.
    Text,
    /// One of a few words.
    Choice(Vec<String>),
    /// True or false.
    Bool,
    /// A whole number.
    Int(Range),
    /// A number.
    Number(Range),
    /// A moment: an RFC 3339 string or whole milliseconds since 1970.
    Time,
    /// Named fields.
    Object(Vec<Field>),
    /// Any number of one type.
    List(Box<Type>),
    /// Anything.
    Any,
}

/// A named value: an input, or a field of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What it is.
    pub ty: Type,
    /// Whether it must be given.
    pub required: bool,
    /// What it is where it is not given; absent: the type's own nothing.
    pub default: Option<Value>,
    /// For a person; may be empty.
    pub description: String,
}

/// A value that does not fit its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Where, below the value that was checked: `.events[3]`; empty: the value itself.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl Type {
    /// How documents write it: `text`, `list of {key: text}` …
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Text => "string".into(),
            Self::Choice(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or "),
            Self::Bool => "bool".into(),
            Self::Int(_) => "int".into(),
            Self::Number(_) => "number".into(),
            Self::Time => "time".into(),
            Self::Any => "any".into(),
            Self::List(of) => format!("list of {}", of.describe()),
            Self::Object(fields) => {
                let fields: Vec<_> = fields.iter().map(|f| format!("{}: {}", f.name, f.ty.describe())).collect();
                format!("{{{}}}", fields.join(", "))
            }
        }
    }

    /// The value that means "not given".
    #[must_use]
    pub fn nothing(&self) -> Value {
        match self {
            Self::Text | Self::Choice(_) => Value::String(String::new()),
            Self::Bool => Value::Bool(false),
            Self::Int(_) | Self::Number(_) | Self::Time | Self::Any => Value::Null,
            Self::List(_) => Value::Array(Vec::new()),
            Self::Object(fields) => fields.iter().map(|f| (f.name.clone(), f.absent())).collect::<Map<_, _>>().into(),
        }
    }

    /// Checks a caller's value and fills what it leaves out. A null is as good as absent.
    pub fn check(&self, value: &Value) -> Result<Value, Mismatch> {
        let wrong =
            || Mismatch { path: String::new(), message: format!("must be {}, not {}", self.wanted(), kind(value)) };
        if let (Self::Choice(words), Value::String(word)) = (self, value) {
            let near = nearest(word, words.iter().map(String::as_str));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let message = format!("must be {}, not `{}`{hint}", self.describe(), shorten(word, MAX_SHOWN_CHARS));
            let known = words.contains(word);
            return if known { Ok(value.clone()) } else { Err(Mismatch { path: String::new(), message }) };
        }
        match (self, value) {
            (Self::Any, _) | (Self::Text, Value::String(_)) | (Self::Bool, Value::Bool(_)) => Ok(value.clone()),
            (_, Value::Null) => Ok(self.nothing()),
            (Self::Number(range), Value::Number(number)) => within(*range, number).map(|()| value.clone()),
            (Self::Int(range), Value::Number(number)) => {
                let whole = integral(number).ok_or_else(wrong)?;
                within(*range, number).map(|()| whole.into())
            }
            (Self::Time, Value::Number(number)) => {
                let moment = integral(number).and_then(|milliseconds| Moment::from_milliseconds(milliseconds).ok());
                moment.map(|moment| moment.utc_exact().into()).ok_or_else(wrong)
            }
            (Self::Time, Value::String(text)) => {
                text.parse::<Moment>().map(|moment| moment.utc_exact().into()).map_err(|_| wrong())
            }
            (Self::List(of), Value::Array(items)) => {
                let check = |(index, item)| of.check(item).map_err(|e: Mismatch| e.below(&format!("[{index}]")));
                // A null says nothing; where items may be anything, it is one of them.
                let is_item = |(_, item): &(usize, &Value)| !item.is_null() || **of == Self::Any;
                items.iter().enumerate().filter(is_item).map(check).collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
            (Self::Object(fields), Value::Object(given)) => check_object(fields, given),
            _ => Err(wrong()),
        }
    }

    /// The range of a number; `None`: it is none.
    #[must_use]
    pub fn range(&self) -> Option<Range> {
        match self {
            Self::Int(range) | Self::Number(range) => Some(*range),
            _ => None,
        }
    }

    fn wanted(&self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Choice(_) => "one of its words",
            Self::Bool => "true or false",
            Self::Int(_) => "a whole number",
            Self::Number(_) => "a number",
            Self::Time => "an RFC 3339 time or whole milliseconds since 1970, of the years 1 to 9999",
            Self::Object(_) => "an object",
            Self::List(_) => "a list",
            Self::Any => "anything",
        }
    }
}

impl Field {
    /// What the field is where it is not given.
    #[must_use]
    pub fn absent(&self) -> Value {
        self.default.clone().unwrap_or_else(|| self.ty.nothing())
    }
}

impl Mismatch {
    fn below(mut self, step: &str) -> Self {
        self.path.insert_str(0, step);
        self
    }
}

/// Checks the fields of an object: unknown ones, missing required ones, and each one's type.
pub fn check_object(fields: &[Field], given: &Map<String, Value>) -> Result<Value, Mismatch> {
    if let Some(unknown) = given.keys().find(|key| fields.iter().all(|f| f.name != **key)) {
        let hint = match nearest(unknown, fields.iter().map(|f| f.name.as_str())) {
            Some(near) => format!("; did you mean `{near}`?"),
            None if fields.is_empty() => "; there are none here".into(),
            None => format!("; known: {}", fields.iter().map(|f| f.name.as_str()).collect::<Vec<_>>().join(", ")),
        };
        return Err(Mismatch { path: crate::finding::member("", unknown), message: format!("is not known{hint}") });
    }
    let check = |field: &Field| {
        let value = match given.get(&field.name).filter(|v| !v.is_null()) {
            Some(value) => field.ty.check(value),
            None if field.required => Err(Mismatch { path: String::new(), message: "is required".into() }),
            None => Ok(field.absent()),
        };
        value.map(|v| (field.name.clone(), v)).map_err(|e| e.below(&format!(".{}", field.name)))
    };
    fields.iter().map(check).collect::<Result<Map<_, _>, _>>().map(Value::Object)
}

/// The value as templates see it: a null is `none`.
#[must_use]
pub fn to_rendered(value: &Value) -> Rendered {
    match value {
        Value::Null => Rendered::from(()),
        Value::Bool(b) => Rendered::from(*b),
        Value::Number(n) => match (n.as_i64(), n.as_f64()) {
            (Some(int), _) => Rendered::from(int),
            (None, Some(float)) => Rendered::from(float),
            (None, None) => Rendered::from(n.to_string()),
        },
        Value::String(text) => Rendered::from(text.as_str()),
        Value::Array(items) => items.iter().map(to_rendered).collect(),
        Value::Object(fields) => Rendered::from_pairs(fields.iter().map(|(k, v)| (k.as_str(), to_rendered(v)))),
    }
}

/// The largest whole number that a double holds exactly: a contract's Struct carries doubles.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

fn within(range: Range, number: &serde_json::Number) -> Result<(), Mismatch> {
    let number = number.as_f64().unwrap_or(f64::NAN);
    if range.contains(number) {
        return Ok(());
    }
    Err(Mismatch { path: String::new(), message: format!("must be {range}, not {number}") })
}

fn integral(number: &serde_json::Number) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and exact")]
    let whole = |f: f64| (f.fract() == 0.0 && f.abs() <= MAX_EXACT).then_some(f as i64);
    number.as_i64().or_else(|| number.as_f64().and_then(whole))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(name: &str, ty: Type) -> Field {
        Field { name: name.into(), ty, required: false, default: None, description: String::new() }
    }

    fn memory() -> Type {
        let hits = Field { default: Some(json!(1)), ..field("hits", Type::Int(Range::default())) };
        Type::List(Box::new(Type::Object(vec![field("key", Type::Text), hits])))
    }

    #[test]
    fn what_is_left_out_is_filled() {
        assert_eq!(memory().check(&json!([{"key": "a"}])), Ok(json!([{"key": "a", "hits": 1}])));
        assert_eq!(memory().check(&json!([null, {"key": "a"}, null])), Ok(json!([{"key": "a", "hits": 1}])));
        assert_eq!(memory().check(&json!([{"key": "a", "hits": 2.0}])), Ok(json!([{"key": "a", "hits": 2}])));
    }

    #[test]
    fn what_does_not_fit_is_named_by_its_path() {
        let mismatch = |value| memory().check(&value).map_err(|e| (e.path, e.message)).unwrap_err();
        assert_eq!(mismatch(json!({})), (String::new(), "must be a list, not an object".into()));
        assert_eq!(mismatch(json!([{"key": 5}])), ("[0].key".into(), "must be a string, not a number".into()));
        assert_eq!(mismatch(json!([{}, {"hit": 5}])), ("[1].hit".into(), "is not known; did you mean `hits`?".into()));
        assert_eq!(mismatch(json!([{"hits": 1.5}])).1, "must be a whole number, not a number");
    }

    #[test]
    fn numbers_are_within_their_range() {
        let hour = Type::Int(Range { min: Some(0.0), max: Some(23.0) });
        for (ty, value, expected) in [
            (&hour, json!(23), Ok(json!(23))),
            (&hour, json!(24), Err("must be from 0 to 23, not 24")),
            (&hour, json!(-5.0), Err("must be from 0 to 23, not -5")),
            (&hour, json!(0.5), Err("must be a whole number, not a number")),
            (&Type::Number(Range::SHARE), json!(75), Err("must be from 0 to 1, not 75")),
            (&Type::Number(Range::SHARE), json!(0.75), Ok(json!(0.75))),
            (&Type::Number(Range::NOT_NEGATIVE), json!(-1e300), Err("must be 0 or more, not -1")),
            (&Type::Number(Range::default()), json!(-5), Ok(json!(-5))),
        ] {
            match (ty.check(&value).map_err(|e| e.message), expected) {
                (Err(message), Err(expected)) => assert!(message.starts_with(expected), "{value}: {message}"),
                (found, expected) => assert_eq!(found, expected.map_err(ToOwned::to_owned), "{value}"),
            }
        }
    }

    #[test]
    fn a_choice_is_one_of_its_words() {
        let choice = Type::Choice(vec!["none".into(), "dynamic".into()]);
        assert_eq!(choice.check(&json!("dynamic")), Ok(json!("dynamic")));
        let mismatch = |value| choice.check(&value).unwrap_err().message;
        assert_eq!(mismatch(json!("dynamc")), "must be `none` or `dynamic`, not `dynamc`; did you mean `dynamic`?");
        assert_eq!(mismatch(json!(1)), "must be one of its words, not a number");
    }

    #[test]
    fn times_are_taken_in_both_forms() {
        assert_eq!(Type::Time.check(&json!(1000)), Ok(json!("1970-01-01T00:00:01Z")));
        assert_eq!(Type::Time.check(&json!(1500)), Ok(json!("1970-01-01T00:00:01.500Z")));
        assert_eq!(Type::Time.check(&json!(-1)), Ok(json!("1969-12-31T23:59:59.999Z")));
        assert_eq!(Type::Time.check(&json!("2026-04-02T07:15:00.00005Z")), Ok(json!("2026-04-02T07:15:00.000050Z")));
        assert_eq!(Type::Time.check(&json!("2026-04-02T09:15:00+02:00")), Ok(json!("2026-04-02T07:15:00Z")));
        assert_eq!(Type::Time.check(&json!(253_402_300_799_000_i64)), Ok(json!("9999-12-31T23:59:59Z")));
        for wrong in [json!("tomorrow"), json!(253_402_300_800_000_i64), json!("0000-12-31T23:59:59Z"), json!(1.5)] {
            let message = Type::Time.check(&wrong).unwrap_err().message;
            assert!(message.contains("of the years 1 to 9999"), "{message}");
        }
    }
}
