//! The codec of the contract's services: protobuf, in a buffer of the answer's size.

use std::marker::PhantomData;

use prost::Message;
use tonic::{
    Status,
    codec::{BufferSettings, Codec, EncodeBuf, Encoder},
};
use tonic_prost::ProstDecoder;

/// The buffer's size before the answer is known: enough for a frame's header and a small answer.
const FIRST_BYTES: usize = 256;
/// How many bytes of a stream's ready messages are sent together, as in tonic.
const YIELD_BYTES: usize = 32 << 10;

/// Like `tonic_prost::ProstCodec`, which starts with 8 KiB and doubles its buffer while an answer is written, so that a
/// prompt is copied once or twice; this one reserves the whole answer's size first.
#[derive(Debug, Clone)]
pub(crate) struct Prost<T, U>(PhantomData<(T, U)>);

/// Encodes messages.
#[derive(Debug, Clone)]
pub(crate) struct ProstEncoder<T>(PhantomData<T>);

impl<T, U> Default for Prost<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T: Message + 'static, U: Message + Default + 'static> Codec for Prost<T, U> {
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = ProstDecoder<U>;

    fn encoder(&mut self) -> ProstEncoder<T> {
        ProstEncoder(PhantomData)
    }

    fn decoder(&mut self) -> ProstDecoder<U> {
        ProstDecoder::default()
    }
}

impl<T: Message> Encoder for ProstEncoder<T> {
    type Item = T;
    type Error = Status;

    fn encode(&mut self, item: T, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.reserve(item.encoded_len());
        item.encode(buffer).map_err(|error| Status::internal(error.to_string()))
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::new(FIRST_BYTES, YIELD_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, pin::pin};

    use bytes::Bytes;
    use http_body::Body as _;
    use tonic::codec::{CompressionEncoding, EncodeBody, SingleMessageCompressionOverride};
    use tonic_prost::ProstCodec;

    use super::*;

    /// The data of an answer's body, frame by frame.
    async fn frames(
        mut codec: impl Codec<Encode = String, Encoder: Encoder<Item = String, Error = Status>>,
        text: &str,
        gzip: bool,
    ) -> Vec<Bytes> {
        let messages = tokio_stream::iter([Ok(text.to_owned())]);
        let (gzip, may) = (gzip.then_some(CompressionEncoding::Gzip), SingleMessageCompressionOverride::default());
        let mut body = pin!(EncodeBody::new_server(codec.encoder(), messages, gzip, may, None));
        let mut frames = Vec::new();
        while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            frames.extend(frame.unwrap().into_data());
        }
        frames
    }

    #[tokio::test]
    async fn an_answer_of_any_size_is_one_frame_as_tonic_writes_it() {
        for size in [0, 1, FIRST_BYTES, 8 << 10, 20_000, 1 << 20] {
            for gzip in [false, true] {
                let text = "x".repeat(size);
                let written = frames(Prost::<String, String>::default(), &text, gzip).await;
                assert_eq!(written.len(), 1);
                assert_eq!(written, frames(ProstCodec::<String, String>::default(), &text, gzip).await);
            }
        }
    }
}
