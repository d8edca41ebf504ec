//! Protobuf's bytes, written in one pass.

use prost::encoding::{WireType, encode_key, encode_varint};

/// Bytes of a length. A length is written before it is known, so each has the room of the largest: a reader takes a number
/// with leading zeros as it takes any other.
const LENGTH_BYTES: usize = 5;

/// A message that is being written.
#[derive(Debug, Default)]
pub(super) struct Wire(Vec<u8>);

impl Wire {
    pub(super) fn varint(&mut self, tag: u32, value: u64) {
        encode_key(tag, WireType::Varint, &mut self.0);
        encode_varint(value, &mut self.0);
    }

    pub(super) fn fixed32(&mut self, tag: u32, bytes: [u8; 4]) {
        encode_key(tag, WireType::ThirtyTwoBit, &mut self.0);
        self.0.extend(bytes);
    }

    pub(super) fn fixed64(&mut self, tag: u32, bytes: [u8; 8]) {
        encode_key(tag, WireType::SixtyFourBit, &mut self.0);
        self.0.extend(bytes);
    }

    pub(super) fn bytes(&mut self, tag: u32, bytes: &[u8]) {
        encode_key(tag, WireType::LengthDelimited, &mut self.0);
        encode_varint(bytes.len() as u64, &mut self.0);
        self.0.extend_from_slice(bytes);
    }

    /// Begins an inner message, and says where.
    pub(super) fn begin(&mut self, tag: u32) -> usize {
        encode_key(tag, WireType::LengthDelimited, &mut self.0);
        self.0.extend([0; LENGTH_BYTES]);
        self.0.len()
    }

    /// Ends the inner message that began there.
    pub(super) fn end(&mut self, start: usize) {
        let length = self.0.len() - start;
        for (index, byte) in self.0[start - LENGTH_BYTES..start].iter_mut().enumerate() {
            let [low, ..] = (length >> (7 * index)).to_le_bytes();
            *byte = if index + 1 < LENGTH_BYTES { low | 0x80 } else { low };
        }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}
