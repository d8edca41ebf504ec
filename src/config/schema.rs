//! The JSON Schema of the config, made of [`TABLE`].

use promptd_core::yaml::{
    schema::{choice, count, described, document, list, mapping, or_null, scalar, text},
    shape::Text,
};
use serde_json::{Value, json};

use super::{Shape, TABLE, values::duration};

/// The JSON Schema of the server's config. Whether a file or a folder is there, and whether an address that other machines
/// reach has what it needs beside it, only the service knows.
#[must_use]
pub fn schema() -> Value {
    let mut root = mapping(&[]);
    for setting in TABLE {
        let value = described(or_null(of(&setting.shape)), setting.about, setting.default);
        insert(&mut root, setting.key, value);
    }
    let given = |key: &str| json!({"required": [key], "properties": {key: {"type": "string"}}});
    let needs = |key: &str, other: &str| json!({"if": given(key), "then": given(other)});
    root["properties"]["tls"]["allOf"] =
        json!([needs("cert", "key"), needs("key", "cert"), needs("client_ca", "cert")]);
    #[cfg(feature = "etcd")]
    {
        let etcd = &mut root["properties"]["workspaces"]["properties"]["etcd"]["properties"];
        etcd["tls"]["allOf"] = json!([needs("cert", "key"), needs("key", "cert"), needs("cert", "ca")]);
        etcd["auth"]["allOf"] = json!([needs("username", "password_file"), needs("password_file", "username")]);
        etcd["files"]["allOf"] = json!([needs("id", "dir"), needs("dir", "id")]);
    }
    #[cfg(feature = "memory")]
    {
        let models = &mut root["properties"]["memory"]["properties"]["models"]["properties"];
        for model in ["embed", "summarise"] {
            models[model]["allOf"] = json!([needs("url", "model")]);
        }
    }
    document("promptd.yaml", "The settings of the promptd server. Every key is optional.", root)
}

/// Puts a setting into the mapping of its section.
fn insert(mapping_of: &mut Value, key: &str, value: Value) {
    let (section, rest) = key.split_once('.').map_or((key, None), |(section, rest)| (section, Some(rest)));
    let Value::Object(properties) = &mut mapping_of["properties"] else { return };
    match rest {
        None => {
            properties.insert(section.to_owned(), value);
        }
        Some(rest) => insert(properties.entry(section).or_insert_with(|| mapping(&[])), rest, value),
    }
}

fn of(shape: &Shape) -> Value {
    match shape {
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Count { least } => count(*least),
        #[cfg(any(feature = "etcd", feature = "memory"))]
        Shape::Range { least, most } => {
            let mut range = count(*least);
            range["maximum"] = (*most).into();
            range
        }
        Shape::Size { least } => {
            let zero = if *least > 0 { "(?!0*[^0-9]*$)" } else { "" };
            json!({"anyOf": [count(*least), {"type": "string", "pattern": format!(r"^\s*{zero}[0-9]+\s*(B|KiB|MiB|GiB)?\s*$")}]})
        }
        Shape::Span { least } => span(least),
        #[cfg(any(feature = "otlp", feature = "record"))]
        Shape::Share => json!({"type": "number", "minimum": 0, "maximum": 1}),
        #[cfg(feature = "record")]
        Shape::TurnFields => {
            let names = promptd_record::Redaction::names();
            list(&choice(&names.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        Shape::Choice(words) => choice(words),
        Shape::Text(rule) => text(rule),
        Shape::Texts(rule) => list(&scalar(rule)),
    }
}

/// A duration of days, and of what jiff reads: its units in order, only the last with a fraction; or in the form of ISO 8601.
fn span(least: &str) -> Value {
    const FRACTION: &str = r"([.,][0-9]+)?";
    let units = ["h|hr|hrs|hour|hours", "m|min|mins|minute|minutes", "s|sec|secs|second|seconds", MILLI, MICRO, NANO];
    let unit = |names: &str| format!(r"([0-9]+{FRACTION}\s*({names}),?\s*)?");
    let friendly: String = units.map(unit).concat();
    let iso = format!("[Pp][Tt]([0-9]+{FRACTION}[Hh])?([0-9]+{FRACTION}[Mm])?([0-9]+{FRACTION}[Ss])?");
    let mut schema = text(&Text::ANY);
    let of_day = format!(r"\+?(({friendly})|{iso}|[0-9]+:[0-9]{{2}}:[0-9]{{2}}{FRACTION})");
    schema["pattern"] = format!(r"^({of_day}|0*[1-9][0-9]{{0,4}}d\s*({friendly}))$").into();
    schema["minLength"] = 2.into();
    if let Some(too_short) = too_short(least) {
        schema["not"] = json!({"type": "string", "pattern": too_short});
    }
    schema
}

const MILLI: &str = "ms|msec|msecs|milli|millis|millisecond|milliseconds";
const MICRO: &str = "us|usec|usecs|µs|µsec|µsecs|μs|μsec|μsecs|micro|micros|microsecond|microseconds";
const NANO: &str = "ns|nsec|nsecs|nano|nanos|nanosecond|nanoseconds";

/// What a duration below a power of ten looks like where it has one unit; `None`: none is too short.
fn too_short(least: &str) -> Option<String> {
    let least = duration(least).ok()?;
    let digits = least.as_millis().checked_ilog10()?;
    let zeros = "0".repeat(3_usize.saturating_sub(digits as usize));
    Some(format!(
        r"^\+?(0+([.,]0+)?\s*[a-zµμ]+|0*[.,]{zeros}[0-9]*\s*s[a-z]*|0*[0-9]{{0,{digits}}}([.,][0-9]+)?\s*({MILLI})|0*[0-9]{{0,{}}}([.,][0-9]+)?\s*({MICRO})|0*[0-9]{{0,{}}}\s*({NANO}))$",
        digits + 3,
        digits + 6,
    ))
}
