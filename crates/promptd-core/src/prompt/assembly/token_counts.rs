//! Token counts of a prompt, for callers that ask for them.
//!
//! Counting costs many times what assembling does, so what a revision shares is counted once. A message's count
//! is exact all the same: it is the sum over its sections, each with the separator after it. Where a separator ends no
//! line, the message is counted whole.

use std::{iter, ops::Range};

use super::{
    block_counts::{BlockCount, begins_a_part, count},
    prepared::Prepared,
};
use crate::{
    profile::Profile,
    prompt::output::{Holder, Outcome, Prompt, SectionReport},
    tokens::Encoding,
};

/// Fills in every count of the prompt: of its messages and cards, of the sections that were included whole or in part, and in
/// all. What was kept out of a prompt is not counted.
pub fn count_tokens(prompt: &mut Prompt<'_>, snapshot: &Prepared, profile: &Profile, encoding: Encoding) {
    let counts = counts(prompt, snapshot, profile, encoding);
    for (message, count) in prompt.messages.iter_mut().chain(&mut prompt.cards).zip(counts.messages) {
        message.size.tokens = Some(count);
    }
    prompt.size.tokens = Some(counts.total);
    for (section, count) in prompt.sections.iter_mut().zip(counts.sections) {
        fill(section, count);
    }
}

/// The token counts of a prompt.
pub(super) struct Counts {
    /// Of its messages, then of its cards.
    pub messages: Vec<u64>,
    /// Of its sections.
    pub sections: Vec<u64>,
    /// Of all messages.
    pub total: u64,
}

pub(super) fn counts(prompt: &Prompt<'_>, snapshot: &Prepared, profile: &Profile, encoding: Encoding) -> Counts {
    let prepared = snapshot.profile(profile);
    let counter = Counter { encoding, shared: prepared.map_or(&[], |prepared| prepared.counts(profile, encoding)) };
    let mut placed: Vec<_> = prompt.sections.iter().enumerate().filter_map(Placed::of).collect();
    placed.sort_by_key(|section| section.holder);
    let (mut rest, mut total, mut conversation) = (placed.as_slice(), 0, 0);
    let mut counts = vec![0; prompt.sections.len()];
    let mut of_messages = Vec::with_capacity(prompt.messages.len() + prompt.cards.len());
    let messages = (0..).map(Holder::Message).zip(&prompt.messages);
    for (holder, message) in messages.chain((0..).map(Holder::Card).zip(&prompt.cards)) {
        let here;
        (here, rest) = rest.split_at(rest.partition_point(|section| section.holder <= holder));
        let count = counter.message(&message.content, here, &mut counts);
        of_messages.push(count);
        if matches!(holder, Holder::Message(_)) {
            total += count;
        }
        conversation += if message.origin.is_some() { count } else { 0 };
    }
    for (section, count) in prompt.sections.iter().zip(&mut counts) {
        // Only the conversation is in several messages, and so at no position.
        if section.position.is_none() && section.included.bytes > 0 {
            *count = conversation;
        }
    }
    Counts { messages: of_messages, sections: counts, total }
}

fn fill(section: &mut SectionReport<'_>, count: u64) {
    section.included.tokens = Some(count);
    section.original.tokens = match section.outcome {
        Outcome::Included if section.original.bytes == section.included.bytes => Some(count),
        Outcome::Omitted if section.original.bytes == 0 => Some(0),
        Outcome::Included | Outcome::Omitted | Outcome::Truncated | Outcome::Dropped => None,
    };
}

/// A section in a message or card.
struct Placed {
    /// The message or card.
    holder: Holder,
    /// Its bytes there.
    range: Range<usize>,
    /// Its index in the prompt's list.
    index: usize,
    /// Its number among the shared blocks.
    shared: Option<u32>,
}

impl Placed {
    fn of((index, section): (usize, &SectionReport<'_>)) -> Option<Self> {
        let position = section.position.as_ref()?;
        Some(Self { holder: position.holder, range: position.range(), index, shared: section.shared })
    }
}

struct Counter<'s> {
    encoding: Encoding,
    shared: &'s [BlockCount],
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
