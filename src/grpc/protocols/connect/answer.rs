//! The answer to a call, from gRPC to Connect.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use http::{
    HeaderMap, HeaderName, HeaderValue, Response, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full};
use prost_reflect::MessageDescriptor;
use serde_json::{Map, Value};
use tonic::{Code, Status, body::Body};

use super::{
    compression::gzip,
    error,
    message::only,
    procedure::{Codec, ContentType},
};
use crate::grpc::{
    Limits,
    envelope::{self, COMPRESSED},
    pipeline::{Error, run_heavy},
};
use promptd_contract::json;

const GZIP: HeaderValue = HeaderValue::from_static("gzip");

/// Answers from this size on are written as JSON on a blocking thread: a page of 300 workspaces takes milliseconds. Most prompts
/// are smaller, and waiting for a thread would cost them more than it saves others.
const LARGE_JSON_BYTES: usize = 32 << 10;

/// The flag of a stream's last message, which says how it ended.
const END: u8 = 2;

/// How to write an answer.
pub(super) struct Outgoing {
    pub(super) content_type: ContentType,
    /// `None`: there is no such method.
    pub(super) output: Option<MessageDescriptor>,
    pub(super) gzip: bool,
    pub(super) limits: Arc<Limits>,
}

impl Outgoing {
    pub(super) async fn answer(self, response: Response<Body>) -> Response<Body> {
        let (head, body) = response.into_parts();
        let failed = failure(&head.headers);
        let headers = own(head.headers);
        match (&self.output, failed) {
            (None, failed) => {
                let status = failed.unwrap_or_else(|| Error::Internal.into());
                let missing = status.code() == Code::Unimplemented;
                let http = if missing { StatusCode::NOT_FOUND } else { error::http_status(status.code()) };
                error::respond(http, headers, &status)
            }
            (Some(_), failed) if self.content_type.enveloped => self.stream(headers, body, failed),
            (Some(_), Some(status)) => error::respond(error::http_status(status.code()), headers, &status),
            (Some(output), None) => match self.unary(output, body).await {
                Ok((message, trailers)) => {
                    let mut response = Response::new(Body::new(Full::from(message)));
                    *response.headers_mut() = headers;
                    response.headers_mut().extend(trailers);
                    response.headers_mut().insert(CONTENT_TYPE, self.content_type.header());
                    if self.gzip {
                        response.headers_mut().insert(CONTENT_ENCODING, GZIP);
                    }
                    response
                }
                Err(status) => error::respond(error::http_status(status.code()), headers, &status),
            },
        }
    }

    /// The one message of the answer, and the trailers as headers.
    async fn unary(&self, output: &MessageDescriptor, body: Body) -> Result<(Bytes, HeaderMap), Status> {
        let (message, trailers) = single(body).await?;
        let (codec, compressed) = (self.content_type.codec, self.gzip);
        let message = if compressed || (codec == Codec::Json && message.len() >= LARGE_JSON_BYTES) {
            let output = output.clone();
            run_heavy(&self.limits, move || written(codec, compressed, &output, message)).await?
        } else {
            written(codec, compressed, output, message)
        }?;
        let named = own(trailers).into_iter().filter_map(|(name, value)| {
            let name = HeaderName::try_from(format!("trailer-{}", name?)).ok()?;
            Some((name, value))
        });
        Ok((message, named.collect()))
    }

    /// A stream ends with a message that says how, also where it ends at once.
    fn stream(self, mut headers: HeaderMap, body: Body, failed: Option<Status>) -> Response<Body> {
        headers.insert(CONTENT_TYPE, self.content_type.header());
        if self.gzip {
            headers.insert("connect-content-encoding", GZIP);
        }
        let mut stream = Stream { inner: Some(body), waiting: BytesMut::new(), ended: None, outgoing: self };
        if let Some(status) = failed {
            stream.end(Some(&status), HeaderMap::new());
        }
        let mut response = Response::new(Body::new(stream));
        *response.headers_mut() = headers;
        response
    }
}

/// The only message of an answer by gRPC, and its trailers.
pub(in crate::grpc::protocols) async fn single(body: Body) -> Result<(Bytes, HeaderMap), Status> {
    let body = body.collect().await?;
    let trailers = body.trailers().cloned().unwrap_or_default();
    if let Some(status) = failure(&trailers) {
        return Err(status);
    }
    let frame = body.to_bytes();
    let (_, message) = only(&frame)?;
    Ok((frame.slice_ref(message), trailers))
}

/// What went wrong, if headers or trailers say that something did.
pub(in crate::grpc::protocols) fn failure(headers: &HeaderMap) -> Option<Status> {
    Status::from_header_map(headers).filter(|status| status.code() != Code::Ok)
}

/// The headers that are not gRPC's.
fn own(mut headers: HeaderMap) -> HeaderMap {
    headers.remove(CONTENT_TYPE);
    let grpc: Vec<_> = headers.keys().filter(|name| name.as_str().starts_with("grpc-")).cloned().collect();
    for name in grpc {
        headers.remove(name);
    }
    headers
}

/// A message as the caller reads it.
fn written(codec: Codec, compressed: bool, output: &MessageDescriptor, message: Bytes) -> Result<Bytes, Error> {
    let message = match codec {
        Codec::Proto => message,
        Codec::Json => json::write(output, &message).map(Bytes::from).ok_or(Error::Internal)?,
    };
    if compressed { gzip(&message).map_err(|_| Error::Internal) } else { Ok(message) }
}

/// The body of a stream.
struct Stream {
    /// `None`: it has ended.
    inner: Option<Body>,
    /// What has come of the next message.
    waiting: BytesMut,
    /// The last message, to be sent.
    ended: Option<Bytes>,
    outgoing: Outgoing,
}

impl Stream {
    /// The next message in its envelope, once all of it is there.
    fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let Some((_, message)) = envelope::take(&mut self.waiting) else { return Ok(None) };
        let Outgoing { content_type, output, gzip, .. } = &self.outgoing;
        let Some(output) = output else { return Ok(None) };
        let message = written(content_type.codec, *gzip, output, message)?;
        Ok(Some(envelope::framed(if *gzip { COMPRESSED } else { 0 }, &message)))
    }

    fn end(&mut self, status: Option<&Status>, trailers: HeaderMap) {
        let mut last = Map::new();
        if let Some(status) = status {
            last.insert("error".into(), error::to_json(status));
        }
        let mut metadata = Map::new();
        for (name, value) in &own(trailers) {
            let values = metadata.entry(name.as_str()).or_insert_with(|| Value::Array(Vec::new()));
            if let (Value::Array(values), Ok(value)) = (values, value.to_str()) {
                values.push(value.into());
            }
        }
        if !metadata.is_empty() {
            last.insert("metadata".into(), metadata.into());
        }
        self.inner = None;
        self.ended = Some(envelope::framed(END, Value::Object(last).to_string().as_bytes()));
    }
}

impl http_body::Body for Stream {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        loop {
            match this.next() {
                Ok(Some(message)) => return Poll::Ready(Some(Ok(Frame::data(message)))),
                Ok(None) => {}
                Err(error) => this.end(Some(&error.into()), HeaderMap::new()),
            }
            let Some(inner) = &mut this.inner else {
                return Poll::Ready(this.ended.take().map(|last| Ok(Frame::data(last))));
            };
            match ready!(Pin::new(inner).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.waiting.extend_from_slice(&data),
                    Err(frame) => {
                        let trailers = frame.into_trailers().unwrap_or_default();
                        this.end(failure(&trailers).as_ref(), trailers);
                    }
                },
                Some(Err(status)) => this.end(Some(&status), HeaderMap::new()),
                None => this.end(Some(&Error::Internal.into()), HeaderMap::new()),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_none() && self.ended.is_none()
    }
}
