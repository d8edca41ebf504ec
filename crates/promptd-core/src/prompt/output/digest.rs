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

/// The digest of a message: SHA-256 of the role, a line feed, the name, a line feed, and the digests of its chunks.
#[must_use]
pub(crate) fn message(role: Role, name: &str, chunks: &[Digest]) -> Digest {
    let mut hasher = Sha256::new();
    for part in [role.as_str(), "\n", name, "\n"] {
        hasher.update(part.as_bytes());
    }
    for chunk in chunks {
        hasher.update(chunk.0);
    }
    Digest(hasher.finalize().into())
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
