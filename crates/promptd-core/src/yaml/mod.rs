//! YAML with positions: every fault of a file at once, each with its line and column.
//!
//! serde stops at the first fault and keeps no positions, and its maps let the last of two equal keys win. An operator
//! who saves a file with three mistakes wants to read of three, so files are parsed into [`Node`]s that remember
//! where they are and decoded through [`Fields`], which collects [`Fault`]s and goes on.
//!
//! Scalars follow the YAML 1.2 core schema: `true` and `false` are booleans, `no` and `yes` are text.

mod cause;
mod fields;
mod parse;
mod recover;
pub mod schema;
pub mod shape;

pub use fields::{Fields, nearest};
pub use parse::{MAX_DEPTH, MAX_NODES, MAX_YAML_BYTES, parse, utf8};
pub use recover::read;

use std::{
    cell::{Cell, RefCell},
    fmt,
};

use serde_json::{Map, Number};

use crate::{
    finding::{Code, Finding, Place},
    text::hidden::{is_hidden, is_line_break},
};

/// A value and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Where it begins.
    pub at: Mark,
    /// What it is.
    pub value: Value,
}

/// A position in a file: both are 1-based, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// A YAML value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A scalar.
    Scalar(Scalar),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping, in file order, without duplicate keys.
    Map(Vec<Pair>),
}

/// A scalar as written: its type is decided by who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// Its text, escapes and folding resolved.
    pub text: String,
    /// Written without quotes and not as a block, so that it may be a null, boolean or number.
    pub plain: bool,
    /// Written as a `|` block: each of its lines is a line of the file, the first with text being the node's line.
    pub literal: bool,
    /// Where YAML took a part of what is written for something else, so that `text` may be less than was meant.
    pub cut: Option<Cut>,
}

/// What YAML took for something else beside a plain scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// A ` #` behind it, which begins a comment there.
    Comment(Mark),
    /// A `&word` before it, which is an anchor.
    Anchor(Mark),
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Comment(at) => write!(f, "ends at column {}, where ` #` begins a comment", at.column),
            Self::Anchor(_) => f.write_str("does not include the `&` and the word behind it, which is an anchor"),
        }
    }
}

impl Cut {
    /// Where the other part begins.
    #[must_use]
    pub fn at(self) -> Mark {
        match self {
            Self::Comment(at) | Self::Anchor(at) => at,
        }
    }
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The key.
    pub key: String,
    /// The place of the key.
    pub at: Mark,
    /// The value.
    pub value: Node,
}

/// Something wrong in a YAML file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What kind of fault.
    pub code: Code,
    /// Where.
    pub at: Mark,
    /// One sentence.
    pub message: String,
}

impl Fault {
    /// The fault as a finding of the file `path`.
    #[must_use]
    pub fn into_finding(self, path: &str) -> Finding {
        Finding::new(self.code, Place::at(path, self.at.line, self.at.column), printable(self.message))
    }
}

/// The most characters of a fault's message: a key may be of any length.
const MAX_MESSAGE_CHARS: usize = 500;

/// The message cut, and with escapes for what could move a terminal's cursor, break a log's line or hide text: it
/// quotes keys and values of the file.
fn printable(mut message: String) -> String {
    if let Some((end, _)) = message.char_indices().nth(MAX_MESSAGE_CHARS) {
        message.truncate(end);
        message.push('…');
    }
    if !message.contains(is_unsafe) {
        return message;
    }
    let mut safe = String::with_capacity(message.len());
    for c in message.chars() {
        if is_unsafe(c) {
            safe.extend(c.escape_unicode());
        } else {
            safe.push(c);
        }
    }
    safe
}

fn is_unsafe(c: char) -> bool {
    c.is_control() || is_line_break(c) || is_hidden(c)
}

/// How many faults of one file are reported; the rest is counted.
pub const MAX_FAULTS: usize = 100;

/// The first [`MAX_FAULTS`], and a last one that counts the rest.
fn bounded(mut faults: Vec<Fault>) -> Vec<Fault> {
    let more = faults.len().saturating_sub(MAX_FAULTS);
    if more > 0 {
        let at = faults[MAX_FAULTS].at;
        faults.truncate(MAX_FAULTS);
        faults.push(Fault { code: Code::FindingsOmitted, at, message: format!("{more} more faults from here on") });
    }
    faults
}

/// The faults found so far; shared by all [`Fields`] of one file.
#[derive(Debug, Default)]
pub struct Faults {
    found: RefCell<Vec<Fault>>,
    partial: Cell<bool>,
}

impl Faults {
    /// Adds one.
    pub fn add(&self, code: Code, at: Mark, message: impl Into<String>) {
        self.push(Fault { code, at, message: message.into() });
    }

    fn push(&self, fault: Fault) {
        self.found.borrow_mut().push(fault);
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.borrow().is_empty()
    }

    /// Whether entries of the file could not be read: what seems to be missing may be in them.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.partial.get()
    }

    /// The first [`MAX_FAULTS`] of them, in file order and none twice, and how many more there are.
    #[must_use]
    pub fn into_vec(self) -> Vec<Fault> {
        let mut faults = self.found.into_inner();
        faults.sort_by_key(|fault| fault.at);
        faults.dedup();
        bounded(faults)
    }
}

impl Scalar {
    /// Whether it is a null: empty, `~` or `null`, without quotes.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }

    /// Its boolean, if it is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self.text.as_str() {
            "true" | "True" | "TRUE" if self.plain => Some(true),
            "false" | "False" | "FALSE" if self.plain => Some(false),
            _ => None,
        }
    }

    /// Its number, if it is one.
    #[must_use]
    pub fn as_number(&self) -> Option<Number> {
        if !self.plain || !self.text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
            return None;
        }
        let text = self.text.strip_prefix('+').unwrap_or(&self.text);
        if let Ok(int) = text.parse::<i64>() {
            return Some(int.into());
        }
        text.parse::<f64>().ok().and_then(Number::from_f64)
    }

    /// Its number, if that is whole and not below 0, however it is written: `1e3` and `5.0` are such numbers too.
    #[must_use]
    pub fn as_count(&self) -> Option<u64> {
        /// 2^63: what is below is also exact as an `i64`.
        const END: f64 = 9_223_372_036_854_775_808.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole and in range")]
        let whole = |double: f64| (double.fract() == 0.0 && (0.0..END).contains(&double)).then_some(double as u64);
        let number = self.as_number()?;
        if number.is_f64() { number.as_f64().and_then(whole) } else { number.as_u64() }
    }
}

impl Node {
    /// Where YAML took a part of the value for something else.
    #[must_use]
    pub fn cut(&self) -> Option<Cut> {
        match &self.value {
            Value::Scalar(scalar) => scalar.cut,
            Value::List(_) | Value::Map(_) => None,
        }
    }

    /// Whether it is a null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if scalar.is_null())
    }

    /// What it is, for a message: `a list`, `text` …
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
            Value::Scalar(scalar) if scalar.is_null() => "nothing",
            Value::Scalar(scalar) if scalar.as_bool().is_some() => "a boolean",
            Value::Scalar(scalar) if scalar.as_number().is_some() => "a number",
            Value::Scalar(_) => "text",
        }
    }

    /// The value without its positions.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Scalar(scalar) if scalar.is_null() => serde_json::Value::Null,
            Value::Scalar(scalar) => scalar
                .as_bool()
                .map(Into::into)
                .or_else(|| scalar.as_number().map(serde_json::Value::Number))
                .unwrap_or_else(|| scalar.text.clone().into()),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(pairs) => {
                pairs.iter().map(|pair| (pair.key.clone(), pair.value.to_json())).collect::<Map<_, _>>().into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_safe_to_print() {
        let said = |message: &str| {
            let at = Mark { line: 1, column: 1 };
            Fault { code: Code::UnknownKey, at, message: message.to_owned() }.into_finding("f").message
        };
        assert_eq!(said("key `\u{1b}[2J\n\u{202e}é`"), "key `\\u{1b}[2J\\u{a}\\u{202e}é`");
        assert_eq!(said(&"é".repeat(MAX_MESSAGE_CHARS + 1)).chars().count(), MAX_MESSAGE_CHARS + 1);
    }
}
