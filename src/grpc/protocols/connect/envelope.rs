//! Envelopes: a byte of flags and a length before each message, the same in gRPC and in Connect's streams.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::grpc::pipeline::Error;

/// Bytes before a message.
pub(super) const HEAD_BYTES: usize = 5;
/// The message is compressed.
pub(super) const COMPRESSED: u8 = 1;
/// In a stream of Connect: the message says how the stream ended.
pub(super) const END: u8 = 2;

/// Writes a message. One of more than 4 GiB has no envelope; no message limit is that high.
pub(super) fn put(buffer: &mut BytesMut, flags: u8, message: &[u8]) {
    buffer.put_u8(flags);
    buffer.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    buffer.put_slice(message);
}

/// Takes the first message, once all of it is there: its flags and itself.
pub(super) fn take(buffer: &mut BytesMut) -> Option<(u8, Bytes)> {
    let (&flags, rest) = buffer.split_first()?;
    let length = u32::from_be_bytes(*rest.first_chunk()?);
    let length = usize::try_from(length).ok()?;
    if buffer.len() - HEAD_BYTES < length {
        return None;
    }
    buffer.advance(HEAD_BYTES);
    Some((flags, buffer.split_to(length).freeze()))
}

/// The only message of a request, and whether it is compressed. Methods whose callers stream are gRPC's alone.
pub(super) fn only(body: &[u8]) -> Result<(bool, &[u8]), Error> {
    let (&flags, rest) = body.split_first().ok_or(Error::Incomplete)?;
    let (length, message) = rest.split_first_chunk().ok_or(Error::Incomplete)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    match message.len().cmp(&length) {
        std::cmp::Ordering::Less => Err(Error::Incomplete),
        std::cmp::Ordering::Greater => Err(Error::Unimplemented("a request of this method has one message".into())),
        std::cmp::Ordering::Equal if flags & !COMPRESSED != 0 => Err(Error::Unreadable),
        std::cmp::Ordering::Equal => Ok((flags == COMPRESSED, message)),
    }
}
