//! Writing protobuf fields into a buffer, in one pass.

use bytes::{Buf, BufMut, Bytes};
use prost::{
    DecodeError, Message,
    encoding::{DecodeContext, WireType, encode_varint, encoded_len_varint},
};

use promptd_core::digest::Digest;

/// The most bytes that a length takes.
const MAX_VARINT_BYTES: usize = 10;

/// A message with fields to write.
pub(super) trait Fields {
    /// Writes the fields in their order.
    fn write(&self, sink: &mut Sink);

    /// About how many bytes they take: a right guess saves moving what was written.
    fn size_hint(&self) -> usize {
        0
    }
}

/// A buffer for fields. As proto3 says, a field with its default value is not written, unless it is `optional`.
pub(super) struct Sink(Encoded);

impl Sink {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self(Encoded { own: Vec::with_capacity(bytes), shared: Vec::new() })
    }

    pub(super) fn into_encoded(self) -> Encoded {
        self.0
    }

    /// A field that is already encoded.
    pub(super) fn shared(&mut self, field: &Bytes) {
        self.0.shared.push((self.0.own.len(), field.clone()));
    }

    /// A number, even if it is 0.
    #[inline]
    pub(super) fn some_number(&mut self, tag: u32, value: u64) {
        self.key(tag, WireType::Varint);
        self.varint(value);
    }

    /// A number.
    #[inline]
    pub(super) fn number(&mut self, tag: u32, value: impl Into<u64>) {
        let value = value.into();
        if value != 0 {
            self.some_number(tag, value);
        }
    }

    /// Text.
    #[inline]
    pub(super) fn text(&mut self, tag: u32, value: &str) {
        if !value.is_empty() {
            self.bytes(tag, value.as_bytes());
        }
    }

    /// A digest as hex digits.
    pub(super) fn digest(&mut self, tag: u32, value: Digest) {
        self.bytes(tag, value.hex_digits().as_flattened());
    }

    /// A message. Its length comes first and is known last: room is left for a guess.
    #[inline]
    pub(super) fn message(&mut self, tag: u32, value: &impl Fields) {
        self.key(tag, WireType::LengthDelimited);
        let room = encoded_len_varint(value.size_hint() as u64);
        let start = self.0.own.len() + room;
        self.0.own.resize(start, 0);
        value.write(self);
        let length = (self.0.own.len() - start) as u64;
        let (mut prefix, width) = ([0; MAX_VARINT_BYTES], encoded_len_varint(length));
        encode_varint(length, &mut prefix.as_mut_slice());
        if width == room {
            self.0.own[start - room..start].copy_from_slice(&prefix[..width]);
        } else {
            self.0.own.splice(start - room..start, prefix[..width].iter().copied());
        }
    }

    #[inline]
    fn bytes(&mut self, tag: u32, value: &[u8]) {
        self.key(tag, WireType::LengthDelimited);
        self.varint(value.len() as u64);
        self.0.own.extend_from_slice(value);
    }

    #[inline]
    fn key(&mut self, tag: u32, wire_type: WireType) {
        self.varint(u64::from(tag << 3 | wire_type as u32));
    }

    /// Most numbers and all keys of the contract's answers are below 128.
    #[inline]
    fn varint(&mut self, value: u64) {
        if value < 0x80 {
            self.0.own.push(value.to_le_bytes()[0]);
        } else {
            encode_varint(value, &mut self.0.own);
        }
    }
}

/// An encoded `AssemblePromptResponse`: the server's codec writes it where the generated type would be. Parts that a
/// revision shares are not copied into it but kept beside it: filling a second buffer as large as the answer would cost
/// more than the rest of the encoding.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Encoded {
    own: Vec<u8>,
    /// Shared parts in order, each with the index in `own` that it comes before.
    shared: Vec<(usize, Bytes)>,
}

impl Encoded {
    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.own.len() + self.shared.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the bytes to `buffer`.
    pub fn put(&self, buffer: &mut impl BufMut) {
        let mut from = 0;
        for (at, bytes) in &self.shared {
            buffer.put_slice(&self.own[from..*at]);
            buffer.put_slice(bytes);
            from = *at;
        }
        buffer.put_slice(&self.own[from..]);
    }

    /// The bytes in one piece.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len());
        self.put(&mut bytes);
        bytes
    }
}

impl Message for Encoded {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        self.put(buf);
    }

    fn encoded_len(&self) -> usize {
        self.len()
    }

    fn clear(&mut self) {
        *self = Self::default();
    }

    /// Always an error: a server never decodes its own answers.
    #[expect(deprecated, reason = "prost has no other way to make the error")]
    fn merge_field(&mut self, _: u32, _: WireType, _: &mut impl Buf, _: DecodeContext) -> Result<(), DecodeError> {
        Err(DecodeError::new("an encoded answer cannot be decoded"))
    }
}
