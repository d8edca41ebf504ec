//! SHA-256 as the snapshot keeps it.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::digest::Digest;

/// The SHA-256 of `bytes`, in hex.
pub(super) fn sha256(bytes: &[u8]) -> Arc<str> {
    Digest(Sha256::digest(bytes).into()).to_hex().into()
}

/// A hash over fields, each with its length before it, so that no two lists of fields look the same.
#[derive(Default)]
pub(super) struct FieldHash(Sha256);

impl FieldHash {
    pub(super) fn field(&mut self, field: impl AsRef<[u8]>) -> &mut Self {
        let field = field.as_ref();
        self.0.update((field.len() as u64).to_be_bytes());
        self.0.update(field);
        self
    }

    pub(super) fn finish(self) -> Arc<str> {
        Digest(self.0.finalize().into()).to_hex().into()
    }
}
