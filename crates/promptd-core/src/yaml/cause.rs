//! The place of a fault of the syntax. The parser notices some lines after their cause: a bracket that is never closed, at
//! what cannot be inside of it.

use saphyr_parser::ScanError;

use super::{
    Fault, Mark,
    parse::{position, syntax},
};
use crate::text::measure;

/// What the parser says of a line that should be a key, at the next one.
const NO_COLON: &str = "simple key expect ':'";

/// The fault that ended the parser, at its cause. It had taken the text up to `read`, and the lists and maps that begin
/// at `open` were open.
pub(super) fn of(error: &ScanError, text: &str, read: Mark, open: impl Iterator<Item = Mark>) -> Fault {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let marker = error.marker();
    let mut has_text = lines.iter().take(marker.line().saturating_sub(1)).copied();
    if error.info() == NO_COLON {
        let words = |line: &str| !line.trim().is_empty() && !line.trim().starts_with('#');
        if let Some(line) = has_text.rposition(words) {
            return syntax(position(line + 1, indent(lines[line])), "a key without `:` behind it");
        }
    }
    // Behind the last line is where the parser notices that something is missing; the end of that line exists.
    let last = lines.iter().rposition(|line| !line.trim().is_empty()).unwrap_or_default();
    let at = if marker.line() > last + 1 {
        position(last + 1, lines.get(last).map_or(0, |line| measure::chars(line.trim_end())))
    } else {
        position(marker.line(), marker.col())
    };
    let open = open.filter_map(|at| bracket(text, offset(&lines, at))).collect();
    let Some(opened) = unclosed(text, open, offset(&lines, read), offset(&lines, at)) else {
        return syntax(at, error.info());
    };
    let before = &text[..opened.0];
    let column = measure::chars(before.rsplit('\n').next().unwrap_or_default());
    let message = format!("`{}` has no closing `{}`", opened.1, closing(opened));
    syntax(position(before.matches('\n').count() + 1, column), &message)
}

/// The bracket of the list or map that begins at the byte `at`, behind its anchor and its tag.
fn bracket(text: &str, at: usize) -> Option<Opened> {
    let mut rest = &text[at..];
    while rest.starts_with(['&', '!']) {
        rest = rest.trim_start_matches(|c: char| !c.is_whitespace()).trim_start();
    }
    rest.chars().next().filter(|c| matches!(c, '[' | '{')).map(|c| (text.len() - rest.len(), c))
}

/// The byte of the text that is at the mark.
fn offset(lines: &[&str], at: Mark) -> usize {
    let line = (at.line as usize).saturating_sub(1).min(lines.len());
    let column = at.column as usize - 1;
    lines[..line].iter().map(|line| line.len()).sum::<usize>()
        + lines.get(line).map_or(0, |line| measure::offset(line, column))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// A bracket that opens, and its place in the text, in bytes.
type Opened = (usize, char);

/// Finds the innermost bracket that is open at the byte `fault` and never closed. `open` are those that the parser had
/// read before the byte `from`, outermost first.
fn unclosed(text: &str, mut open: Vec<Opened>, from: usize, fault: usize) -> Option<Opened> {
    let mut rest = text[from..].char_indices().map(|(at, c)| (from + at, c)).peekable();
    // Whether a bracket or quote would be one here; within a plain scalar it is text.
    let mut at_start = true;
    let mut before = ' ';
    while let Some((at, c)) = rest.next() {
        if open.is_empty() && at > fault {
            return None;
        }
        match c {
            '\n' if open.first().is_some_and(|(first, _)| ends_flow(&text[at + 1..], text, *first)) => {
                return open.pop();
            }
            '\n' => at_start |= open.is_empty(),
            '#' if before.is_whitespace() => while rest.next_if(|(_, c)| *c != '\n').is_some() {},
            '"' | '\'' if at_start => {
                skip_quoted(&mut rest, c)?;
                at_start = false;
            }
            // An anchor or a tag before a value.
            '&' | '!' if at_start => while rest.next_if(|(_, c)| !c.is_whitespace()).is_some() {},
            '[' | '{' if at_start => open.push((at, c)),
            ']' | '}' if !open.is_empty() => {
                let innermost = open.pop()?;
                if closing(innermost) != c {
                    return Some(innermost);
                }
                at_start = false;
            }
            ',' if !open.is_empty() => at_start = true,
            ':' | '-' | '?' if rest.peek().is_none_or(|(_, next)| next.is_whitespace()) => at_start = true,
            c => at_start &= c.is_whitespace(),
        }
        before = c;
    }
    open.pop()
}

/// What closes it.
fn closing((_, bracket): Opened) -> char {
    if bracket == '[' { ']' } else { '}' }
}

/// Goes behind the closing quote; `None` where there is not one.
fn skip_quoted(rest: &mut impl Iterator<Item = (usize, char)>, quote: char) -> Option<()> {
    let mut escaped = false;
    loop {
        let (_, c) = rest.next()?;
        if c == quote && !escaped {
            return Some(());
        }
        escaped = quote == '"' && c == '\\' && !escaped;
    }
}

/// Whether the line that `rest` begins with cannot be inside the bracket at `opened`: it is indented no deeper than the
/// bracket's own line. A bracket that begins the file may have any line.
fn ends_flow(rest: &str, text: &str, opened: usize) -> bool {
    let own = text[..opened].rfind('\n').map_or(text, |end| &text[end + 1..]);
    let line = rest.split('\n').next().unwrap_or_default();
    !own.starts_with(['[', '{'])
        && indent(line) <= indent(own)
        && !line.trim_start().is_empty()
        && !line.trim_start().starts_with([']', '}', '#'])
}
