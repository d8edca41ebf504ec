//! Counting tokens, as OpenAI's tokenizers do.

use std::{collections::HashSet, fmt};

use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

/// The most bytes that the tokenizer is given at once.
///
/// Its pattern keeps a stack entry for each space of a run and panics or fails at a million of them, so a longer text
/// is given in parts. They end before a space where there is one, which changes no count; a text of 64 KiB without one
/// may count a token more for each of its parts.
const MAX_PART_BYTES: usize = 64 << 10;

/// A token encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// GPT-4o and later.
    O200kBase,
    /// GPT-4 and GPT-3.5.
    Cl100kBase,
}

impl Encoding {
    /// Every encoding.
    pub const ALL: [Self; 2] = [Self::O200kBase, Self::Cl100kBase];

    /// The encoding of that name.
    pub fn parse(name: &str) -> Result<Self, UnknownEncoding> {
        Self::ALL.into_iter().find(|encoding| encoding.as_str() == name).ok_or(UnknownEncoding)
    }

    /// Its name, as requests write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
        }
    }

    /// How many tokens the text has. The names of special tokens, such as `<|endoftext|>`, count as the text they are.
    ///
    /// Time grows with the text's length alone, whatever stands in it. The first call of an encoding also loads its
    /// table, which takes a good part of a second: [`Encoding::load`].
    #[must_use]
    pub fn count(self, text: &str) -> u64 {
        parts(text).map(|part| count_part(self.tokenizer(), part)).sum()
    }

    /// Loads the encoding's table, so that no later call waits for it.
    pub fn load(self) {
        let _ = self.tokenizer();
    }

    fn tokenizer(self) -> &'static CoreBPE {
        match self {
            Self::O200kBase => o200k_base_singleton(),
            Self::Cl100kBase => cl100k_base_singleton(),
        }
    }
}

/// The tokens of a part. Where the tokenizer gives up, those of its halves.
fn count_part(tokenizer: &CoreBPE, part: &str) -> u64 {
    match tokenizer.count(part, &HashSet::new()) {
        Ok(count) => count as u64,
        Err(_) => match part.char_indices().nth(part.chars().count() / 2) {
            Some((middle, _)) if middle > 0 => {
                count_part(tokenizer, &part[..middle]) + count_part(tokenizer, &part[middle..])
            }
            _ => 1,
        },
    }
}

/// The text in parts of at most [`MAX_PART_BYTES`].
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (part, after) = rest.split_at(part_end(rest));
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

/// Where the first part ends: before the last space that follows anything but white space, since no token spans that.
fn part_end(text: &str) -> usize {
    if text.len() <= MAX_PART_BYTES {
        return text.len();
    }
    let end = (0..=MAX_PART_BYTES).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(MAX_PART_BYTES);
    let part = &text[..end];
    let word_end = |&(space, _): &(usize, _)| part[..space].ends_with(|c: char| !c.is_whitespace());
    part.rmatch_indices(' ').find(word_end).map_or(end, |(space, _)| space)
}

/// No encoding has that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownEncoding;

impl fmt::Display for UnknownEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Encoding::ALL.map(|encoding| format!("`{}`", encoding.as_str()));
        write!(f, "not a known token encoding; use {}", names.join(" or "))
    }
}

impl std::error::Error for UnknownEncoding {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_parse_back() {
        for encoding in Encoding::ALL {
            assert_eq!(Encoding::parse(encoding.as_str()), Ok(encoding));
        }
        let error = Encoding::parse("p50k_base").unwrap_err();
        assert_eq!(error.to_string(), "not a known token encoding; use `o200k_base` or `cl100k_base`");
    }

    #[test]
    fn counts_as_the_encodings_do() {
        for (text, o200k, cl100k) in
            [("", 0, 0), ("hello world", 2, 2), ("tiktoken is great!", 6, 6), ("<|endoftext|>", 7, 7), ("界", 1, 1)]
        {
            assert_eq!(Encoding::O200kBase.count(text), o200k, "{text}");
            assert_eq!(Encoding::Cl100kBase.count(text), cl100k, "{text}");
        }
    }

    #[test]
    fn parts_end_before_words_and_change_no_count() {
        let text = "It rained, twice;\n  then (at 12:30) the ferry left!\n\n".repeat(3_000);
        assert!(text.len() > 2 * MAX_PART_BYTES);
        for encoding in Encoding::ALL {
            assert_eq!(encoding.count(&text), encoding.tokenizer().count_ordinary(&text) as u64);
        }
    }

    #[test]
    fn a_million_of_one_character_is_no_trouble() {
        for (c, tokens) in [(' ', 8_192..=8_300), ('a', 131_072..=131_200)] {
            let count = Encoding::O200kBase.count(&c.to_string().repeat(1 << 20));
            assert!(tokens.contains(&count), "{c:?}: {count}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn parts_make_the_text(pieces in prop::collection::vec("[a-c界 \n]{1,9}", 1..4), times in 1_usize..3_000) {
            let text = pieces.concat().repeat(times);
            prop_assert!(parts(&text).all(|part| part.len() <= MAX_PART_BYTES));
            prop_assert_eq!(parts(&text).collect::<String>(), text);
        }
    }
}
