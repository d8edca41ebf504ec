//! Plain values, as the contract's messages have them.

use std::time::SystemTime;

use prost_types::{ListValue, Struct, Timestamp, value::Kind};
use serde_json::{Map, Value};

use crate::Violation;

/// The whole numbers that a double has, up to here.
const MAX_EXACT: u64 = 1 << 53;

pub(crate) fn timestamp(time: SystemTime) -> Timestamp {
    time.into()
}

/// A JSON object as a Struct; what it cannot hold is a violation.
pub(crate) fn object(field: &str, value: &Value, violations: &mut Vec<Violation>) -> Option<Struct> {
    if let Value::Object(map) = value {
        return Some(members(field, map, violations));
    }
    violations.push(Violation { field: field.into(), description: "must be a JSON object".into() });
    None
}

fn members(path: &str, map: &Map<String, Value>, violations: &mut Vec<Violation>) -> Struct {
    let member = |(key, value): (&String, &Value)| (key.clone(), one(&format!("{path}.{key}"), value, violations));
    Struct { fields: map.iter().map(member).collect() }
}

fn one(path: &str, value: &Value, violations: &mut Vec<Violation>) -> prost_types::Value {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(flag) => Kind::BoolValue(*flag),
        Value::Number(number) => {
            let is_inexact = number.as_i64().is_some_and(|whole| whole.unsigned_abs() > MAX_EXACT)
                || number.as_u64().is_some_and(|whole| whole > MAX_EXACT);
            if is_inexact {
                let description = "is a whole number beyond 2^53, which would change: send it as text";
                violations.push(Violation { field: path.into(), description: description.into() });
            }
            Kind::NumberValue(number.as_f64().unwrap_or_default())
        }
        Value::String(text) => Kind::StringValue(text.clone()),
        Value::Array(items) => {
            let item = |(index, item)| one(&format!("{path}[{index}]"), item, violations);
            Kind::ListValue(ListValue { values: items.iter().enumerate().map(item).collect() })
        }
        Value::Object(map) => Kind::StructValue(members(path, map, violations)),
    };
    prost_types::Value { kind: Some(kind) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_struct_cannot_hold_is_named_with_its_path() {
        let mut violations = Vec::new();
        let value =
            json!({"list": [1, {"id": 9_007_199_254_740_993_u64}], "ok": -9_007_199_254_740_992_i64, "text": "x"});
        let made = object("turn.variables", &value, &mut violations).unwrap();
        assert_eq!(made.fields.len(), 3);
        assert_eq!(violations.len(), 1);
        assert_eq!(violations[0].field, "turn.variables.list[1].id");
        assert!(object("turn.inputs", &json!([1]), &mut violations).is_none());
        assert_eq!(violations[1].field, "turn.inputs");
    }
}
