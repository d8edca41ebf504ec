//! Repairs the commonest fault of front matter: a value with a colon and without quotes.

use std::fmt::Write as _;

use crate::text::clamped;

/// Puts plain values with `: ` in them in quotes and keeps the lines. Returns the text and, for each repaired value, its
/// 1-based line and key.
pub(super) fn repair(yaml: &str) -> (String, Vec<(u32, String)>) {
    let lines: Vec<&str> = yaml.lines().collect();
    let mut text = String::with_capacity(yaml.len() + 16);
    let mut repaired = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        // Looked at only below a key, so that every line is looked at once.
        let end = || at + 1 + continuation(&lines[at + 1..], indent(line));
        match value_of(line) {
            Some((key, value)) if is_plain(value) => {
                let end = end();
                let whole = fold(value, &lines[at + 1..end]);
                if has_colon(&whole) {
                    repaired.push((clamped(at + 1), key.trim().to_owned()));
                    let _ = writeln!(text, "{key}: '{}'", whole.replace('\'', "''"));
                    text.extend((at + 1..end).map(|_| '\n'));
                } else {
                    push_lines(&mut text, &lines[at..end]);
                }
                at = end;
            }
            // A block's lines are text: they are not looked at.
            Some((_, value)) if value.starts_with(['|', '>']) => {
                let end = end();
                push_lines(&mut text, &lines[at..end]);
                at = end;
            }
            _ => {
                push_lines(&mut text, &lines[at..=at]);
                at += 1;
            }
        }
    }
    (text, repaired)
}

fn push_lines(text: &mut String, lines: &[&str]) {
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// How many of the lines belong to a value that began at `indent`: those further in, and blank ones between them.
fn continuation(lines: &[&str], than: usize) -> usize {
    let inside = |line: &&str| line.trim().is_empty() || indent(line) > than;
    let reach = lines.iter().take_while(|line| inside(line)).count();
    lines[..reach].iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1)
}

/// `key: value`, the key with its indentation.
fn value_of(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(": ")?;
    let word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_key = !key.trim().is_empty() && key.trim_start().chars().all(word);
    is_key.then_some((key, value.trim()))
}

/// Whether the value is written neither with quotes nor as a list, mapping, block, anchor, alias or tag.
fn is_plain(value: &str) -> bool {
    !value.is_empty() && !value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '!', '#'])
}

fn has_colon(value: &str) -> bool {
    value.contains(": ") || value.ends_with(':')
}

/// The lines of a plain value as YAML folds them.
fn fold(first: &str, rest: &[&str]) -> String {
    let lines = [first].into_iter().chain(rest.iter().copied()).map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}
