//! An answer as bytes: its own, and those that a revision shares.

use bytes::{BufMut, Bytes};

/// An encoded `AssemblePromptResponse`. Parts that a revision shares are not copied into it but stand beside it: a
/// buffer as large as the answer costs a call more than all it takes to fill it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Encoded {
    pub(super) own: Vec<u8>,
    /// Shared parts in order, each with the place in `own` that it stands before.
    pub(super) shared: Vec<(usize, Bytes)>,
}

impl Encoded {
    /// How many bytes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.own.len() + self.shared.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the bytes.
    pub fn put(&self, buffer: &mut impl BufMut) {
        let mut from = 0;
        for (at, bytes) in &self.shared {
            buffer.put_slice(&self.own[from..*at]);
            buffer.put_slice(bytes);
            from = *at;
        }
        buffer.put_slice(&self.own[from..]);
    }

    /// The bytes.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len());
        self.put(&mut bytes);
        bytes
    }
}
