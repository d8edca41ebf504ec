//! Reading on behind a fault of the syntax: the other faults of the file are reported with it.

use std::ops::Range;

use super::{
    Fault, Faults, Mark, Node,
    parse::{Broken, MAX_YAML_BYTES, UNKNOWN_ANCHOR, parse_once},
};

/// How many faults of the syntax are gone beyond; each costs a pass over the text.
const MAX_RECOVERIES: usize = 8;

/// Parses `text` and decodes it. The error has every fault: those of the syntax, and those that `decode` finds in what
/// could be read beside them. An empty text is a null.
pub fn read<T>(text: &str, decode: impl FnOnce(&Node, &Faults) -> T) -> Result<T, Vec<Fault>> {
    let faults = Faults::default();
    let value = recover(text, &faults).map(|root| decode(&root, &faults));
    match value {
        Some(value) if faults.is_empty() => Ok(value),
        _ => Err(faults.into_vec()),
    }
}

/// What can be read of the text: an entry with a fault of the syntax is left out.
fn recover(text: &str, faults: &Faults) -> Option<Node> {
    let Broken { faults: mut found, mut root, mut lists } = match parse_once(text) {
        Ok(root) => return Some(root),
        Err(broken) => broken,
    };
    let mut text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
    for _ in 0..MAX_RECOVERIES {
        let last = found.last().map(|fault| fault.at);
        // What is left out may have the anchor.
        found.retain(|fault| !faults.is_partial() || fault.message != UNKNOWN_ANCHOR);
        found.drain(..).for_each(|fault| faults.push(fault));
        if root.is_some() || text.len() > MAX_YAML_BYTES {
            return root;
        }
        text = without_entry(&text, last?, &lists)?;
        faults.partial.set(true);
        Broken { faults: found, root, lists } = match parse_once(&text) {
            Ok(root) => return Some(root),
            Err(broken) => broken,
        };
    }
    None
}

/// The text with empty lines for the entry that `at` is in: the innermost item of the block lists that begin in the
/// columns `lists`, or else a key of the root with its value. Lines keep their numbers.
fn without_entry(text: &str, at: Mark, lists: &[u32]) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let fault = (at.line as usize).checked_sub(1)?.min(lines.len().checked_sub(1)?);
    let key = |line: &str| indentation(line) == Some(0) && !line.starts_with(['-', ']', '}']);
    let item = |column: &u32| {
        let column = *column as usize - 1;
        let begins = |line: &str| indentation(line) == Some(column) && line[column..].starts_with('-');
        entry(&lines, fault, begins, |line| indentation(line).is_some_and(|own| own <= column))
    };
    let left_out = lists.iter().rev().find_map(item).or_else(|| entry(&lines, fault, key, key))?;
    let line = |(index, line): (usize, &&str)| if left_out.contains(&index) { "\n" } else { *line }.to_owned();
    Some(lines.iter().enumerate().map(line).collect())
}

/// The lines of the entry that the line `inside` is in.
fn entry(
    lines: &[&str],
    inside: usize,
    begins: impl Fn(&str) -> bool,
    ends: impl Fn(&str) -> bool,
) -> Option<Range<usize>> {
    let first = lines[..=inside].iter().rposition(|line| begins(line))?;
    let rest = &lines[first + 1..];
    Some(first..first + 1 + rest.iter().position(|line| ends(line)).unwrap_or(rest.len()))
}

/// How far a line is indented; `None` for one that is blank or a comment.
fn indentation(line: &str) -> Option<usize> {
    let text = line.trim_start_matches(' ');
    (!text.trim().is_empty() && !text.starts_with('#')).then(|| line.len() - text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Fields;

    /// The faults of a file whose keys are `a` and `b`, numbers, `c`, a list of mappings with `id`, and `d`, texts.
    fn faults(text: &str) -> Vec<String> {
        let decode = |root: &Node, faults: &Faults| {
            let mut fields = Fields::root(root, faults);
            let (a, b) = (fields.count("a"), fields.count("b"));
            for mut item in fields.each("c") {
                item.text("id");
                item.finish();
            }
            fields.texts("d");
            fields.finish();
            (a, b)
        };
        let faults = read(text, decode).unwrap_err();
        faults.iter().map(|fault| format!("{}:{} {}", fault.at.line, fault.at.column, fault.message)).collect()
    }

    #[test]
    fn a_fault_of_the_syntax_hides_no_other() {
        const A: &str = "`a` must be a whole number, 0 or more, not text";
        const B: &str = "`b` must be a whole number, 0 or more, not text";
        let rows: &[(&str, &[&str])] = &[
            // Before and after it, and a second one.
            ("a: x\nd: [y\nb: x\n", &[&format!("1:4 {A}"), "2:4 `[` has no closing `]`", &format!("3:4 {B}")]),
            ("d: {x: 1\nb: x\n", &["1:4 `{` has no closing `}`", &format!("2:4 {B}")]),
            (
                "d: 'it's'\na: x\nb: @\n",
                &[
                    "1:8 invalid trailing content after double-quoted scalar",
                    &format!("2:4 {A}"),
                    "3:4 unexpected character: `@'",
                ],
            ),
            ("d:\n- x\n- [y\na: x\n", &["3:3 `[` has no closing `]`", &format!("4:4 {A}")]),
            // Within a list the other items are read.
            (
                "c:\n  - id: 1\n    - x\n  - id: 2\n\n  # why\n  - ie: x\nb: x\n",
                &[
                    "3:7 while parsing a block mapping, did not find expected key",
                    "4:9 `c[0].id` must be text; write \"2\" to mean the text, not a number",
                    "7:5 unknown key `c[1].ie`; did you mean `id`?",
                    &format!("8:4 {B}"),
                ],
            ),
            // A key that is there twice ends nothing.
            ("a: 1\na: 2\nb: x\n", &["2:1 duplicate key `a`", &format!("3:4 {B}")]),
            // What an anchor was on cannot be found any more, and that is not a fault of its own.
            ("d: &x [y\na: *x\nb: x\n", &["1:7 `[` has no closing `]`", &format!("3:4 {B}")]),
            ("c: []\na\nb: x\n", &["2:1 a key without `:` behind it", &format!("3:4 {B}")]),
        ];
        for (text, wanted) in rows {
            assert_eq!(faults(text), *wanted, "{text:?}");
        }
    }
}
