//! The hunks of a text difference as lines, with the words that differ marked.

use std::fmt::Write as _;

use promptd_core::diff::{Hunk, Line, LineKind, TextDiff};

use super::words::{limits, visible};

const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const CYAN: &str = "\u{1b}[36m";
const REVERSE: &str = "\u{1b}[7m";
const NOT_REVERSE: &str = "\u{1b}[27m";
const RESET: &str = "\u{1b}[0m";

/// How the words that differ inside a line are marked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Marks {
    /// By colour.
    Colour,
    /// As `git diff --word-diff` does: `[-before-]`, `{+after+}`.
    Brackets,
}

/// A text difference, each line behind `indent`.
pub(in super::super) fn render(diff: &TextDiff, marks: Marks, indent: &str) -> String {
    let mut out = String::new();
    for hunk in &diff.hunks {
        let range = range(hunk);
        let _ = match marks {
            Marks::Colour => writeln!(out, "{indent}{CYAN}{range}{RESET}"),
            Marks::Brackets => writeln!(out, "{indent}{range}"),
        };
        for line in &hunk.lines {
            let text = format!("{indent}{}", text(line, marks));
            // A blank line that both have leaves no white space at a line's end.
            let _ = writeln!(out, "{}", if line.kind == LineKind::Same { text.trim_end() } else { &text });
        }
    }
    for note in limits(diff) {
        let _ = writeln!(out, "{indent}({note})");
    }
    out
}

/// `@@ -3,7 +3,8 @@`
fn range(hunk: &Hunk) -> String {
    let count = |other: LineKind| hunk.lines.iter().filter(|line| line.kind != other).count();
    let (before, after) = (count(LineKind::Added), count(LineKind::Removed));
    format!("@@ -{},{before} +{},{after} @@", hunk.before_line, hunk.after_line)
}

fn text(line: &Line, marks: Marks) -> String {
    let (sign, colour, open, close) = match line.kind {
        LineKind::Same => (' ', "", "", ""),
        LineKind::Removed => ('-', RED, "[-", "-]"),
        LineKind::Added => ('+', GREEN, "{+", "+}"),
    };
    let mut out = String::from(sign);
    for piece in &line.pieces {
        let text = visible(&piece.text);
        let (before, after) = match marks {
            _ if !piece.changed => ("", ""),
            Marks::Colour => (REVERSE, NOT_REVERSE),
            Marks::Brackets => (open, close),
        };
        out.extend([before, &text, after]);
    }
    if marks == Marks::Colour && !colour.is_empty() { format!("{colour}{out}{RESET}") } else { out }
}
