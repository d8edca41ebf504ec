//! Counting tokens, as OpenAI's tokenizers do.
//!
//! A text is cut into pieces ([`pieces`]); each is a token, or is joined from the shortest tokens there are ([`table`]).

mod class;
mod pieces;
mod table;

use std::{fmt, sync::OnceLock};

use self::{pieces::Cut, table::Table};

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
    /// The one of budgets in tokens, and of the command line.
    pub const DEFAULT: Self = Self::O200kBase;

    /// The encoding of that name.
    pub fn parse(name: &str) -> Result<Self, UnknownEncoding> {
        Self::ALL.into_iter().find(|encoding| encoding.as_str() == name).ok_or(UnknownEncoding)
    }

    /// Its name, as requests write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::O200kBase => "o200k_base",
            Self::Cl100kBase => "cl100k_base",
        }
    }

    /// How many tokens the text has. The names of special tokens, such as `<|endoftext|>`, count as the text they are.
    ///
    /// Exact, and time grows with the text's length alone, whatever the text. The first call of an encoding also
    /// loads its table, which takes a good part of a second: see [`Encoding::is_loaded`].
    #[must_use]
    pub fn count(self, text: &str) -> u64 {
        let Tokenizer { cut, table } = self.tokenizer();
        let (mut at, mut tokens) = (0, 0);
        while at < text.len() {
            let end = cut(text, at);
            tokens += table.count(&text.as_bytes()[at..end]);
            at = end;
        }
        tokens as u64
    }

    /// Whether the encoding's table is loaded, so that counting does not wait for it.
    #[must_use]
    pub fn is_loaded(self) -> bool {
        self.place().get().is_some()
    }

    fn tokenizer(self) -> &'static Tokenizer {
        self.place().get_or_init(|| {
            class::load();
            match self {
                Self::O200kBase => Tokenizer { cut: pieces::o200k, table: Table::load(tiktoken_rs::o200k_base) },
                Self::Cl100kBase => Tokenizer { cut: pieces::cl100k, table: Table::load(tiktoken_rs::cl100k_base) },
            }
        })
    }

    fn place(self) -> &'static OnceLock<Tokenizer> {
        static TOKENIZERS: [OnceLock<Tokenizer>; Encoding::ALL.len()] =
            [const { OnceLock::new() }; Encoding::ALL.len()];
        &TOKENIZERS[self as usize]
    }
}

/// How an encoding counts.
struct Tokenizer {
    cut: Cut,
    table: Table,
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

    /// What the texts are made of that are counted in comparison: what the rules of the encodings name, and more.
    const PARTS: &str = concat!(
        "'(s|S|ſ|t|T|re|RE|rE|ve|Ve|m|M|ll|lL|d|D|x)|[ \t\n\r\u{b}\u{c}\u{85}\u{a0}\u{2028}\u{3000}\u{200b}]{1,4}|\r\n|/|//|",
        "[0-9]{1,7}|[٣½²Ⅷ〇]|[a-z]{1,9}|[A-Z]{1,5}|[A-Za-z]{1,9}|[éßſKİǅʰﬁꟲ]{1,2}|[a-zA-Z]\u{301}|[\u{301}\u{308}\u{fe0f}\u{200d}]|",
        "[界面のカー々한글Ａａ]{1,3}|[。、「…—“’１]|👨\u{200d}👩\u{200d}👧|👍🏽|🇩🇪|नमस्ते|العربية|ไทย|<[|]endoftext[|]>|[!-~]{1,4}|.",
    );

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn counts_are_those_of_the_published_encodings(
            parts in prop::collection::vec((PARTS, prop_oneof![9 => 1_usize..3, 1 => 1_usize..200]), 1..20)
        ) {
            let text: String = parts.iter().map(|(part, times)| part.repeat(*times)).collect();
            let published = [tiktoken_rs::o200k_base_singleton(), tiktoken_rs::cl100k_base_singleton()];
            for (encoding, published) in Encoding::ALL.into_iter().zip(published) {
                prop_assert_eq!(encoding.count(&text), published.count_ordinary(&text) as u64);
            }
        }
    }

    #[test]
    fn the_files_of_the_project_count_as_published() {
        let files = [
            include_str!("../../../../README.md"),
            include_str!("../../../../ARCHITECTURE.md"),
            include_str!("../../../../docs/rules.md"),
            include_str!("mod.rs"),
            include_str!("pieces.rs"),
        ];
        for text in files {
            assert_eq!(
                Encoding::O200kBase.count(text),
                tiktoken_rs::o200k_base_singleton().count_ordinary(text) as u64
            );
            assert_eq!(
                Encoding::Cl100kBase.count(text),
                tiktoken_rs::cl100k_base_singleton().count_ordinary(text) as u64
            );
        }
    }

    #[test]
    fn long_runs_of_one_character_are_no_trouble() {
        let cases = [(" ", 1_024, 1_024), ("a", 16_384, 16_384), ("\n", 8_192, 4_096), ("界", 1 << 17, 1 << 17)];
        for (text, o200k, cl100k) in cases {
            let text = text.repeat(1 << 17);
            assert_eq!(Encoding::O200kBase.count(&text), o200k);
            assert_eq!(Encoding::Cl100kBase.count(&text), cl100k);
        }
    }
}
