//! Envelopes: a byte of flags and a length before each message, the same in gRPC and in Connect's streams.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

/// Bytes before a message.
pub(super) const HEAD_BYTES: usize = 5;
/// The message is compressed.
pub(super) const COMPRESSED: u8 = 1;

/// What comes before a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) flags: u8,
    /// Of the message, in bytes.
    pub(super) length: usize,
}

impl Head {
    /// The first bytes of what has arrived, once all of them have.
    pub(super) fn of(arrived: &[u8]) -> Option<Self> {
        let (&flags, rest) = arrived.split_first()?;
        let length = u32::from_be_bytes(*rest.first_chunk()?);
        Some(Self { flags, length: usize::try_from(length).unwrap_or(usize::MAX) })
    }
}

/// Writes a message. One of more than 4 GiB has no envelope; no message limit is that high.
pub(super) fn put(buffer: &mut BytesMut, flags: u8, message: &[u8]) {
    buffer.put_u8(flags);
    buffer.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    buffer.put_slice(message);
}

/// A message in its envelope.
pub(super) fn framed(flags: u8, message: &[u8]) -> Bytes {
    let mut buffer = BytesMut::with_capacity(HEAD_BYTES + message.len());
    put(&mut buffer, flags, message);
    buffer.freeze()
}

/// Takes the first message, once all of it has arrived: its flags and itself.
pub(super) fn take(buffer: &mut BytesMut) -> Option<(u8, Bytes)> {
    let Head { flags, length } = Head::of(buffer)?;
    if buffer.len() - HEAD_BYTES < length {
        return None;
    }
    buffer.advance(HEAD_BYTES);
    Some((flags, buffer.split_to(length).freeze()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_once_all_of_them_has_arrived() {
        let mut written = BytesMut::new();
        put(&mut written, 0, b"first");
        put(&mut written, COMPRESSED, b"");
        let mut buffer = BytesMut::new();
        let mut taken = Vec::new();
        for (at, byte) in written.iter().enumerate() {
            assert_eq!(Head::of(&written[..at]).is_some(), at >= HEAD_BYTES, "{at}");
            buffer.put_u8(*byte);
            taken.extend(take(&mut buffer).map(|message| (at, message)));
        }
        assert_eq!(taken, [(9, (0, Bytes::from("first"))), (14, (COMPRESSED, Bytes::new()))]);
        assert_eq!(Head::of(&[1, 0, 1, 0, 2, 9]), Some(Head { flags: 1, length: 65_538 }));
    }
}
