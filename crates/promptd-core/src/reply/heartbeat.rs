//! The acknowledgement of a heartbeat.

use crate::text::hidden::is_hidden;

/// What an agent answers to a heartbeat when it has nothing to say.
pub const TOKEN: &str = "HEARTBEAT_OK";

/// The longest HTML tag that counts as wrapping. Unwrapping looks this far at each step, so it must be short.
const MAX_TAG_BYTES: usize = 128;

/// Whether nothing is left of the text once its wrapping is taken off.
pub(super) fn is_nothing(text: &str) -> bool {
    unwrap(text).is_empty()
}

/// The text without the token, where that is all of it, or is alone on the first or last line. Wrapping around the token
/// goes with it; an opening or closing part of what the text is wrapped in stays.
pub(super) fn without_token(text: &str) -> String {
    if is_token(text) {
        return String::new();
    }
    let (mut head, mut rest, mut tail) = (String::new(), text, Vec::new());
    while let Some((marks, after)) = without_first_line(rest) {
        head.push_str(&marks.text);
        if marks.own_line {
            head.push('\n');
        }
        rest = after;
    }
    while let Some((before, marks)) = without_last_line(rest) {
        if !marks.text.is_empty() {
            tail.push(if marks.own_line { format!("\n{}", marks.text) } else { marks.text });
        }
        rest = before;
    }
    head + rest + &tail.into_iter().rev().collect::<String>()
}

/// Whether the token is anywhere in the text.
pub(super) fn contains_token(text: &str) -> bool {
    tokens(text).next().is_some()
}

/// The text without any token, trimmed.
pub(super) fn without_any_token(text: &str) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut kept = 0;
    for at in tokens(text) {
        rest.push_str(&text[kept..at]);
        kept = at + TOKEN.len();
    }
    rest.push_str(&text[kept..]);
    rest.trim().to_owned()
}

/// Where the token is a word by itself.
fn tokens(text: &str) -> impl Iterator<Item = usize> {
    let of_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(TOKEN)
        .map(|(at, _)| at)
        .filter(move |&at| !text[..at].ends_with(of_word) && !text[at + TOKEN.len()..].starts_with(of_word))
}

fn without_first_line(text: &str) -> Option<(Marks, &str)> {
    let text = skip_blank_lines(text);
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    around_token(line).map(|marks| (marks, skip_blank_lines(rest)))
}

fn without_last_line(text: &str) -> Option<(&str, Marks)> {
    let text = text.trim_end();
    let (rest, line) = text.rsplit_once('\n').unwrap_or(("", text));
    around_token(line).map(|marks| (rest.trim_end(), marks))
}

/// What is around a token and belongs to the text: opening marks without their closing ones, and the other way round.
struct Marks {
    text: String,
    /// Tags and fences keep their line; emphasis must touch what it is about.
    own_line: bool,
}

/// The marks of a line that says the token and nothing else.
fn around_token(line: &str) -> Option<Marks> {
    let inner = unwrap(line);
    if inner != TOKEN {
        return None;
    }
    let before = inner.as_ptr() as usize - line.as_ptr() as usize;
    let mut open: Vec<&str> = Vec::new();
    for mark in marks(&line[..before]).chain(marks(&line[before + TOKEN.len()..])) {
        match open.last() {
            Some(last) if closes(mark, last) => drop(open.pop()),
            _ => open.push(mark),
        }
    }
    let own_line = open.iter().any(|mark| mark.starts_with('<') || mark.starts_with("```") || mark.starts_with("~~~"));
    Some(Marks { text: open.concat(), own_line })
}

/// HTML tags and runs of one mark; tags that hold nothing are left out.
fn marks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c| !matches!(c, '<' | '*' | '_' | '~' | '`'));
        let mark = rest.chars().next()?;
        let end = if mark == '<' {
            rest.find('>').map_or(rest.len(), |end| end + 1)
        } else {
            rest.len() - rest.trim_start_matches(mark).len()
        };
        let (mark, after) = rest.split_at(end);
        rest = after;
        Some(mark)
    })
    .filter(|mark| !mark.ends_with("/>") && !matches!(tag_name(mark), "br" | "hr" | "wbr" | "img"))
}

fn closes(mark: &str, open: &str) -> bool {
    if !mark.starts_with('<') {
        return mark == open;
    }
    mark.starts_with("</") && !open.starts_with("</") && tag_name(mark).eq_ignore_ascii_case(tag_name(open))
}

fn tag_name(mark: &str) -> &str {
    let inner = mark.trim_start_matches(['<', '/']);
    &inner[..inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inner.len())]
}

fn skip_blank_lines(text: &str) -> &str {
    let blank = text.len() - text.trim_start().len();
    text[..blank].rfind('\n').map_or(text, |line_end| &text[line_end + 1..])
}

fn is_token(text: &str) -> bool {
    unwrap(text) == TOKEN || without_fence_info(text).is_some_and(|code| unwrap(code) == TOKEN)
}

/// The text without surrounding white space, emphasis, code marks, HTML tags and final punctuation.
fn unwrap(text: &str) -> &str {
    let mark = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '~' | '`') || is_hidden(c);
    let final_mark = |c: char| mark(c) || matches!(c, '.' | '!' | '?' | ',' | ';' | ':' | '…' | '。' | '！' | '？');
    let mut rest = text;
    loop {
        let inner = without_tags(rest.trim_start_matches(mark).trim_end_matches(final_mark));
        if inner.len() == rest.len() {
            return inner;
        }
        rest = inner;
    }
}

/// The text without an HTML tag at its beginning and one at its end.
fn without_tags(text: &str) -> &str {
    let text = match text.bytes().take(MAX_TAG_BYTES).position(|b| b == b'>') {
        Some(end) if is_html_tag(&text[..=end]) => &text[end + 1..],
        _ => text,
    };
    match text.bytes().rev().take(MAX_TAG_BYTES).position(|b| b == b'<') {
        Some(back) if is_html_tag(&text[text.len() - back - 1..]) => &text[..text.len() - back - 1],
        _ => text,
    }
}

fn is_html_tag(text: &str) -> bool {
    let inner = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    inner.is_some_and(|inner| {
        inner.trim_start_matches('/').starts_with(|c: char| c.is_ascii_alphabetic()) && !inner.contains(['<', '>'])
    })
}

/// What follows the first line of a code fence that names a language.
fn without_fence_info(text: &str) -> Option<&str> {
    let (line, code) = text.trim_start().split_once('\n')?;
    let info = line.strip_prefix("```").or_else(|| line.strip_prefix("~~~"))?.trim();
    info.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+')).then_some(code)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn unwrapping_takes_linear_time() {
        let start = Instant::now();
        let half = 1 << 17;
        for text in [
            format!("x{}{}", "a".repeat(half), "<b>*".repeat(half / 4)),
            format!("<{}{}", "a".repeat(half), "<b>*".repeat(half / 4)),
            format!("{}{}>", "<b>*".repeat(half / 4), "a".repeat(half)),
            "HEARTBEAT_OK\n".repeat(half / 6),
            "\n ".repeat(half),
            "*_".repeat(half),
        ] {
            let _ = (is_nothing(&text), without_token(&text), without_any_token(&text));
        }
        // Quadratic time would be many minutes.
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    }

    #[test]
    fn only_thin_wrapping_comes_off() {
        for (text, inner) in [
            ("<div class=\"a\">*x*.</div>", "x"),
            ("a < b > c", "a < b > c"),
            ("<3", "<3"),
            ("(x)", "(x)"),
            ("- x", "- x"),
            ("?x", "?x"),
            ("\u{200b}x\u{feff}", "x"),
        ] {
            assert_eq!(unwrap(text), inner);
        }
    }
}
