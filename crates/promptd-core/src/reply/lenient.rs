//! Lenient JSON: what models write, where nothing needs to be guessed.

use serde_json::{Map, Value};

use super::json_object::within_depth;

/// The object that `text` begins with, and how many bytes it takes, once line breaks in strings are escaped and commas
/// before a closing bracket are dropped. What is cut off or misspelt stays invalid: an action is never guessed.
pub(super) fn parse(text: &str) -> Option<(Map<String, Value>, usize)> {
    let mut fixed = String::with_capacity(text.len());
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => {
                escaped = false;
                fixed.push(c);
            }
            '\n' if in_string => fixed.push_str("\\n"),
            '\r' if in_string => fixed.push_str("\\r"),
            '\t' if in_string => fixed.push_str("\\t"),
            '"' => {
                in_string = !in_string;
                fixed.push(c);
            }
            '{' | '[' if !in_string => {
                depth += 1;
                fixed.push(c);
            }
            '}' | ']' if !in_string => {
                drop_comma(&mut fixed);
                fixed.push(c);
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return within_depth(&fixed).map(|object| (object, at + c.len_utf8()));
                }
            }
            _ => {
                escaped = in_string && c == '\\';
                fixed.push(c);
            }
        }
    }
    None
}

fn drop_comma(json: &mut String) {
    let end = json.trim_end().len();
    if json[..end].ends_with(',') {
        json.truncate(end - 1);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn line_breaks_and_spare_commas_are_accepted() {
        for (text, object) in [
            ("{\"a\":\"x\ny\tz\"} rest", json!({"a": "x\ny\tz"})),
            ("{\"a\":[1,2,],\n}", json!({"a": [1, 2]})),
            (r#"{"a":"\"},]"}"#, json!({"a": "\"},]"})),
        ] {
            assert_eq!(parse(text).map(|(object, _)| Value::Object(object)), Some(object), "{text}");
        }
        for text in ["{\"a\":\"x", "{a:1}", "{\"a\":1,,}", "{", "{\"a\":1]", &"{\"a\":".repeat(1 << 18)] {
            assert_eq!(parse(text), None);
        }
    }
}
