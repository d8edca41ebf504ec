//! Digests of messages and prompts. docs/rules.md has the exact bytes, so that a client can check them.
//!
//! A message is hashed by its sections, so that what a revision shares is hashed once and not once a call.

use sha2::{Digest as _, Sha256};

use crate::{digest::Digest, turn::Role};

/// The digest of a chunk: SHA-256 of a section's text with the separator before it.
#[must_use]
pub(crate) fn chunk(separator: &str, text: &str) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(separator.as_bytes());
    hasher.update(text.as_bytes());
    Digest(hasher.finalize().into())
}

/// The digest of a message, while its chunks come: SHA-256 of the role, a line feed, the name, a line feed, and the digests
/// of its chunks.
pub(crate) struct MessageDigest(Sha256);

impl MessageDigest {
    /// That of a message without chunks.
    pub(crate) fn new(role: Role, name: &str) -> Self {
        let mut hasher = Sha256::new();
        for part in [role.as_str(), "\n", name, "\n"] {
            hasher.update(part.as_bytes());
        }
        Self(hasher)
    }

    /// Adds the next chunk, by its digest.
    pub(crate) fn add(&mut self, chunk: Digest) {
        self.0.update(chunk.0);
    }

    /// The digest.
    #[must_use]
    pub(crate) fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// The digest of a message of one chunk.
#[must_use]
pub(crate) fn message(role: Role, name: &str, chunk: Digest) -> Digest {
    let mut digest = MessageDigest::new(role, name);
    digest.add(chunk);
    digest.finish()
}

/// The digest of a prompt: SHA-256 of its messages' digests, 32 bytes each, in order. Also that of the stable prefix:
/// of the digests of its whole messages, then of the chunks of the one in which it ends.
#[must_use]
pub(crate) fn list(digests: impl Iterator<Item = Digest>) -> Digest {
    let mut hasher = Sha256::new();
    for digest in digests {
        hasher.update(digest.0);
    }
    Digest(hasher.finalize().into())
}
