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
    let skipped = start.saturating_sub(CHARS_BEFORE);
    let mut text = String::new();
    let mut span: Option<Range<usize>> = None;
    for (index, c) in line.chars().enumerate().skip(skipped).take(MAX_CHARS) {
        let from = text.len();
        text.push_str(&printable(c));
        let meant = if column == 0 { !c.is_whitespace() } else { index == start || (index > start && is_word(c)) };
        let goes_on = column == 0 || span.as_ref().is_none_or(|span| span.end == from);
        if meant && goes_on {
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

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
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
        assert_eq!(marked("a: \"x\"", 1, 4), pair("\"x", "a: \"x\""));
        assert_eq!(marked("a", 1, 9), pair("", "a"));
        assert_eq!(marked("a", 2, 1), None);
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
