//! Token counts of a prompt, for callers that ask for them.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use sha2::{Digest as _, Sha256};

use super::{Message, Outcome, Prompt, Section};
use crate::tokens::Encoding;

/// The most counts that are remembered of each of two generations: about 5 MB in all.
const MAX_REMEMBERED: usize = 32_768;

/// Counts of texts seen before, by their hash, since counting costs a hundred times what hashing does. Ephemeral texts
/// are never remembered.
#[derive(Debug, Default)]
pub struct TokenCounts(Mutex<Remembered>);

/// What was asked for lately stays: a count that is used moves to `young`, and when that is full it becomes `old`.
#[derive(Debug, Default)]
struct Remembered {
    young: HashMap<Key, u64>,
    old: HashMap<Key, u64>,
}

type Key = (Encoding, [u8; 32]);

impl TokenCounts {
    /// Fills in every count of the prompt: of its messages, of the sections that were included whole or in part, and
    /// in all. What was kept out of a prompt is not counted.
    pub fn fill(&self, prompt: &mut Prompt<'_>, encoding: Encoding) {
        let mut total = 0;
        for message in &mut prompt.messages {
            let count = self.count(encoding, &message.content, message.ephemeral);
            message.size.tokens = Some(count);
            total += count;
        }
        prompt.size.tokens = Some(total);
        for section in &mut prompt.sections {
            let count = self.section(encoding, section, &prompt.messages);
            let section = section.to_mut();
            section.included.tokens = Some(count);
            section.original.tokens = match section.outcome {
                Outcome::Included => Some(count),
                Outcome::Omitted if section.original.bytes == 0 => Some(0),
                Outcome::Omitted | Outcome::Truncated | Outcome::Dropped => None,
            };
        }
    }

    fn section(&self, encoding: Encoding, section: &Section, messages: &[Message<'_>]) -> u64 {
        let Some((index, range)) = &section.place else { return 0 };
        let Some(message) = messages.get(*index as usize) else { return 0 };
        let text = message.content.get(range.start as usize..range.end as usize).unwrap_or_default();
        match message.size.tokens {
            Some(tokens) if text.len() == message.content.len() => tokens,
            _ => self.count(encoding, text, message.ephemeral),
        }
    }

    fn count(&self, encoding: Encoding, text: &str, ephemeral: bool) -> u64 {
        if text.is_empty() {
            return 0;
        }
        if ephemeral {
            return encoding.count(text);
        }
        let key = (encoding, Sha256::digest(text).into());
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key);
        known.unwrap_or_else(|| {
            let count = encoding.count(text);
            self.0.lock().unwrap_or_else(PoisonError::into_inner).put(key, count);
            count
        })
    }
}

impl Remembered {
    fn get(&mut self, key: &Key) -> Option<u64> {
        if let Some(count) = self.young.get(key) {
            return Some(*count);
        }
        let count = self.old.remove(key)?;
        self.put(*key, count);
        Some(count)
    }

    fn put(&mut self, key: Key, count: u64) {
        if self.young.len() >= MAX_REMEMBERED {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_remembers_what_it_counted_and_no_ephemeral_text() {
        let counts = TokenCounts::default();
        let first = counts.count(Encoding::O200kBase, "Hello there, harbour.", false);
        assert_eq!(first, Encoding::O200kBase.count("Hello there, harbour."));
        assert_eq!(counts.count(Encoding::O200kBase, "Hello there, harbour.", false), first);
        counts.count(Encoding::O200kBase, "Only for this turn.", true);
        assert_eq!(counts.0.lock().unwrap().young.len(), 1);
    }

    #[test]
    fn it_never_grows_beyond_two_generations() {
        let mut remembered = Remembered::default();
        for number in 0..(3 * MAX_REMEMBERED as u64) {
            let mut hash = [0; 32];
            hash[..8].copy_from_slice(&number.to_le_bytes());
            remembered.put((Encoding::O200kBase, hash), number);
        }
        assert!(remembered.young.len() <= MAX_REMEMBERED && remembered.old.len() <= MAX_REMEMBERED);
        let mut newest = [0; 32];
        newest[..8].copy_from_slice(&(3 * MAX_REMEMBERED as u64 - 1).to_le_bytes());
        assert!(remembered.get(&(Encoding::O200kBase, newest)).is_some());
    }
}
