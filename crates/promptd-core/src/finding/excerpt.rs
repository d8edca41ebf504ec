//! The line that a finding is about, made safe to print.

use std::ops::Range;

/// The most characters of a line that an excerpt shows.
const MAX_CHARS: usize = 120;
/// How many of them come before the place that is meant.
const CHARS_BEFORE: usize = 60;

/// One line of a text, hidden characters written out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// The line, or the part of it around the place.
    pub(super) text: String,
    /// The bytes of `text` that are meant.
    pub(super) span: Range<usize>,
}

/// The excerpt for a place; both are 1-based, and column 0 means the whole line. `None`: no such line.
pub(super) fn excerpt(source: &str, line: u32, column: u32) -> Option<Excerpt> {
    let line = lines(source).nth(usize::try_from(line.checked_sub(1)?).ok()?)?;
    let start = (column as usize).saturating_sub(1);
    let end = end(line, start);
    let skipped = start.saturating_sub(CHARS_BEFORE);
    let mut text = String::new();
    let mut span: Option<Range<usize>> = None;
    for (index, c) in line.chars().enumerate().skip(skipped).take(MAX_CHARS) {
        let from = text.len();
        text.push_str(&printable(c));
        let meant = if column == 0 { !c.is_whitespace() } else { (start..end).contains(&index) };
        if meant {
            span = Some(span.map_or(from, |span| span.start)..text.len());
        }
    }
    let end = text.len();
    Some(Excerpt { text, span: span.unwrap_or(end..end) })
}

/// The text with every character that does not print written as an escape, so that it cannot hide or act on a terminal.
#[must_use]
pub fn escape(text: &str) -> String {
    text.chars().map(printable).collect()
}

fn printable(c: char) -> String {
    match c {
        '\t' => " ".to_owned(),
        '\'' | '"' | '\\' => c.to_string(),
        // Behind a letter, a combining mark prints; alone it would be escaped.
        _ => ['x', c].into_iter().collect::<String>().escape_debug().skip(1).collect(),
    }
}

/// Where what begins at a character of a line ends: a text in quotes, a value of YAML, or else a word.
fn end(line: &str, start: usize) -> usize {
    let chars: Vec<char> = line.chars().collect();
    let Some((before, rest)) = chars.split_at_checked(start) else { return start };
    let length = match rest.first() {
        None => 0,
        Some(quote @ ('"' | '\'')) => quoted(rest, *quote),
        Some('[' | '{' | '|' | '>' | '&' | '!') => 1,
        Some(_) if is_before_value(before) => value(rest),
        Some(_) => 1 + (1..rest.len()).take_while(|&at| is_in_word(rest, at)).count(),
    };
    start + length
}

/// The characters of a text in quotes, up to the end of the line where they are not closed. Within double quotes a backslash
/// escapes, within single ones a quote.
fn quoted(rest: &[char], quote: char) -> usize {
    let escape = if quote == '"' { '\\' } else { quote };
    let mut at = 1;
    while let Some(&c) = rest.get(at) {
        match c {
            c if c == escape && (quote == '"' || rest.get(at + 1) == Some(&quote)) => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Whether a line of YAML has a key or the mark of a list before this place, and nothing else.
fn is_before_value(before: &[char]) -> bool {
    let before: String = before.iter().collect();
    let of_list = before.trim_start().trim_start_matches("- ").trim_start();
    let key = of_list.trim_end().strip_suffix(':').filter(|_| of_list.ends_with(' '));
    let is_key =
        |key: &str| !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    match key {
        Some(key) => is_key(key),
        None => of_list.is_empty() && before.ends_with("- "),
    }
}

/// The characters of a value, up to a comment, or to what makes it a key.
fn value(rest: &[char]) -> usize {
    let ends = |pair: &[char]| matches!(pair, [':', ' '] | [' ', '#']);
    let whole = rest.windows(2).position(ends).unwrap_or(rest.len());
    let spaces = rest[..whole].iter().rev().take_while(|c| c.is_whitespace()).count();
    let value = whole - spaces;
    if rest[..value].ends_with(&[':']) { value - 1 } else { value }
}

/// Whether a character goes on with a word: a name, a path, an address.
fn is_in_word(rest: &[char], at: usize) -> bool {
    let next = || rest.get(at + 1).copied().unwrap_or(' ');
    match rest[at] {
        ':' => next().is_alphanumeric() || next() == '/',
        c => c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@'),
    }
}

/// Lines that end with LF, CRLF or a lone CR, as the YAML parser counts them.
fn lines(source: &str) -> impl Iterator<Item = &str> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let mut rest = Some(source);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = text.find(['\n', '\r']) else { return rest.take() };
        let after = if text[end..].starts_with("\r\n") { end + 2 } else { end + 1 };
        rest = Some(&text[after..]);
        Some(&text[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(source: &str, line: u32, column: u32) -> Option<(String, String)> {
        excerpt(source, line, column).map(|e| (e.text[e.span.clone()].to_owned(), e.text))
    }

    #[test]
    fn a_place_is_a_word_and_column_zero_the_line() {
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(marked("a: 1\r\n  naem: x\ry", 2, 3), pair("naem", "  naem: x"));
        assert_eq!(marked("a\n  b c \n", 2, 0), pair("b c", "  b c "));
        assert_eq!(marked("a", 1, 1), pair("a", "a"));
        assert_eq!(marked("a", 1, 9), pair("", "a"));
        assert_eq!(marked("a", 2, 1), None);
    }

    #[test]
    fn a_value_is_marked_whole() {
        for (line, column, meant) in [
            ("time_zone: Europe/Berln", 12, "Europe/Berln"),
            ("time_zone: Europe / Berln  # where we are", 12, "Europe / Berln"),
            ("time_zone: Europe/Berln#1", 12, "Europe/Berln#1"),
            ("  - 5 minutes ", 5, "5 minutes"),
            ("  - name: x y", 5, "name"),
            ("  - name:", 5, "name"),
            ("  - name: x y", 11, "x y"),
            ("a: {zone: Europe/Berln, b: c}", 11, "Europe/Berln"),
            ("a: [web/x.md]", 5, "web/x.md"),
            ("a: [b:2379, http://c:1/d]", 5, "b:2379"),
            ("a: [b:2379, http://c:1/d]", 13, "http://c:1/d"),
            ("a: {b: c}", 5, "b"),
            ("a: [b, c]", 4, "["),
            ("a: \"x y\" # z", 4, "\"x y\""),
            (r#"a: "x \" y" # z"#, 4, r#""x \" y""#),
            ("a: 'it''s' # so", 4, "'it''s'"),
            ("a: 'it''", 4, "'it''"),
            ("a: \"x", 4, "\"x"),
            ("Say {{ turn.user.nam }} now", 8, "turn.user.nam"),
            ("Look: at this", 1, "Look"),
            ("It is so: yes no", 11, "yes"),
        ] {
            assert_eq!(marked(line, 1, column).map(|(meant, _)| meant).as_deref(), Some(meant), "{line}");
        }
    }

    #[test]
    fn hidden_characters_are_written_out_and_letters_stay() {
        let (_, text) = marked("a\u{202e}b\u{e0041}\u{1b}[31m e\u{301} 漢 'q'", 1, 1).unwrap();
        assert_eq!(text, "a\\u{202e}b\\u{e0041}\\u{1b}[31m e\u{301} 漢 'q'");
    }

    #[test]
    fn long_lines_are_clipped_around_the_place() {
        let long = format!("{}HERE{}", "a ".repeat(5_000), " b".repeat(5_000));
        let e = excerpt(&long, 1, 10_001).unwrap();
        assert_eq!((&e.text[e.span.clone()], e.text.chars().count()), ("HERE", MAX_CHARS));
    }
}
