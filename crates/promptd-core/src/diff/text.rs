//! Two texts as hunks of lines, with the words inside lines that differ.

use similar::{Algorithm, ChangeTag, DiffOp, DiffTag, group_diff_ops};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::text::clamped;

/// How many equal lines are shown around a difference.
const CONTEXT_LINES: usize = 3;

/// What differs between two texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextDiff {
    /// The places that differ, with the lines around each, in order.
    pub hunks: Vec<Hunk>,
    /// The texts were too long to be compared line by line: everything between the first and the last line that differs is
    /// shown as replaced, or lines are shown without the words that differ.
    pub coarse: bool,
    /// How many lines more differ than are shown.
    pub lines_left_out: u64,
}

/// One place that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Its first line in the first text; 1-based.
    pub before_line: u32,
    /// Its first line in the second text; 1-based.
    pub after_line: u32,
    /// The lines of both.
    pub lines: Vec<Line>,
}

/// One line, without its line feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Which text has it.
    pub kind: LineKind,
    /// Its text in pieces.
    pub pieces: Vec<Piece>,
}

/// Which text has a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Both.
    Same,
    /// The first.
    Removed,
    /// The second.
    Added,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// These words differ within a line that is otherwise alike.
    pub changed: bool,
    /// The words.
    pub text: String,
}

/// How much a difference may still cost, so that no input takes long: comparing is quadratic in what differs. It is counted
/// and not timed, so that the same prompts have the same difference everywhere.
#[derive(Debug)]
pub(super) struct Effort {
    /// Steps of comparing.
    steps: u64,
    /// Lines to show.
    lines: u64,
}

/// The steps for all sections of a prompt together: about half a second.
const MAX_STEPS: u64 = 400_000_000;
/// The lines shown of all sections of a prompt together.
const MAX_LINES: u64 = 5_000;

impl Default for Effort {
    fn default() -> Self {
        Self { steps: MAX_STEPS, lines: MAX_LINES }
    }
}

impl Effort {
    /// Whether so many and so many items can be compared.
    fn allows(&mut self, before: usize, after: usize) -> bool {
        let items = before as u64 + after as u64;
        // What Myers' algorithm takes at worst.
        let steps = items.saturating_mul(items);
        let is_allowed = steps <= self.steps;
        if is_allowed {
            self.steps -= steps;
        }
        is_allowed
    }
}

impl TextDiff {
    /// Whether the texts are the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hunks.is_empty() && self.lines_left_out == 0
    }

    /// What differs between two texts, in bounded time.
    #[must_use]
    pub fn of(before: &str, after: &str) -> Self {
        Self::new(before, after, &mut Effort::default())
    }

    pub(super) fn new(before: &str, after: &str, effort: &mut Effort) -> Self {
        let mut diff = Self::default();
        if before == after {
            return diff;
        }
        let (before, after) = (terminated(before), terminated(after));
        let (old, new) = (lines(&before), lines(&after));
        let compared = Compared::new(&old, &new, effort);
        diff.coarse = compared.text.is_none();
        for group in group_diff_ops(compared.ops.clone(), CONTEXT_LINES) {
            diff.add_hunk(&group, &compared, effort);
        }
        diff
    }

    fn add_hunk<'t>(&mut self, ops: &[DiffOp], compared: &'t Compared<'t>, effort: &mut Effort) {
        let Some(first) = ops.first() else { return };
        let line = |range: std::ops::Range<usize>| clamped(range.start + 1);
        let (before_line, after_line) = (line(first.old_range()), line(first.new_range()));
        let mut lines = Vec::new();
        for op in ops {
            for line in self.lines(op, compared, effort) {
                if effort.lines > 0 {
                    effort.lines -= 1;
                    lines.push(line);
                } else if line.kind != LineKind::Same {
                    self.lines_left_out += 1;
                }
            }
        }
        if lines.iter().any(|line| line.kind != LineKind::Same) {
            self.hunks.push(Hunk { before_line, after_line, lines });
        }
    }

    fn lines<'t>(&mut self, op: &DiffOp, compared: &'t Compared<'t>, effort: &mut Effort) -> Vec<Line> {
        let words = |lines: &[&str]| lines.iter().map(|line| line.split_word_bounds().count()).sum::<usize>();
        if let Some(diff) = compared.text.as_ref().filter(|_| op.tag() == DiffTag::Replace) {
            if effort.allows(words(&compared.old[op.old_range()]), words(&compared.new[op.new_range()])) {
                let changes = diff.iter_inline_changes_deadline(op, None);
                return changes.map(|change| line(change.tag(), change.values())).collect();
            }
            self.coarse = true;
        }
        op.iter_changes(compared.old, compared.new)
            .map(|change| line(change.tag(), &[(false, change.value())]))
            .collect()
    }
}

/// Two lists of lines, compared.
struct Compared<'t> {
    old: &'t [&'t str],
    new: &'t [&'t str],
    ops: Vec<DiffOp>,
    /// `None`: there were too many lines to compare.
    text: Option<similar::TextDiff<'t, 't, 't, str>>,
}

impl<'t> Compared<'t> {
    fn new(old: &'t [&'t str], new: &'t [&'t str], effort: &mut Effort) -> Self {
        let front = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let rest = (&old[front..], &new[front..]);
        let back = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(|(a, b)| a == b).count();
        let (old_len, new_len) = (rest.0.len() - back, rest.1.len() - back);
        // One list that only adds to the other is compared in no time.
        if old_len == 0 || new_len == 0 || effort.allows(old_len, new_len) {
            let text = similar::TextDiff::configure().algorithm(Algorithm::Myers).diff_slices(old, new);
            return Self { old, new, ops: in_sequence(text.ops()), text: Some(text) };
        }
        let equal = |old_index, new_index, len| DiffOp::Equal { old_index, new_index, len };
        let replaced = DiffOp::Replace { old_index: front, old_len, new_index: front, new_len };
        let ops = [equal(0, 0, front), replaced, equal(front + old_len, front + new_len, back)];
        let ops = ops.into_iter().filter(|op| !op.old_range().is_empty()).collect();
        Self { old, new, ops, text: None }
    }
}

/// The operations with the places that each begins at: `similar` moves them along repeated lines, and then some have the
/// place of another in the text that they do not touch.
fn in_sequence(ops: &[DiffOp]) -> Vec<DiffOp> {
    let (mut old_index, mut new_index) = (0, 0);
    let place = |op: &DiffOp| {
        let (old_len, new_len) = (op.old_range().len(), op.new_range().len());
        let placed = match op.tag() {
            DiffTag::Equal => DiffOp::Equal { old_index, new_index, len: old_len },
            DiffTag::Delete => DiffOp::Delete { old_index, new_index, old_len },
            DiffTag::Insert => DiffOp::Insert { old_index, new_index, new_len },
            DiffTag::Replace => DiffOp::Replace { old_index, old_len, new_index, new_len },
        };
        old_index += old_len;
        new_index += new_len;
        placed
    };
    ops.iter().map(place).collect()
}

/// The text with a line feed at its end, so that its last line is one like all others. No text has no line.
fn terminated(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{text}\n") }
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn line(tag: ChangeTag, pieces: &[(bool, &str)]) -> Line {
    let kind = match tag {
        ChangeTag::Equal => LineKind::Same,
        ChangeTag::Delete => LineKind::Removed,
        ChangeTag::Insert => LineKind::Added,
    };
    let mut line = Line { kind, pieces: Vec::with_capacity(pieces.len()) };
    for &(changed, text) in pieces {
        let text = text.strip_suffix('\n').unwrap_or(text);
        match line.pieces.last_mut() {
            Some(last) if last.changed == changed => last.text.push_str(text),
            _ if text.is_empty() => {}
            _ => line.pieces.push(Piece { changed, text: text.to_owned() }),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn diff(before: &str, after: &str) -> TextDiff {
        TextDiff::new(before, after, &mut Effort::default())
    }

    /// As `diff -u` writes it, with what differs inside lines in brackets.
    fn shown(diff: &TextDiff) -> String {
        let mut out = String::new();
        for hunk in &diff.hunks {
            writeln!(out, "@ {} {}", hunk.before_line, hunk.after_line).unwrap();
            for line in &hunk.lines {
                out.push(match line.kind {
                    LineKind::Same => ' ',
                    LineKind::Removed => '-',
                    LineKind::Added => '+',
                });
                for piece in &line.pieces {
                    let (open, close) = if piece.changed { ("[", "]") } else { ("", "") };
                    out.extend([open, &piece.text, close]);
                }
                out.push('\n');
            }
        }
        out
    }

    #[test]
    fn words_inside_lines() {
        let (before, after) =
            ("# Rules\n\nAnswer in one sentence.\nBe kind.", "# Rules\n\nAnswer in two sentences.\nBe kind.\nCite.");
        insta::assert_snapshot!(shown(&diff(before, after)), @r"
        @ 1 1
         # Rules
         
        -Answer in [one] [sentence].
        +Answer in [two] [sentences].
         Be kind.
        +Cite.
        ");
        assert!(diff("a\n\n", "a\n\n").is_empty());
    }

    #[test]
    fn blank_lines_and_ends_of_lines_are_lines() {
        for (before, after, wanted) in [
            ("", "x", "@ 1 1\n+x\n"),
            ("x\n", "", "@ 1 1\n-x\n-\n"),
            ("a", "a\n", "@ 1 1\n a\n+\n"),
            ("a\n\n\n", "b", "@ 1 1\n-a\n-\n-\n-\n+b\n"),
            ("a\r\nb", "a\nb", "@ 1 1\n-a\r\n+a\n b\n"),
        ] {
            assert_eq!(shown(&diff(before, after)).replace("[\r]", "\r"), wanted, "{before:?} {after:?}");
        }
    }

    #[test]
    fn far_places_are_hunks_of_their_own() {
        let text = |first: &str, last: &str| format!("{first}\n{}{last}", "same\n".repeat(20));
        let found = diff(&text("a", "x"), &text("b", "y"));
        assert_eq!(found.hunks.iter().map(|hunk| hunk.before_line).collect::<Vec<_>>(), [1, 19]);
        assert!(!found.coarse);
    }

    #[test]
    fn what_is_too_long_to_compare_is_replaced_and_says_so() {
        let numbered = |word: &str, end: &str| -> String {
            (0..20_000).flat_map(|i| [word.to_owned(), i.to_string(), end.to_owned()]).collect()
        };
        let text = |word: &str| format!("first\n{}last", numbered(word, "\n"));
        let found = diff(&text("old"), &text("new"));
        assert!(found.coarse);
        let [hunk] = &found.hunks[..] else { panic!("{}", found.hunks.len()) };
        assert_eq!((hunk.lines.len() as u64, found.lines_left_out), (MAX_LINES, 40_000 - (MAX_LINES - 1)));
        let words = |word: &str| format!("{word} {}", numbered(word, " "));
        let found = diff(&words("a"), &words("b"));
        assert!(found.coarse && found.hunks[0].lines.len() == 2);
    }

    proptest! {
        #[test]
        fn the_lines_of_each_side_are_that_side(before in "[ab \n]{0,60}", after in "[ab \n]{0,60}", coarse: bool) {
            let mut effort = Effort { steps: if coarse { 0 } else { MAX_STEPS }, lines: MAX_LINES };
            let found = TextDiff::new(&before, &after, &mut effort);
            prop_assert_eq!(found.is_empty(), before == after);
            for (text, other, gone) in [(&before, LineKind::Added, true), (&after, LineKind::Removed, false)] {
                let text = terminated(text);
                let lines = lines(&text);
                for hunk in &found.hunks {
                    let first = if gone { hunk.before_line } else { hunk.after_line } as usize - 1;
                    let own: Vec<String> = hunk.lines.iter().filter(|line| line.kind != other)
                        .map(|line| line.pieces.iter().map(|piece| piece.text.as_str()).collect::<String>() + "\n").collect();
                    prop_assert_eq!(&own[..], &lines[first..first + own.len()]);
                }
            }
        }
    }
}
