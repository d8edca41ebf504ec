//! The message of a request, on its way to the call.

use std::{
    cmp::Ordering,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::Frame;
use prost_reflect::MessageDescriptor;
use tonic::{Status, body::Body};

use super::{
    compression::gunzip,
    procedure::{Codec, ContentType},
};
use crate::grpc::{
    Limits,
    envelope::{self, COMPRESSED, HEAD_BYTES, Head},
    pipeline::{Error, collect, run_heavy},
    transport::Peer,
};
use promptd_contract::json;

/// Messages from this size on are read on a blocking thread, and so is what is compressed: no other call waits behind them.
const LARGE_BYTES: usize = 8 << 10;

/// A request's message that has not been read.
pub(super) struct Incoming {
    pub(super) body: Body,
    pub(super) reading: Reading,
    pub(super) peer: Peer,
    pub(super) limits: Arc<Limits>,
}

/// How to read it.
pub(super) struct Reading {
    pub(super) content_type: ContentType,
    pub(super) gzipped: bool,
    /// `None`: there is no such method, and the message does not matter.
    pub(super) input: Option<MessageDescriptor>,
    pub(super) max_bytes: usize,
    pub(super) max_values: usize,
}

impl Incoming {
    /// Reads it to its end, as a message of gRPC.
    pub(super) async fn read(self) -> Result<Bytes, Status> {
        let Self { body, reading, peer, limits } = self;
        if reading.input.is_none() {
            return Ok(Bytes::new());
        }
        let envelope = if reading.content_type.enveloped { HEAD_BYTES } else { 0 };
        let (body, _hold) = collect(body, reading.max_bytes.saturating_add(envelope), &peer, &limits).await?;
        let message = if reading.gzipped || body.len() >= LARGE_BYTES {
            run_heavy(&limits, move || reading.read(body)).await?
        } else {
            reading.read(body)
        };
        Ok(message?)
    }
}

impl Reading {
    fn read(&self, body: Bytes) -> Result<Bytes, Error> {
        let (compressed, message) = if self.content_type.enveloped {
            let (compressed, message) = only(&body)?;
            (compressed, body.slice_ref(message))
        } else {
            (self.gzipped, body)
        };
        let message = match (compressed, self.gzipped) {
            (true, true) => gunzip(&message, self.max_bytes)?,
            (true, false) => return Err(Error::Unreadable),
            (false, _) => message,
        };
        match (self.content_type.codec, &self.input) {
            (Codec::Json, Some(input)) => {
                let message = json::read(input, &message, self.max_values).map_err(Error::Invalid)?;
                Ok(envelope::framed(0, &message))
            }
            (Codec::Proto, _) | (_, None) => Ok(envelope::framed(0, &message)),
        }
    }
}

/// The only message of a body, and whether it is compressed. Methods whose callers stream are gRPC's alone.
pub(super) fn only(body: &[u8]) -> Result<(bool, &[u8]), Error> {
    let Head { flags, length } = Head::of(body).ok_or(Error::Incomplete)?;
    let message = &body[HEAD_BYTES..];
    match message.len().cmp(&length) {
        Ordering::Less => Err(Error::Incomplete),
        Ordering::Greater => Err(Error::Unimplemented("a request of this method has one message".into())),
        Ordering::Equal if flags & !COMPRESSED != 0 => Err(Error::Unreadable),
        Ordering::Equal => Ok((flags == COMPRESSED, message)),
    }
}

/// A body of one piece of data, made when it is asked for.
pub(super) struct Later(Option<Making>);

type Making = Pin<Box<dyn Future<Output = Result<Bytes, Status>> + Send>>;

impl Later {
    pub(super) fn new(making: impl Future<Output = Result<Bytes, Status>> + Send + 'static) -> Self {
        Self(Some(Box::pin(making)))
    }
}

impl http_body::Body for Later {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Some(making) = &mut self.0 else { return Poll::Ready(None) };
        making.as_mut().poll(cx).map(|made| {
            self.0 = None;
            Some(made.map(Frame::data))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }
}
