//! An answer that is bytes already.

use bytes::{Buf, BufMut};
use prost::{
    DecodeError, Message,
    encoding::{DecodeContext, WireType},
};

use promptd_contract::encode;

/// An encoded `AssemblePromptResponse`. The server stands it where the generated type would be; clients have the
/// generated type.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Encoded(pub(super) encode::Encoded);

impl Message for Encoded {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        self.0.put(buf);
    }

    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn clear(&mut self) {
        self.0 = encode::Encoded::default();
    }

    /// A server never reads its own answers.
    #[expect(deprecated, reason = "prost has no other way to make the error")]
    fn merge_field(&mut self, _: u32, _: WireType, _: &mut impl Buf, _: DecodeContext) -> Result<(), DecodeError> {
        Err(DecodeError::new("an encoded answer is written, never read"))
    }
}
