//! Protobuf's well-known types as the core has them.

use prost_types::{Struct, Value as Raw, value::Kind};
use serde_json::{Map, Number, Value};

use super::Violations;
use promptd_core::{
    finding::member,
    time::{Moment, NotAMoment},
};

/// A `Struct` as JSON, its keys in byte order. Whole numbers become integers, since a `Struct` has only doubles.
pub(super) fn object(raw: Struct, path: &str, violations: &mut Violations) -> Map<String, Value> {
    raw.fields
        .into_iter()
        .map(|(key, raw)| {
            let value = value(raw, &|| member(path, &key), violations);
            (key, value)
        })
        .collect()
}

/// One value; `path` is built only for a violation.
fn value(raw: Raw, path: &dyn Fn() -> String, violations: &mut Violations) -> Value {
    match raw.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::BoolValue(bool)) => Value::Bool(bool),
        Some(Kind::StringValue(text)) => Value::String(text),
        Some(Kind::NumberValue(number)) => number_value(number).unwrap_or_else(|| {
            violations.add(path(), "is not a finite number");
            Value::Null
        }),
        Some(Kind::ListValue(list)) => {
            let item = |(index, raw)| value(raw, &|| format!("{}[{index}]", path()), violations);
            list.values.into_iter().enumerate().map(item).collect()
        }
        Some(Kind::StructValue(object)) => {
            let field = |(key, raw): (String, Raw)| {
                let value = value(raw, &|| member(&path(), &key), violations);
                (key, value)
            };
            Value::Object(object.fields.into_iter().map(field).collect())
        }
    }
}

/// A double as JSON: an integer where it is whole and fits one; `None` where it is not finite.
fn number_value(number: f64) -> Option<Value> {
    /// 2^63: the first double beyond `i64`.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if number.fract() == 0.0 && (-BEYOND..BEYOND).contains(&number) {
        #[expect(clippy::cast_possible_truncation, reason = "whole, and within the range of i64")]
        return Some(Value::from(number as i64));
    }
    Number::from_f64(number).map(Value::Number)
}

/// A `Timestamp`; one that is out of range is a violation, and counts as not given.
pub(super) fn timestamp(
    raw: Option<prost_types::Timestamp>,
    path: impl FnOnce() -> String,
    violations: &mut Violations,
) -> Option<Moment> {
    let raw = raw?;
    let made = u32::try_from(raw.nanos).map_err(|_| NotAMoment).and_then(|nanos| Moment::new(raw.seconds, nanos));
    if let Err(error) = &made {
        violations.add(path(), error.to_string());
    }
    made.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(kind: Kind) -> Result<Value, Vec<super::super::Violation>> {
        let mut violations = Violations::default();
        let raw = Struct { fields: [("k".to_owned(), Raw { kind: Some(kind) })].into() };
        let object = object(raw, "turn.variables", &mut violations);
        violations.into_result(object["k"].clone())
    }

    #[test]
    fn whole_doubles_are_integers_and_no_other() {
        for (double, text) in [
            (7.0, "7"),
            (-0.0, "0"),
            (1.5, "1.5"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (-9_223_372_036_854_775_808.0, "-9223372036854775808"),
            (1e300, "1e+300"),
        ] {
            assert_eq!(json(Kind::NumberValue(double)).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_value_that_json_cannot_express_is_reported_with_its_path() {
        let list = prost_types::ListValue {
            values: vec![Raw { kind: None }, Raw { kind: Some(Kind::NumberValue(f64::NAN)) }],
        };
        let found = json(Kind::ListValue(list)).unwrap_err();
        assert_eq!(found[0].field, "turn.variables.k[1]");
    }

    #[test]
    fn times_keep_their_range() {
        for (seconds, nanos, good) in
            [(0, 0, true), (0, 999_999_999, true), (0, -1, false), (0, 1_000_000_000, false), (i64::MAX, 0, false)]
        {
            let mut violations = Violations::default();
            let raw = prost_types::Timestamp { seconds, nanos };
            let made = timestamp(Some(raw), || "turn.now".into(), &mut violations);
            assert_eq!((made.is_some(), violations.into_result(()).is_ok()), (good, good), "{seconds} {nanos}");
        }
    }

    #[test]
    fn times_are_of_the_years_1_to_9999() {
        for (seconds, nanos, text) in [
            (-62_135_596_801, 0, None),
            (-62_135_596_800, 0, Some("0001-01-01T00:00:00Z")),
            (253_402_214_400, 0, Some("9999-12-31T00:00:00Z")),
            (253_402_300_799, 999_999_999, Some("9999-12-31T23:59:59.999999999Z")),
            (253_402_300_800, 0, None),
            (-200_000_000_000, 0, None),
            (0, -1, None),
            (0, 1_000_000_000, None),
        ] {
            let mut violations = Violations::default();
            let raw = prost_types::Timestamp { seconds, nanos };
            let made = timestamp(Some(raw), || "turn.now".into(), &mut violations);
            assert_eq!(made.map(Moment::utc_exact).as_deref(), text, "{seconds}.{nanos}");
            let found = violations.into_result(()).err().unwrap_or_default();
            let found: Vec<_> = found.iter().map(ToString::to_string).collect();
            let expected = "turn.now: must be a time from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z";
            assert_eq!(found, text.map_or(vec![expected], |_| vec![]));
        }
    }
}
