//! Cutting a text into the pieces that an encoding looks at alone: words, numbers, marks, white space.
//!
//! Each encoding defines its pieces by a regular expression with look-ahead. These are its rules written out: an engine
//! that knows look-ahead takes many times as long, keeps a stack entry for each space of a run and fails at a million of
//! them.

use super::class::{self, CASELESS, LETTER, LOWER, MARK, NEWLINE, NUMBER, OTHER, SPACE, UPPER, WHITE};

/// What may come before a word, as the first character of its token.
const LEAD: u8 = MARK | SPACE | OTHER;
/// What may begin a cased word.
const HEAD: u8 = UPPER | CASELESS | MARK;
/// What may end a cased word.
const TAIL: u8 = LOWER | CASELESS | MARK;

/// How an encoding cuts: where the piece ends that begins at a place before the text's end.
pub(super) type Cut = fn(&str, usize) -> usize;

/// The pieces of `o200k_base`. A word ends where its case goes back up, and keeps its contraction.
pub(super) fn o200k(text: &str, at: usize) -> usize {
    if let Some(end) = ascii_word(text, at, UPPER) {
        return contraction(text, end).unwrap_or(end);
    }
    let lead = class::next(text, at).filter(|(class, _)| class & LEAD != 0).map(|(_, after)| after);
    let word = lead.and_then(|lead| cased(text, lead)).or_else(|| cased(text, at));
    let word = word.or_else(|| lead.and_then(|lead| run(text, lead, HEAD))).or_else(|| run(text, at, HEAD));
    match word {
        Some(end) => contraction(text, end).unwrap_or(end),
        None => {
            number(text, at).or_else(|| signs(text, at, |c| matches!(c, b'\r' | b'\n' | b'/'))).unwrap_or_else(|| {
                let (end, lines) = white(text, at);
                lines.unwrap_or_else(|| before_word(text, at, end))
            })
        }
    }
}

/// The pieces of `cl100k_base`. A contraction is a piece, and so is the white space at the text's end.
pub(super) fn cl100k(text: &str, at: usize) -> usize {
    if let Some(end) = ascii_word(text, at, UPPER | LOWER).filter(|_| contraction(text, at).is_none()) {
        return end;
    }
    let lead = class::next(text, at).filter(|(class, _)| class & LEAD != 0).map(|(_, after)| after);
    contraction(text, at)
        .or_else(|| run(text, lead.unwrap_or(at), LETTER))
        .or_else(|| number(text, at))
        .or_else(|| signs(text, at, |c| matches!(c, b'\r' | b'\n')))
        .unwrap_or_else(|| {
            let (end, lines) = white(text, at);
            if end == text.len() { end } else { lines.unwrap_or_else(|| before_word(text, at, end)) }
        })
}

/// A word of ASCII letters, those of `head` and then small ones, with what may come before it: most words are such. `None`: there
/// is none, or what follows it is not ASCII and may belong to it.
#[inline]
fn ascii_word(text: &str, at: usize, head: u8) -> Option<usize> {
    let start = at + usize::from(class::of_byte(text, at) & LEAD != 0);
    let mut end = start;
    while class::of_byte(text, end) & head != 0 {
        end += 1;
    }
    while class::of_byte(text, end) == LOWER {
        end += 1;
    }
    (end > start && class::of_byte(text, end) != 0).then_some(end)
}

/// The end of the run of characters of `classes` at a place; `None`: there is no run.
fn run(text: &str, at: usize, classes: u8) -> Option<usize> {
    let mut end = at;
    while let Some((class, after)) = class::next(text, end)
        && class & classes != 0
    {
        end = after;
    }
    (end > at).then_some(end)
}

/// A word that ends in [`TAIL`], after as much of [`HEAD`] as there is.
fn cased(text: &str, at: usize) -> Option<usize> {
    let (mut end, mut both) = (at, None);
    while let Some((class, after)) = class::next(text, end)
        && class & HEAD != 0
    {
        end = after;
        both = if class & TAIL != 0 { Some(end) } else { both };
    }
    run(text, end, TAIL).or(both)
}

/// `'s` and the like, in upper and lower case; `ſ` is an `s` too.
fn contraction(text: &str, at: usize) -> Option<usize> {
    let rest = text.as_bytes()[at..].strip_prefix(b"'")?;
    let length = match rest {
        [b's' | b'S' | b't' | b'T' | b'm' | b'M' | b'd' | b'D', ..] => 1,
        [b'r' | b'R' | b'v' | b'V', b'e' | b'E', ..] | [b'l' | b'L', b'l' | b'L', ..] => 2,
        _ if rest.starts_with("ſ".as_bytes()) => 2,
        _ => return None,
    };
    Some(at + 1 + length)
}

/// Up to three digits.
fn number(text: &str, at: usize) -> Option<usize> {
    let mut end = at;
    for _ in 0..3 {
        match class::next(text, end) {
            Some((NUMBER, after)) => end = after,
            _ => break,
        }
    }
    (end > at).then_some(end)
}

/// Signs, with a space before them and what closes a line after them.
fn signs(text: &str, at: usize, closes: fn(u8) -> bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let start = if bytes[at] == b' ' { at + 1 } else { at };
    let end = run(text, start, MARK | OTHER)?;
    Some(end + bytes[end..].iter().take_while(|&&c| closes(c)).count())
}

/// Where the white space at a place ends, and where the last line end in it does.
fn white(text: &str, at: usize) -> (usize, Option<usize>) {
    let (mut end, mut lines) = (at, None);
    while let Some((class, after)) = class::next(text, end)
        && class & WHITE != 0
    {
        end = after;
        lines = if class == NEWLINE { Some(end) } else { lines };
    }
    (end, lines)
}

/// White space without its last character, which goes to the word that follows it.
fn before_word(text: &str, at: usize, end: usize) -> usize {
    match text[at..end].char_indices().next_back() {
        Some((last, _)) if last > 0 && end < text.len() => at + last,
        _ => end,
    }
}
