//! Lenient JSON: what models write, read as `best-effort-json-parser` 1.4 reads it.
//!
//! Objects and arrays that are cut off end where the text ends; commas may be missing or too many; keys, and the items of
//! arrays, need no quotes; line breaks in strings and comments are accepted. What has no reading is an error.

use serde_json::{Map, Number, Value};

use super::{
    exact::Notes,
    json_object::{MAX_DEPTH, TOO_DEEP},
};

/// A value that some text begins with.
#[derive(Debug, PartialEq)]
pub(super) struct Read {
    /// The value; a key without a value is left out.
    pub value: Value,
    /// How many bytes it takes.
    pub length: usize,
    /// The key whose string the text ends in, so that a part of it is missing.
    pub cut: Option<String>,
    /// Text that begins like a further key is not read, so that a part of the object may be missing.
    pub stopped: bool,
    /// What `value` cannot hold of it, a phrase each.
    pub inexact: Vec<String>,
}

/// The value that `text` begins with, whatever follows; the error says what has no reading.
pub(super) fn parse(text: &str) -> Result<Read, &'static str> {
    let backslashes = text.len() - text.trim_end_matches('\\').len();
    let text = &text[..text.len() - backslashes % 2];
    let notes = Notes::default();
    let mut reader = Reader { text, at: 0, depth: 0, key: String::new(), cut: None, stopped: false, notes };
    reader.skip_comment();
    let colon_first = reader.rest().trim_start().starts_with(':');
    let value = reader.any(if colon_first { None } else { Some(&[' ']) })?;
    let Reader { at, cut, stopped, notes, .. } = reader;
    Ok(Read { value, length: at, cut, stopped, inexact: notes.into_vec() })
}

const NO_VALUE: &str = "it is cut off, or has text without quotes, where a value must be";

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    key: String,
    cut: Option<String>,
    stopped: bool,
    notes: Notes,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Any value. Text without quotes is one up to the first of `delimiters`, where there are any.
    fn any(&mut self, delimiters: Option<&[char]>) -> Result<Value, &'static str> {
        match self.rest().chars().next() {
            Some(' ' | '\r' | '\n' | '\t') => {
                self.skip();
                self.any(None)
            }
            Some('{') => self.nested(Self::object),
            Some('[') => self.nested(Self::array),
            Some('"' | '\'' | '`') => self.quoted().map(Value::String),
            Some('0'..='9' | '.' | '-') => Ok(self.number()),
            Some('t') => Ok(self.word("true", Value::Bool(true))),
            Some('f') => Ok(self.word("false", Value::Bool(false))),
            Some('n') => Ok(self.word("null", Value::Null)),
            _ => match delimiters {
                Some(delimiters) => Ok(Value::String(self.unquoted(delimiters))),
                None => Err(NO_VALUE),
            },
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, &'static str>) -> Result<Value, &'static str> {
        if self.depth == MAX_DEPTH {
            return Err(TOO_DEEP);
        }
        self.depth += 1;
        self.at += 1;
        self.skip();
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Value, &'static str> {
        let mut object = Map::new();
        while !self.rest().is_empty() && !self.eat('}') {
            let begin = self.at;
            let key = match self.rest().chars().next() {
                Some('"' | '\'' | '`') => self.quoted()?,
                _ => self.unquoted(&[':', '}']),
            };
            // A key that is cut off is not part of the object.
            self.cut = None;
            self.skip();
            if !self.eat(':') {
                // A key without a value ends the object. The text's end may have cut it; other text is not read.
                if !self.rest().is_empty() {
                    self.stopped = true;
                    self.at = begin;
                }
                break;
            }
            self.skip();
            if self.rest().is_empty() {
                break;
            }
            self.key.clone_from(&key);
            let value = self.any(None)?;
            if object.contains_key(&key) {
                self.notes.duplicate(&key);
            }
            object.insert(key, value);
            self.skip();
            self.comma();
        }
        Ok(Value::Object(object))
    }

    fn array(&mut self) -> Result<Value, &'static str> {
        let mut items = Vec::new();
        while !self.rest().is_empty() && !self.eat(']') {
            items.push(self.any(Some(&[',', ']']))?);
            self.skip();
            self.comma();
        }
        Ok(Value::Array(items))
    }

    fn comma(&mut self) {
        if self.eat(',') {
            self.skip();
        }
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.rest().starts_with(c);
        self.at += if found { c.len_utf8() } else { 0 };
        found
    }

    fn quoted(&mut self) -> Result<String, &'static str> {
        let begin = self.at + 1;
        let quote = self.text.as_bytes()[self.at];
        let bytes = self.text.as_bytes();
        let mut end = begin;
        while end < bytes.len() && bytes[end] != quote {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let closed = end < bytes.len();
        let end = end.min(bytes.len());
        if !closed {
            self.cut = Some(self.key.clone());
        }
        self.at = if closed { end + 1 } else { end };
        let raw = self.text.get(begin..end).ok_or(NO_VALUE)?;
        unescaped(raw, quote).ok_or("a string of it has an invalid escape")
    }

    fn unquoted(&mut self, delimiters: &[char]) -> String {
        let length = self.rest().find(delimiters).unwrap_or(self.rest().len());
        let text = self.rest()[..length].trim().to_owned();
        self.at += length;
        text
    }

    /// As JavaScript's `Number`; what is none stays text.
    fn number(&mut self) -> Value {
        let rest = self.rest();
        let length = rest.find(|c: char| !matches!(c, '0'..='9' | '.' | '-')).unwrap_or(rest.len());
        self.at += length;
        let text = &rest[..length];
        if text == "-" {
            return Number::from_f64(-0.0).map_or(Value::Null, Value::Number);
        }
        let whole = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from)).ok();
        let number = whole.or_else(|| text.parse().ok().and_then(Number::from_f64));
        match number {
            Some(number) => {
                self.notes.number(&self.key, &number);
                Value::Number(number)
            }
            None => Value::String(text.to_owned()),
        }
    }

    /// A word or a beginning of it; its first letter is there.
    fn word(&mut self, word: &str, value: Value) -> Value {
        let same = word.bytes().zip(self.rest().bytes()).take_while(|(a, b)| a == b).count();
        self.at += same;
        value
    }

    /// Skips white space and comments.
    fn skip(&mut self) {
        loop {
            let before = self.at;
            self.at =
                self.text.len() - self.rest().trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').len();
            self.skip_comment();
            if self.at == before {
                return;
            }
        }
    }

    /// An HTML comment that the text begins with is none.
    fn skip_comment(&mut self) {
        let rest = self.rest();
        let length = |open: &str, close: &str| {
            let inner = rest.strip_prefix(open)?;
            Some(inner.find(close).map_or(rest.len(), |end| open.len() + end + close.len()))
        };
        let html = || if self.at == 0 { None } else { length("<!--", "-->") };
        self.at += length("//", "\n").or_else(|| length("/*", "*/")).or_else(html).unwrap_or(0);
    }
}

/// A string's value: as in JSON, and line breaks and tabs are themselves.
fn unescaped(raw: &str, quote: u8) -> Option<String> {
    if !raw.contains(['\\', '"']) && !raw.bytes().any(|b| b < b' ') {
        return Some(raw.to_owned());
    }
    let mut json = String::with_capacity(raw.len() + 2);
    json.push('"');
    let mut escaped = false;
    for c in raw.chars() {
        match c {
            '\n' => json.push_str(if escaped { "n" } else { "\\n" }),
            '\r' => json.push_str(if escaped { "r" } else { "\\r" }),
            '\t' => json.push_str(if escaped { "t" } else { "\\t" }),
            '"' if !escaped => json.push_str("\\\""),
            // `\'` and `` \` `` are not escapes of JSON.
            c if escaped && c != '"' && u32::from(c) == u32::from(quote) => {
                json.pop();
                json.push(c);
            }
            c => json.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    json.push('"');
    serde_json::from_str(&json).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_models_write_is_read() {
        for (text, value) in [
            (r#"{"action":"continue""#, json!({"action": "continue"})),
            (
                r#"{"action":"send_message","parameters":{"channelId":"1","content":"hi"#,
                json!({"action": "send_message", "parameters": {"channelId": "1", "content": "hi"}}),
            ),
            // A key without a value is left out.
            (r#"{"action":"#, json!({})),
            (r#"{"action""#, json!({})),
            (r#"{"a" "b"}"#, json!({})),
            (r#"{action:"continue"}"#, json!({"action": "continue"})),
            ("{'a':'b'}", json!({"a": "b"})),
            ("{`a`:`b`}", json!({"a": "b"})),
            ("{'a':'it\\'s \"x\"'}", json!({"a": "it's \"x\""})),
            ("[a,b]", json!(["a", "b"])),
            ("[1,2,", json!([1, 2])),
            (r#"{"a":1,}"#, json!({"a": 1})),
            (r#"{"a":1 "b":2}"#, json!({"a": 1, "b": 2})),
            (r#"{"a":tru"#, json!({"a": true})),
            (r#"{"a":1.}"#, json!({"a": 1.0})),
            (r#"{"a":-}"#, json!({"a": -0.0})),
            (r#"{"a":1.2.3}"#, json!({"a": "1.2.3"})),
            (r#"{"a":"b\"#, json!({"a": "b"})),
            ("{\"a\":\"x\ny\tz\"} rest", json!({"a": "x\ny\tz"})),
            (r#"{"a":[1,{"b":2"#, json!({"a": [1, {"b": 2}]})),
            (r#"Sure! {"action":"continue"}"#, json!("Sure!")),
            ("", json!("")),
            ("I will", json!("I")),
            ("text", json!(true)),
            ("no idea", json!(null)),
            (r#"{"a":1}{"b":2}"#, json!({"a": 1})),
            (r#"{"a":1} trailing"#, json!({"a": 1})),
            (r#"{"a":"he said "hi" ok"}"#, json!({"a": "he said "})),
            ("// c\n{/* c */\"a\":<!-- c -->1,//c\n\"b\":2}", json!({"a": 1, "b": 2})),
            ("<!-- c -->{\"a\":1}", json!("<!--")),
            (r#"{"a":18446744073709551615}"#, json!({"a": u64::MAX})),
        ] {
            assert_eq!(parse(text).map(|read| read.value), Ok(value), "{text}");
        }
        for text in ["{action:continue}", r#"{"a":}"#, ": x", " \n", r#"{"a":"\x"}"#, &"{\"a\":".repeat(1 << 18)] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (text, length, cut, stopped) in [
            (r#"{"a":1"#, 6, None, false),
            (r#"{"a":"b"#, 7, Some("a"), false),
            (r#"{"a":["b","#, 10, None, false),
            (r#"{"a":{"b":"c"},"d":"e"#, 21, Some("d"), false),
            (r#"{"a":"he said "hi" ok"}"#, 15, None, true),
            (r#"{"a":1,"b"#, 9, None, false),
        ] {
            let read = parse(text).unwrap();
            assert_eq!((read.length, read.cut.as_deref(), read.stopped), (length, cut, stopped), "{text}");
        }
    }
}
