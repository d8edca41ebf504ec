//! SHA-256 digests, which name revisions, files, messages and prompts.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::text::hex;

/// A SHA-256.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// How many hex digits it has.
    pub const HEX_DIGITS: usize = 64;

    /// The SHA-256 of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Its lower-case hex digits, two a byte.
    #[must_use]
    pub fn hex_digits(self) -> [[u8; 2]; 32] {
        hex::digits(self.0)
    }

    /// Its first 12 hex digits, as people are shown it.
    #[must_use]
    pub fn short(self) -> String {
        self.hex_digits().as_flattened().iter().take(12).copied().map(char::from).collect()
    }

    /// All of them as text.
    #[must_use]
    pub fn to_hex(self) -> String {
        self.hex_digits().as_flattened().iter().copied().map(char::from).collect()
    }
}

/// The SHA-256 of `bytes`, in hex.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> Arc<str> {
    Digest::of(bytes).to_hex().into()
}
