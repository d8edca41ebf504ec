//! Token counts of a prompt, for callers that ask for them.
//!
//! Counting costs many times what assembling does, so what a revision shares is counted once. A message's count
//! is exact all the same: it is the sum over its sections, each with the separator after it. In these encodings
//! nothing but white space or a slash joins a line's end into one token, so that a text may be counted in parts that
//! begin there. Where a separator ends no line, the message is counted whole.

use std::{iter, ops::Range, sync::OnceLock};

use super::{Message, Outcome, Prompt, Section, piece::Rendered};
use crate::{
    profile::{Part, Profile},
    tokens::Encoding,
    workspace::Snapshot,
};

/// Fills in every count of the prompt: of its messages, of the sections that were included whole or in part, and in
/// all. What was kept out of a prompt is not counted.
pub fn count_tokens(prompt: &mut Prompt<'_>, snapshot: &Snapshot, profile: &Profile, encoding: Encoding) {
    let prepared = snapshot.prepared.get(snapshot, profile);
    let counter = Counter { encoding, shared: prepared.map_or(&[], |p| p.tokens.get(encoding, profile, &p.sections)) };
    let mut total = 0;
    let mut counts = vec![0; prompt.sections.len()];
    for (index, message) in (0_u32..).zip(&mut prompt.messages) {
        let placed = prompt.sections.iter().enumerate().filter_map(|(at, section)| {
            let (message, range) = section.place.as_ref()?;
            (*message == index).then_some((at, section.shared, range.start as usize..range.end as usize))
        });
        let count = counter.message(message, &placed.collect::<Vec<_>>(), &mut counts);
        message.size.tokens = Some(count);
        total += count;
    }
    prompt.size.tokens = Some(total);
    for (section, count) in prompt.sections.iter_mut().zip(counts) {
        fill(section, count);
    }
}

fn fill(section: &mut Section<'_>, count: u64) {
    section.included.tokens = Some(count);
    section.original.tokens = match section.outcome {
        Outcome::Included => Some(count),
        Outcome::Omitted if section.original.bytes == 0 => Some(0),
        Outcome::Omitted | Outcome::Truncated | Outcome::Dropped => None,
    };
}

/// A section in a message: its place in the prompt's list, its number among the shared pieces, its bytes.
type Placed = (usize, Option<u32>, Range<usize>);

struct Counter<'s> {
    encoding: Encoding,
    shared: &'s [Counts],
}

impl Counter<'_> {
    /// A message's count; those of its sections go to their places in `counts`.
    fn message(&self, message: &Message<'_>, sections: &[Placed], counts: &mut [u64]) -> u64 {
        let content = &*message.content;
        let followers = sections.iter().skip(1).map(|(.., next)| Some(next.start)).chain(iter::once(None));
        let mut sum = Some(0);
        for ((at, shared, range), next) in sections.iter().zip(followers) {
            let known = shared.and_then(|shared| self.shared.get(shared as usize));
            let alone = known.map_or_else(|| self.encoding.count(&content[range.clone()]), |known| known.alone);
            counts[*at] = alone;
            let with_separator = match next {
                None => Some(alone),
                Some(next) if begins_a_part(content, next) => Some(match known {
                    Some(known) if known.separator == content[range.end..next] => known.followed,
                    _ => self.encoding.count(&content[range.start..next]),
                }),
                Some(_) => None,
            };
            sum = sum.zip(with_separator).map(|(sum, count)| sum + count);
        }
        match sum {
            Some(sum) if !sections.is_empty() => sum,
            _ => self.encoding.count(content),
        }
    }
}

/// Whether a text may be counted up to `at` and from there on.
fn begins_a_part(text: &str, at: usize) -> bool {
    text[..at].ends_with('\n') && text[at..].starts_with(|next: char| !next.is_whitespace() && next != '/')
}

/// The counts of what a revision shares, filled when first asked for.
#[derive(Debug, Default)]
pub(super) struct SharedCounts([OnceLock<Box<[Counts]>>; Encoding::ALL.len()]);

/// The counts of one piece.
#[derive(Debug)]
struct Counts {
    alone: u64,
    separator: String,
    followed: u64,
}

impl SharedCounts {
    fn get(&self, encoding: Encoding, profile: &Profile, sections: &[Vec<Rendered<'_>>]) -> &[Counts] {
        let count = |text: &str, separator: &str| Counts {
            alone: encoding.count(text),
            separator: separator.to_owned(),
            followed: encoding.count(&[text, separator].concat()),
        };
        let all = || {
            let parts = profile.parts.iter().zip(sections).filter_map(|(part, rendered)| match part {
                Part::Message(spec) => Some((spec, rendered)),
                Part::Conversation(_) => None,
            });
            let pieces = parts.flat_map(|(spec, rendered)| {
                rendered.iter().flat_map(|rendered| &rendered.pieces).map(|piece| count(piece.text(), &spec.separator))
            });
            pieces.collect()
        };
        self.0[encoding as usize].get_or_init(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
