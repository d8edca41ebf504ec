//! Names that callers and operators give to workspaces and profiles.

use std::{fmt, sync::Arc};

/// A workspace's or profile's name: 1 to 64 of `[A-Za-z0-9._-]`, the first a letter or digit.
///
/// The grammar leaves no way to write a path, so an id can be a folder's name without further checks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(Arc<str>);

/// The most characters an [`Id`] may have.
pub const MAX_ID_CHARS: usize = 64;

/// The grammar of an [`Id`] as a regular expression.
pub const PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";

impl Id {
    /// Checks `text` against the grammar.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        if text.is_empty() {
            return Err(InvalidId::Empty);
        }
        let first_ok = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        let rest_ok = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        if first_ok && rest_ok && text.len() <= MAX_ID_CHARS {
            Ok(Self(text.into()))
        } else {
            Err(InvalidId::Malformed)
        }
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for Id {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Why a text is not an [`Id`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidId {
    /// There is none.
    Empty,
    /// It breaks the grammar.
    Malformed,
}

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = match self {
            Self::Empty => "is missing or empty: it ",
            Self::Malformed => "",
        };
        write!(f, "{start}must be 1 to {MAX_ID_CHARS} of A-Z a-z 0-9 . _ -, and begin with a letter or digit")
    }
}

impl std::error::Error for InvalidId {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_the_grammar_and_nothing_that_walks() {
        for good in ["a", "harbor", "A.b_c-9", "9", &"x".repeat(64)] {
            assert!(Id::parse(good).is_ok(), "{good}");
        }
        assert_eq!(Id::parse(""), Err(InvalidId::Empty));
        for bad in [
            ".",
            "..",
            "../other",
            "/etc",
            "a/../../b",
            "a\0b",
            "%2e%2e%2fb",
            "..\\b",
            "C:x",
            "-a",
            "_a",
            "é",
            "a b",
            &"x".repeat(65),
        ] {
            assert_eq!(Id::parse(bad), Err(InvalidId::Malformed), "{bad:?}");
        }
    }
}
