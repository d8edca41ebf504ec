//! Characters that a person does not see and a model reads.
//!
//! Joiners are only hidden where they join nothing: Persian and the Indic scripts spell with them, and emoji are built
//! with them, with variation selectors and, for three flags, with tag characters.

use std::{borrow::Cow, fmt::Write as _, ops::Range};

use crate::text::hidden::{is_hidden, is_tag, tag_flag};

/// How many code points of one run are spelled out in a message.
const SPELLED: usize = 8;

/// The runs of hidden characters, as byte ranges.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    if text.is_ascii() || !text.contains(is_candidate) {
        return Vec::new();
    }
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut line = Line { text, start: 0, right_to_left: None };
    let mut at = 0;
    while let Some((offset, c)) = chars.get(at).copied() {
        at += 1;
        if let Some(flag) = tag_flag(&text[offset..]) {
            at += flag.chars().count() - 1;
        } else if c == '\n' {
            line = Line { text, start: offset + 1, right_to_left: None };
        } else if is_candidate(c) {
            // A hidden character is not a neighbour that could be spelt with.
            let hidden_before = runs.last().is_some_and(|run| run.end == offset);
            let before = if hidden_before { None } else { at.checked_sub(2).map(|i| chars[i].1) };
            let after = chars.get(at).map(|(_, c)| *c).filter(|c| !is_candidate(*c));
            if !is_spelling(c, before, after, &mut line) {
                let end = offset + c.len_utf8();
                match runs.last_mut() {
                    Some(run) if run.end == offset => run.end = end,
                    _ => runs.push(offset..end),
                }
            }
        }
    }
    runs
}

/// Without hidden characters.
pub(in crate::workspace) fn without_hidden(text: &str) -> String {
    drop_runs(text, |_| true)
}

/// Without tag characters, except for those that spell a flag.
pub(in crate::workspace) fn without_tags(text: &str) -> String {
    drop_runs(text, is_tag)
}

fn drop_runs(text: &str, which: impl Fn(char) -> bool) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for run in find(text) {
        kept.push_str(&text[from..run.start]);
        kept.extend(text[run.clone()].chars().filter(|c| !which(*c)));
        from = run.end;
    }
    kept + &text[from..]
}

/// `line` without what cannot be seen, joiners and soft hyphens included: what a forged line looks like.
pub(super) fn without_invisible(line: &str) -> Cow<'_, str> {
    if has_invisible(line) { line.replace(is_invisible, "").into() } else { line.into() }
}

/// Whether there is anything that cannot be seen, honest or not.
pub(super) fn has_invisible(text: &str) -> bool {
    !text.is_ascii() && text.contains(is_invisible)
}

fn is_invisible(c: char) -> bool {
    is_candidate(c) || matches!(c, '\u{ad}' | '\u{34f}')
}

/// The code points by number, the first few of many.
pub(super) fn escape(run: &str) -> String {
    let mut shown = String::new();
    for c in run.chars().take(SPELLED) {
        let _ = write!(shown, "{}U+{:04X}", if shown.is_empty() { "" } else { " " }, u32::from(c));
    }
    let count = run.chars().count();
    if count > SPELLED {
        let _ = write!(shown, " … ({count} in a row)");
    }
    shown
}

fn is_candidate(c: char) -> bool {
    is_hidden(c)
        || is_variation_selector(c)
        || matches!(c, '\u{200c}' | '\u{200d}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
}

/// Whether the character belongs there: it changes how its neighbours look.
fn is_spelling(c: char, before: Option<char>, after: Option<char>, line: &mut Line<'_>) -> bool {
    match c {
        '\u{200c}' | '\u{200d}' => {
            before.is_some_and(joins) || (before.is_some_and(is_pictograph) && after.is_some_and(is_pictograph))
        }
        '\u{200e}' | '\u{200f}' | '\u{61c}' => line.has_right_to_left(),
        // Thai, Lao, Khmer and Burmese break words with it.
        '\u{200b}' => before.is_some_and(breaks_words) || after.is_some_and(breaks_words),
        _ if is_variation_selector(c) => {
            before.is_some_and(|b| !b.is_whitespace() && !b.is_ascii_alphabetic() && !is_candidate(b))
        }
        _ => false,
    }
}

fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Letters of the scripts that spell with joiners: Arabic, Syriac, the Indic ones, Khmer, Mongolian and their kin.
fn joins(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{109f}' | '\u{1780}'..='\u{180d}' | '\u{1810}'..='\u{18af}' | '\u{1900}'..='\u{1cff}'
        | '\u{a800}'..='\u{abff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10a00}'..='\u{11fff}'
        | '\u{1e900}'..='\u{1e95f}')
}

fn breaks_words(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{19e0}'..='\u{19ff}')
}

/// Emoji, and what may end one: a variation selector, a keycap, the end of a flag.
fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{1f000}'..='\u{1faff}' | '\u{2190}'..='\u{2bff}' | '\u{fe0f}' | '\u{20e3}' | '\u{e007f}' | '\u{a9}'
        | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}')
}

/// The line being read; whether it has right-to-left letters is found out once, and only if asked.
struct Line<'t> {
    text: &'t str,
    start: usize,
    right_to_left: Option<bool>,
}

impl Line<'_> {
    fn has_right_to_left(&mut self) -> bool {
        let letter = |c: char| {
            matches!(c, '\u{5d0}'..='\u{608}' | '\u{620}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
                | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
        };
        *self
            .right_to_left
            .get_or_insert_with(|| self.text[self.start..].split('\n').next().unwrap_or_default().contains(letter))
    }
}
