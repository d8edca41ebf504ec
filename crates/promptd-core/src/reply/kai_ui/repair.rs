//! The repair of what models get wrong in the JSON of a screen.

use serde_json::Value;

/// JSON that was repaired.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repaired {
    pub json: String,
    /// The text ended before its brackets closed, so that something may be missing.
    pub cut: bool,
}

/// The first value of the text with its brackets completed: `"key=[` is read as `"key":[`, closing brackets that match
/// nothing and commas before closing ones are removed, an object that a `,{` interrupts in a list is closed, and so is all
/// that the text's end leaves open, without what is half there. Reading stops where the value is balanced.
pub(super) fn repaired(text: &str) -> Repaired {
    let mut repair =
        Repair { text, at: 0, json: String::with_capacity(text.len() + 8), open: Vec::new(), string: 0..0 };
    while let Some(c) = repair.rest().chars().next() {
        if repair.step(c) {
            return Repaired { json: repair.json, cut: false };
        }
    }
    repair.close();
    Repaired { json: repair.json, cut: true }
}

struct Repair<'t> {
    text: &'t str,
    at: usize,
    json: String,
    /// The brackets that are open.
    open: Vec<char>,
    /// Where in `json` its last string is; empty where the string is a value.
    string: std::ops::Range<usize>,
}

impl<'t> Repair<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Takes one character, or a string; true where the value is balanced.
    fn step(&mut self, c: char) -> bool {
        match c {
            '"' => {
                self.quoted();
                return false;
            }
            '{' | '[' => {
                self.open.push(c);
                self.json.push(c);
            }
            '}' | ']' => {
                let opening = if c == '}' { '{' } else { '[' };
                if self.open.last() == Some(&opening) {
                    self.drop_end(',');
                    self.open.pop();
                    self.json.push(c);
                }
            }
            ',' => {
                let next = self.rest()[1..].trim_start();
                if next.starts_with(['{', '[']) && matches!(self.open.as_slice(), [.., '[', '{']) {
                    self.open.pop();
                    self.json.push('}');
                }
                self.json.push(c);
            }
            _ => self.json.push(c),
        }
        self.at += c.len_utf8();
        self.open.is_empty() && matches!(c, '}' | ']')
    }

    fn quoted(&mut self) {
        let rest = self.rest();
        if let Some(key) = key_with_equals(rest) {
            self.json.push_str(&rest[..=key]);
            self.json.push_str("\":");
            self.at += key + 2;
            return;
        }
        let begin = self.json.len();
        let is_key = self.open.last() == Some(&'{') && self.json.trim_end().ends_with(['{', ',']);
        let mut escaped = false;
        let end = rest.bytes().skip(1).position(|b| {
            let ends = b == b'"' && !escaped;
            escaped = b == b'\\' && !escaped;
            ends
        });
        match end {
            Some(end) => {
                self.json.push_str(&rest[..end + 2].replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t"));
                self.at += end + 2;
                self.string = if is_key { begin..self.json.len() } else { 0..0 };
            }
            // A string that is half there is none.
            None => self.at = self.text.len(),
        }
    }

    /// Closes what is open, without a key that has no value and a word that is half there.
    fn close(&mut self) {
        self.trim();
        let word =
            self.json.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-')).len();
        if serde_json::from_str::<Value>(&self.json[word..]).is_err() {
            self.json.truncate(word);
        }
        self.trim();
        if self.drop_end(':') || self.string.end == self.json.len() {
            self.trim();
            if !self.string.is_empty() && self.string.end == self.json.len() {
                self.json.truncate(self.string.start);
            }
        }
        self.drop_end(',');
        while let Some(open) = self.open.pop() {
            self.json.push(if open == '{' { '}' } else { ']' });
        }
    }

    fn trim(&mut self) {
        self.json.truncate(self.json.trim_end().len());
    }

    fn drop_end(&mut self, c: char) -> bool {
        let end = self.json.trim_end();
        let found = end.ends_with(c);
        if found {
            let length = end.len() - 1;
            self.json.truncate(length);
        }
        found
    }
}

/// The length of a key in a text that begins `"key=[` or `"key={`.
fn key_with_equals(text: &str) -> Option<usize> {
    let inner = &text[1..];
    let key = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    let opens = inner[key..].starts_with("=[") || inner[key..].starts_with("={");
    (key > 0 && opens).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_models_get_wrong_is_repaired() {
        for (text, json, cut) in [
            (r#"{"a":1} {"b":2}"#, r#"{"a":1}"#, false),
            (r#"{"children=[{"a":1}]}"#, r#"{"children":[{"a":1}]}"#, false),
            (r#"{"action={"a":1}}"#, r#"{"action":{"a":1}}"#, false),
            (r#"{"text":"={"}"#, r#"{"text":"={"}"#, false),
            (r#"{"text":"=["}"#, r#"{"text":"=["}"#, false),
            (r#"{"a":[1}]}"#, r#"{"a":[1]}"#, false),
            (r#"[{"a":1]}"#, r#"[{"a":1}]"#, true),
            (r#"{"a":[1,2,],}"#, r#"{"a":[1,2]}"#, false),
            (r#"[{"a":1,{"b":2}]"#, r#"[{"a":1},{"b":2}]"#, false),
            (r#"{"a":"x","b":"half"#, r#"{"a":"x"}"#, true),
            (r#"{"a":"x","b""#, r#"{"a":"x"}"#, true),
            (r#"{"a":"x","b":"#, r#"{"a":"x"}"#, true),
            (r#"{"a":"x","b":tr"#, r#"{"a":"x"}"#, true),
            (r#"{"a":"x","b":true"#, r#"{"a":"x","b":true}"#, true),
            (r#"{"a":["x","y"#, r#"{"a":["x"]}"#, true),
            (r#"{"a":["x","#, r#"{"a":["x"]}"#, true),
            (r#"{"a":[{"b":"c"},{"#, r#"{"a":[{"b":"c"},{}]}"#, true),
            ("{\"a\":\"x\ny\"}", r#"{"a":"x\ny"}"#, false),
            (r#"{"a":"}]\" x="}"#, r#"{"a":"}]\" x="}"#, false),
            ("{", "{}", true),
        ] {
            let read = repaired(text);
            assert_eq!((read.json.as_str(), read.cut), (json, cut), "{text}");
        }
    }
}
