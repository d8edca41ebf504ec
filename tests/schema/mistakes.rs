//! Mistakes, and harmless changes, made of a valid file: each at every place of it.

use serde_json::{Map, Value, json};

/// Texts that are right somewhere and wrong elsewhere.
const TEXTS: [&str; 40] = [
    "",
    " ",
    "zzzz",
    "5",
    "-5",
    "0.5",
    "1.5",
    "true",
    "a\nb",
    "a b",
    "A",
    "../x",
    "a/b",
    "/a",
    "a=b",
    "bad id=x",
    "~/x",
    "10s",
    "500ms",
    "0s",
    "99ms",
    "1h 30m",
    "PT5S",
    "0.05s",
    "90 sec",
    "-1s",
    "64KiB",
    "0B",
    "4MB",
    "localhost:1",
    "1.2.3.4:99999",
    "[::]:50051",
    "https://a.example",
    "ftp://a",
    "UTC",
    "2026-02-28T18:30:00-08:00",
    "today",
    "[",
    "string",
    "debug,x=info",
];

/// The file with one change each. Where a file is large its places take turns with the texts.
pub(crate) fn of(valid: &Value) -> Vec<Value> {
    let mut places = Vec::new();
    collect(valid, String::new(), &mut places);
    let step = 1 + places.len() / MANY_PLACES;
    let mut out = Vec::new();
    for (number, place) in places.iter().enumerate() {
        let with = |change: Value| {
            let mut changed = valid.clone();
            *changed.pointer_mut(place).unwrap() = change;
            changed
        };
        let value = valid.pointer(place).unwrap();
        out.extend(other_types(value).into_iter().map(with));
        out.extend(
            TEXTS.iter().enumerate().filter(|(text, _)| (text + number) % step == 0).map(|(_, text)| with(json!(text))),
        );
        match value {
            Value::Object(fields) => out.extend(other_keys(fields).into_iter().map(with)),
            Value::Array(items) => out.extend(other_items(items).into_iter().map(with)),
            _ => {}
        }
    }
    out
}

const MANY_PLACES: usize = 30;

fn collect(value: &Value, path: String, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                collect(value, format!("{path}/{}", key.replace('~', "~0").replace('/', "~1")), places);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect(value, format!("{path}/{index}"), places);
            }
        }
        _ => {}
    }
    places.push(path);
}

fn other_types(value: &Value) -> Vec<Value> {
    let numbers = [json!(0), json!(1), json!(-1), json!(1.5), json!(5.0), json!(1e3), json!(i64::MAX), json!(1e30)];
    let others =
        [json!(null), json!(true), json!(false), json!([]), json!([null]), json!([5]), json!({}), json!({"zzzz": 1})];
    numbers.into_iter().chain(others).chain([json!([value])]).collect()
}

/// A key left out, misspelt, or one too many.
fn other_keys(fields: &Map<String, Value>) -> Vec<Value> {
    let mut out = Vec::new();
    for key in fields.keys() {
        let mut without = fields.clone();
        let value = without.remove(key).unwrap();
        out.push(without.clone().into());
        without.insert(format!("{key}z"), value);
        out.push(without.into());
    }
    for (key, value) in [("zzzz", json!(1)), ("Bad Name", json!("string")), ("type", json!(null))] {
        let mut more = fields.clone();
        more.entry(key).or_insert(value);
        out.push(more.into());
    }
    out
}

/// An item twice, and one that is not an item.
fn other_items(items: &[Value]) -> Vec<Value> {
    let more = |item: Value| items.iter().cloned().chain([item]).collect::<Value>();
    items.first().cloned().into_iter().chain([json!(null), json!({}), json!("zzzz"), json!(7)]).map(more).collect()
}
