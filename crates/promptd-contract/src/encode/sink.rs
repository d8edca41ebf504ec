//! Writing protobuf fields into a buffer, in one pass.

use bytes::Bytes;
use prost::encoding::{WireType, encode_varint, encoded_len_varint};

use super::Encoded;
use promptd_core::digest::Digest;

/// The most bytes that a length takes.
const MAX_VARINT_BYTES: usize = 10;

/// Something with fields to write.
pub(super) trait Fields {
    /// Writes them in field order.
    fn write(&self, sink: &mut Sink);

    /// About how many bytes they take: a guess that is right most of the time saves moving what was written.
    fn size_hint(&self) -> usize {
        0
    }
}

/// Where fields go. As proto3 has it, a field with its default value is not written, unless it is `optional`.
pub(super) struct Sink(Encoded);

impl Sink {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self(Encoded { own: Vec::with_capacity(bytes), shared: Vec::new() })
    }

    pub(super) fn into_encoded(self) -> Encoded {
        self.0
    }

    /// A field that is encoded already.
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

    /// A message. Its length stands before it and is known after it: room is left for what was guessed.
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
