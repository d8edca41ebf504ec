//! Writing protobuf fields, once to count them and once to put them down.

use prost::encoding::{WireType, encode_varint, encoded_len_varint};

use crate::prompt::Digest;

/// Something with fields to write.
pub(super) trait Fields {
    /// Writes them in field order; the same ones every time.
    fn write<S: Sink>(&self, sink: &mut S);
}

/// Where fields go. As proto3 has it, a field with its default value is not written, unless it is `optional`.
pub(super) trait Sink: Sized {
    /// A number, even if it is 0.
    fn some_number(&mut self, tag: u32, value: u64);

    /// Bytes, even if there are none.
    fn some_bytes(&mut self, tag: u32, value: &[u8]);

    /// A digest as hex digits.
    fn digest(&mut self, tag: u32, value: Digest);

    /// A message.
    fn message(&mut self, tag: u32, value: &impl Fields);

    /// A number.
    fn number(&mut self, tag: u32, value: impl Into<u64>) {
        let value = value.into();
        if value != 0 {
            self.some_number(tag, value);
        }
    }

    /// Text.
    fn text(&mut self, tag: u32, value: &str) {
        if !value.is_empty() {
            self.some_bytes(tag, value.as_bytes());
        }
    }
}

/// How many bytes the fields take.
pub(super) fn length(fields: &impl Fields) -> usize {
    let mut count = Count(0);
    fields.write(&mut count);
    count.0
}

struct Count(usize);

impl Count {
    fn delimited(&mut self, tag: u32, length: usize) {
        self.0 += encoded_len_varint(key(tag, WireType::LengthDelimited)) + encoded_len_varint(length as u64) + length;
    }
}

impl Sink for Count {
    fn some_number(&mut self, tag: u32, value: u64) {
        self.0 += encoded_len_varint(key(tag, WireType::Varint)) + encoded_len_varint(value);
    }

    fn some_bytes(&mut self, tag: u32, value: &[u8]) {
        self.delimited(tag, value.len());
    }

    fn digest(&mut self, tag: u32, _: Digest) {
        self.delimited(tag, Digest::HEX_DIGITS);
    }

    fn message(&mut self, tag: u32, value: &impl Fields) {
        self.delimited(tag, length(value));
    }
}

impl Sink for Vec<u8> {
    fn some_number(&mut self, tag: u32, value: u64) {
        encode_varint(key(tag, WireType::Varint), self);
        encode_varint(value, self);
    }

    fn some_bytes(&mut self, tag: u32, value: &[u8]) {
        encode_varint(key(tag, WireType::LengthDelimited), self);
        encode_varint(value.len() as u64, self);
        self.extend_from_slice(value);
    }

    fn digest(&mut self, tag: u32, value: Digest) {
        self.some_bytes(tag, &value.hex_digits());
    }

    fn message(&mut self, tag: u32, value: &impl Fields) {
        encode_varint(key(tag, WireType::LengthDelimited), self);
        encode_varint(length(value) as u64, self);
        value.write(self);
    }
}

fn key(tag: u32, wire_type: WireType) -> u64 {
    u64::from(tag << 3 | wire_type as u32)
}
