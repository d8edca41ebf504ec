//! Token counts of blocks, alone and with the separator after them.
//!
//! In these encodings nothing but white space or a slash joins a line's end into one token, so that a text may be
//! counted in parts that begin after one.

use std::sync::OnceLock;

use crate::tokens::Encoding;

/// The counts of the blocks that a revision shares, filled when first asked for.
#[derive(Debug, Default)]
pub(super) struct SharedCounts([OnceLock<Box<[BlockCount]>>; Encoding::ALL.len()]);

/// The count of one block.
#[derive(Debug)]
pub(super) struct BlockCount {
    pub alone: u64,
    /// What follows it where it is not the last of its message.
    pub separator: String,
    /// With the separator.
    pub followed: u64,
}

impl SharedCounts {
    /// The counts of all blocks, each given with the separator after it.
    pub(super) fn get<'b>(
        &self,
        encoding: Encoding,
        blocks: impl Iterator<Item = (&'b str, &'b str)>,
    ) -> &[BlockCount] {
        let block = |(text, separator): (&str, &str)| {
            let (alone, followed) = count(encoding, text, &[text, separator].concat());
            BlockCount { alone, separator: separator.to_owned(), followed }
        };
        self.0[encoding as usize].get_or_init(|| blocks.map(block).collect())
    }
}

/// The tokens of a text alone and with what follows it. They differ in its last part only.
pub(super) fn count(encoding: Encoding, text: &str, followed: &str) -> (u64, u64) {
    if text.len() == followed.len() {
        let alone = encoding.count(text);
        return (alone, alone);
    }
    let mut lines = text.rmatch_indices('\n').map(|(end, _)| end + 1);
    let last = lines.find(|&at| begins_a_part(text, at)).unwrap_or(0);
    let before = encoding.count(&text[..last]);
    (before + encoding.count(&text[last..]), before + encoding.count(&followed[last..]))
}

/// Whether a text may be counted up to `at` and from there on.
pub(super) fn begins_a_part(text: &str, at: usize) -> bool {
    text[..at].ends_with('\n') && text[at..].starts_with(|next: char| !next.is_whitespace() && next != '/')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Words, numbers, marks and line ends of all kinds, in any order.
    const TEXT: &str =
        "([a-zA-Z]{1,6}|[0-9]{1,4}|'(s|LL|re)|[ \t\u{a0}]{1,3}|\r?\n{1,3}|[/.,;!<>-]{1,3}|[界é👍ſ\u{301}]{1,2}){0,9}";

    proptest! {
        #[test]
        fn what_is_counted_in_parts_is_exact(text in TEXT, line in TEXT, separator in TEXT) {
            let text = format!("{text}\n{line}");
            let followed = format!("{text}{separator}");
            for encoding in Encoding::ALL {
                let exact = (encoding.count(&text), encoding.count(&followed));
                prop_assert_eq!(count(encoding, &text, &followed), exact);
            }
        }
    }

    #[test]
    fn parts_that_begin_a_line_add_up() {
        let parts = [
            "You are.",
            "## Persona\n\nWarm, 3 times! ",
            "界面。\n\n",
            "- x:\t7",
            "don't",
            "...",
            "\"q\" ünïcode 👨‍👩‍👧‍👦",
            "1234567",
        ];
        for encoding in Encoding::ALL {
            for first in parts {
                for second in parts {
                    let text = format!("{first}\n\n{second}");
                    let at = first.len() + 2;
                    assert!(begins_a_part(&text, at));
                    let sum = encoding.count(&text[..at]) + encoding.count(&text[at..]);
                    assert_eq!(sum, encoding.count(&text), "{text:?}");
                }
            }
        }
    }

    #[test]
    fn other_boundaries_are_not_taken_for_parts() {
        for (text, at) in [("a b", 2), ("a\n\n b", 3), ("a.\n\n/b", 4), ("a\n\n", 3)] {
            assert!(!begins_a_part(text, at), "{text:?}");
        }
    }
}
