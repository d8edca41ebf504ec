//! Digests of messages and prompts. docs/rules.md says the exact bytes, so that a client can check them.

use sha2::{Digest as _, Sha256};

use super::{Digest, Role};

/// A message's: SHA-256 of the role, a line feed, the name, a line feed, the content.
#[must_use]
pub fn message(role: Role, name: &str, content: &str) -> Digest {
    let mut hasher = Sha256::new();
    for part in [role.as_str(), "\n", name, "\n", content] {
        hasher.update(part.as_bytes());
    }
    Digest(hasher.finalize().into())
}

/// A prompt's: SHA-256 of its messages' digests, 32 bytes each, in order.
#[must_use]
pub fn prompt(messages: impl Iterator<Item = Digest>) -> Digest {
    let mut hasher = Sha256::new();
    for digest in messages {
        hasher.update(digest.0);
    }
    Digest(hasher.finalize().into())
}

/// The stable front's: SHA-256 of the digests of its whole messages, then of the bytes of the one it ends in.
#[must_use]
pub fn front(whole: impl Iterator<Item = Digest>, rest: &str) -> Digest {
    let mut hasher = Sha256::new();
    for digest in whole {
        hasher.update(digest.0);
    }
    hasher.update(rest.as_bytes());
    Digest(hasher.finalize().into())
}
