//! Token counts of a prompt, for callers that ask for them.
//!
//! Counting costs many times what assembling does, so what a revision shares is counted once. A message's count
//! is exact all the same: it is the sum over its sections, each with the separator after it. In these encodings
//! nothing but white space or a slash joins a line's end into one token, so that a text may be counted in parts that
//! begin there. Where a separator ends no line, the message is counted whole.

use std::{iter, ops::Range, sync::OnceLock};

use super::{Outcome, Prepared, Prompt, SectionReport, block::RenderedSection};
use crate::{
    profile::{Part, Profile},
    tokens::Encoding,
};

/// Fills in every count of the prompt: of its messages, of the sections that were included whole or in part, and in
/// all. What was kept out of a prompt is not counted.
pub fn count_tokens(prompt: &mut Prompt<'_>, snapshot: &Prepared, profile: &Profile, encoding: Encoding) {
    let prepared = snapshot.profile(profile);
    let counter = Counter { encoding, shared: prepared.map_or(&[], |p| p.tokens.get(encoding, profile, &p.sections)) };
    let mut placed: Vec<_> = prompt.sections.iter().enumerate().filter_map(Placed::of).collect();
    placed.sort_by_key(|section| section.message);
    let (mut rest, mut total) = (placed.as_slice(), 0);
    let mut counts = vec![0; prompt.sections.len()];
    for (index, message) in (0..).zip(&mut prompt.messages) {
        let here;
        (here, rest) = rest.split_at(rest.partition_point(|section| section.message <= index));
        let count = counter.message(&message.content, here, &mut counts);
        message.size.tokens = Some(count);
        total += count;
    }
    prompt.size.tokens = Some(total);
    for (section, count) in prompt.sections.iter_mut().zip(counts) {
        fill(section, count);
    }
}

fn fill(section: &mut SectionReport<'_>, count: u64) {
    section.included.tokens = Some(count);
    section.original.tokens = match section.outcome {
        Outcome::Included => Some(count),
        Outcome::Omitted if section.original.bytes == 0 => Some(0),
        Outcome::Omitted | Outcome::Truncated | Outcome::Dropped => None,
    };
}

/// A section in a message.
struct Placed {
    /// The message's index.
    message: u32,
    /// Its bytes there.
    range: Range<usize>,
    /// Its index in the prompt's list.
    index: usize,
    /// Its number among the shared blocks.
    shared: Option<u32>,
}

impl Placed {
    fn of((index, section): (usize, &SectionReport<'_>)) -> Option<Self> {
        let (message, range) = section.place.as_ref()?;
        let range = range.start as usize..range.end as usize;
        Some(Self { message: *message, range, index, shared: section.shared })
    }
}

struct Counter<'s> {
    encoding: Encoding,
    shared: &'s [Counts],
}

impl Counter<'_> {
    /// A message's count; those of its sections go to their places in `counts`.
    fn message(&self, content: &str, sections: &[Placed], counts: &mut [u64]) -> u64 {
        let followers = sections.iter().skip(1).map(|next| next.range.start).chain(iter::once(content.len()));
        let mut sum = Some(0);
        for (Placed { range, index, shared, .. }, next) in sections.iter().zip(followers) {
            let known = shared.and_then(|shared| self.shared.get(shared as usize));
            let (alone, followed) = match (known, &content[range.end..next]) {
                (Some(known), "") => (known.alone, known.alone),
                (Some(known), separator) if known.separator == separator => (known.alone, known.followed),
                _ => count(self.encoding, &content[range.clone()], &content[range.start..next]),
            };
            counts[*index] = alone;
            let adds_up = next == content.len() || begins_a_part(content, next);
            sum = sum.filter(|_| adds_up).map(|sum| sum + followed);
        }
        match sum {
            Some(sum) if !sections.is_empty() => sum,
            _ => self.encoding.count(content),
        }
    }
}

/// The tokens of a text alone and with what follows it. They differ in its last part only.
fn count(encoding: Encoding, text: &str, followed: &str) -> (u64, u64) {
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
fn begins_a_part(text: &str, at: usize) -> bool {
    text[..at].ends_with('\n') && text[at..].starts_with(|next: char| !next.is_whitespace() && next != '/')
}

/// The counts of what a revision shares, filled when first asked for.
#[derive(Debug, Default)]
pub(super) struct SharedCounts([OnceLock<Box<[Counts]>>; Encoding::ALL.len()]);

/// The counts of one block.
#[derive(Debug)]
struct Counts {
    alone: u64,
    separator: String,
    followed: u64,
}

impl SharedCounts {
    fn get(&self, encoding: Encoding, profile: &Profile, sections: &[Vec<RenderedSection<'_>>]) -> &[Counts] {
        let count = |text: &str, separator: &str| {
            let (alone, followed) = count(encoding, text, &[text, separator].concat());
            Counts { alone, separator: separator.to_owned(), followed }
        };
        let all = || {
            let parts = profile.parts.iter().zip(sections).filter_map(|(part, rendered)| match part {
                Part::Message(spec) => Some((spec, rendered)),
                Part::Conversation(_) => None,
            });
            let blocks = parts.flat_map(|(spec, rendered)| {
                rendered.iter().flat_map(|rendered| &rendered.blocks).map(|block| count(block.text(), &spec.separator))
            });
            blocks.collect()
        };
        self.0[encoding as usize].get_or_init(all)
    }
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
