//! Which bytes of a text are still there after it was changed.
//!
//! What is found to be the same is the same, byte by byte. Where a change ends is a guess that costs little: the nearest
//! place from which both texts go on alike.

use std::ops::Range;

/// Bytes of the changed text, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// Those of the text before.
    Same(Range<usize>),
    /// `len` bytes that took the place of those.
    Changed { from: Range<usize>, len: usize },
}

/// How many changes are looked for one by one; what follows them is one change.
const MAX_CHANGES: usize = 1_000;
/// How many bytes a change may take away or add at its place: `&#10;`, ` source="`, a flag made of tags.
const LARGEST_CHANGE: usize = 32;
/// How many bytes must be alike behind a change.
const ALIKE: usize = 8;

/// Characters and what they are escaped as; `&` is alike in both.
const ESCAPED: [(&str, &str); 6] =
    [("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&apos;"), ("\t", "&#9;"), ("\n", "&#10;")];

/// What became of `before` in `after`.
pub(super) fn align(before: &str, after: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut b, mut a) = (0, 0);
    // White space at the beginning that is not there any more.
    let trimmed = before.trim_start();
    if after.trim_start().len() == after.len() {
        b = before.len() - trimmed.len();
    }
    for _ in 0..MAX_CHANGES {
        let same = common_prefix(&before[b..], &after[a..]);
        if same > 0 {
            parts.push(Part::Same(b..b + same));
            (b, a) = (b + same, a + same);
        }
        if a == after.len() {
            return parts;
        }
        if before[..b].ends_with('&') && after[a..].starts_with("amp;") {
            shorten(&mut parts);
            parts.push(Part::Changed { from: b - 1..b, len: "&amp;".len() });
            a += "amp;".len();
            continue;
        }
        let Some((from, len)) = change(&before[b..], &after[a..]) else { break };
        parts.push(Part::Changed { from: b..b + from, len });
        (b, a) = (b + from, a + len);
    }
    let same = common_suffix(&before[b..], &after[a..]);
    parts.push(Part::Changed { from: b..before.len() - same, len: after.len() - same - a });
    if same > 0 {
        parts.push(Part::Same(before.len() - same..before.len()));
    }
    parts
}

/// Takes the last byte from what is the same.
fn shorten(parts: &mut Vec<Part>) {
    if let Some(Part::Same(range)) = parts.last_mut() {
        range.end -= 1;
        if range.start == range.end {
            parts.pop();
        }
    }
}

/// The smallest change behind which the texts go on alike, as bytes taken away and added; `None`: it is larger.
fn change(before: &str, after: &str) -> Option<(usize, usize)> {
    let escaped = |(c, escaped): &&(&str, &str)| before.starts_with(c) && after.starts_with(escaped);
    if let Some((c, escaped)) = ESCAPED.iter().find(escaped) {
        return Some((c.len(), escaped.len()));
    }
    let ends = |text: &str| -> Vec<usize> {
        (0..=LARGEST_CHANGE.min(text.len())).filter(|end| text.is_char_boundary(*end)).collect()
    };
    let (taken, added) = (ends(before), ends(after));
    let mut changes: Vec<(usize, usize)> = taken.iter().flat_map(|&b| added.iter().map(move |&a| (b, a))).collect();
    changes.sort_by_key(|(b, a)| b + a);
    changes.into_iter().skip(1).find(|&(b, a)| {
        let (before, after) = (&before[b..], &after[a..]);
        let same = common_prefix(before, after);
        same >= ALIKE || (same == before.len() && same == after.len())
    })
}

fn common_prefix(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    (0..=same).rev().find(|end| a.is_char_boundary(*end) && b.is_char_boundary(*end)).unwrap_or(0)
}

fn common_suffix(a: &str, b: &str) -> usize {
    let same = a.bytes().rev().zip(b.bytes().rev()).take_while(|(a, b)| a == b).count();
    (0..=same).rev().find(|len| a.is_char_boundary(a.len() - len) && b.is_char_boundary(b.len() - len)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::{inline::inline, xml};

    /// The parts as text: what is the same, and `[before>after]` for what changed.
    fn shown(before: &str, after: &str) -> String {
        let mut at = 0;
        let part = |part: Part| match part {
            Part::Same(range) => {
                at += range.len();
                before[range].to_owned()
            }
            Part::Changed { from, len } => {
                at += len;
                format!("[{}>{}]", &before[from], &after[at - len..at])
            }
        };
        align(before, after).into_iter().map(part).collect()
    }

    #[test]
    fn finds_what_changed() {
        for (before, after, parts) in [
            ("same", "same", "same"),
            ("", "", ""),
            ("gone", "", ""),
            ("  \n text \n", "text", "text"),
            ("a < b, and so on", "a &lt; b, and so on", "a [<>&lt;] b, and so on"),
            (
                "x</snippet> and more <b> here",
                "x&lt;/snippet> and more <b> here",
                "x[<>&lt;]/snippet> and more <b> here",
            ),
            (
                "<a&b> \"&\" &amp; c",
                "&lt;a&amp;b&gt; &quot;&amp;&quot; &amp;amp; c",
                "[<>&lt;]a[&>&amp;]b[>>&gt;] [\">&quot;][&>&amp;][\">&quot;] &amp;[>amp;] c",
            ),
            ("a &amp; b", "a &amp; b", "a &amp; b"),
            ("a\r\nb", "a b", "a[\r\n> ]b"),
            ("upper", "UPPER", "[upper>UPPER]"),
            ("long text that is shortened", "long text…", "long text[ that is shortened>…]"),
            ("é", "ê", "[é>ê]"),
        ] {
            assert_eq!(shown(before, after), parts, "{before:?} to {after:?}");
        }
    }

    proptest! {
        #[test]
        fn every_byte_is_in_one_part_and_what_is_the_same_is(
            before in "([a-z é<>&\"]{0,9}|\\PC{0,3}|\r\n| ){0,12}", other in "[a-z é]{0,9}",
        ) {
            let made = [xml::escape(&before).into_owned(), inline(&before, 20).text.into_owned(),
                        before.trim().to_owned(), before.to_uppercase(), format!(" x=\"{before}\""), other];
            for after in made {
                let (mut at, mut last) = (0, 0);
                for part in align(&before, &after) {
                    match part {
                        Part::Same(range) => {
                            prop_assert_eq!(&before[range.clone()], &after[at..at + range.len()]);
                            prop_assert!(range.start >= last);
                            (at, last) = (at + range.len(), range.end);
                        }
                        Part::Changed { from, len } => {
                            prop_assert!(from.start >= last && after.is_char_boundary(at + len));
                            (at, last) = (at + len, from.end);
                        }
                    }
                }
                prop_assert_eq!(at, after.len());
            }
        }
    }
}
