//! JSON objects within running text.

use serde_json::{Map, Value};

use super::exact::{self, Notes};

/// The most levels of objects and arrays that an action's payload may have.
///
/// Payloads travel as protobuf, where a level takes up to three nested messages, and readers in every language stop at
/// 100: a deeper payload would make the whole response unreadable.
pub const MAX_DEPTH: usize = 32;

/// Why a payload with more than [`MAX_DEPTH`] levels is not read.
pub(super) const TOO_DEEP: &str = "its payload is more than 32 levels deep";

/// An object that begins some text.
pub(super) enum Found {
    /// A valid one.
    Object(Object),
    /// Its braces close after so many bytes, but it is not valid.
    Invalid(usize, String),
    /// It does not close.
    Open(&'static str),
}

/// A valid object.
pub(super) struct Object {
    /// What it holds.
    pub fields: Map<String, Value>,
    /// How many bytes of the text it takes.
    pub length: usize,
    /// What `fields` cannot hold of it, a phrase each.
    pub inexact: Vec<String>,
}

/// The object that `text` begins with; its first byte is `{`.
pub(super) fn read(text: &str) -> Found {
    let length = match end(text.as_bytes()) {
        Ok(end) => end,
        Err(why) => return Found::Open(why),
    };
    let notes = Notes::default();
    match exact::object(&text[..length], &notes) {
        Ok(fields) => Found::Object(Object { fields, length, inexact: notes.into_vec() }),
        Err(error) => Found::Invalid(length, format!("its payload is not valid JSON ({error})")),
    }
}

/// Where the object closes, braces in strings apart.
///
/// Gives up at the first byte that no JSON has there. This keeps a search through many beginnings of objects linear:
/// of those that it follows far, each one is a level deeper in the one before, or in a string of it, so that no
/// byte is looked at more than `2 * MAX_DEPTH` times.
fn end(bytes: &[u8]) -> Result<usize, &'static str> {
    let mut open = [b'}'; MAX_DEPTH];
    let mut depth = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                let Some(closer) = open.get_mut(depth) else { return Err(TOO_DEEP) };
                *closer = if byte == b'{' { b'}' } else { b']' };
                depth += 1;
            }
            b'}' | b']' => {
                depth -= 1;
                if open[depth] != byte {
                    return Err("its payload has a bracket that does not match");
                }
                if depth == 0 {
                    return Ok(at);
                }
            }
            b'"' => at = string_end(bytes, at)?,
            b' ' | b'\t' | b'\n' | b'\r' | b':' | b',' | b'+' | b'-' | b'.' => {}
            _ if byte.is_ascii_alphanumeric() => {}
            _ => return Err("its payload is not valid JSON"),
        }
    }
    Err("its payload does not end")
}

fn string_end(bytes: &[u8], mut at: usize) -> Result<usize, &'static str> {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return Ok(at + 1),
            b'\\' => at += 2,
            0..b' ' => return Err("its payload has a line break or control character in a string"),
            _ => at += 1,
        }
    }
    Err("its payload does not end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_end_where_their_braces_close() {
        for (text, object) in [
            ("{}]", "{}"),
            (r#"{"a":{"b":[{"c":"}]"}]}} rest"#, r#"{"a":{"b":[{"c":"}]"}]}}"#),
            (r#"{"a":"\"}\\"}}"#, r#"{"a":"\"}\\"}"#),
            ("{\n \"a\": -1.5e+3 }", "{\n \"a\": -1.5e+3 }"),
            ("{\"界\":\"é\"}", "{\"界\":\"é\"}"),
        ] {
            let Found::Object(found) = read(text) else { panic!("{text}") };
            assert_eq!(&text[..found.length], object);
        }
    }

    #[test]
    fn invalid_objects_say_why() {
        for (text, why) in [
            ("{", "does not end"),
            (r#"{"a"#, "does not end"),
            (r#"{"a\"#, "does not end"),
            ("{\"a\":\"x\ny\"}", "line break"),
            ("{\"a\":[}]", "does not match"),
            ("{\\", "not valid JSON"),
        ] {
            assert!(matches!(read(text), Found::Open(reason) if reason.contains(why)), "{text}");
        }
        assert!(matches!(read("{invalid}"), Found::Invalid(9, _)));
        assert!(matches!(read(r#"{"a":1e999}"#), Found::Invalid(11, _)));
        assert!(matches!(read(r#"{"a":"\ud800"}"#), Found::Invalid(..)));
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        assert!(matches!(read(&nested(MAX_DEPTH)), Found::Object(..)));
        assert!(matches!(read(&nested(MAX_DEPTH + 1)), Found::Open(why) if why.contains("32 levels")));
        assert!(matches!(read(&"{\"a\":[".repeat(1 << 20)), Found::Open(_)));
    }
}
