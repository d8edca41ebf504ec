//! The whole message of a request, before its service is called: in time, alone, and within the limits.

use std::{
    future::poll_fn,
    io::Read as _,
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use flate2::read::GzDecoder;
use http::HeaderMap;
use http_body::{Body as _, Frame};
use tokio::time::{Instant, timeout_at};
use tonic::{Code, Status, body::Body};

use super::{
    blocking::{beside_others, run_heavy},
    error::Error,
    method::Method,
};
use crate::grpc::{
    Limits,
    budget::Hold,
    envelope::{self, COMPRESSED, HEAD_BYTES, Head},
    transport::Peer,
};
use promptd_contract::decode::{Violation, count_values};

/// How long a request may take to arrive.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a health check may take to arrive.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(5);
/// What each value of a request counts for beside its bytes: decoded it takes about so much.
const VALUE_BYTES: usize = 256;

/// From this size on, and with more values than so many, no other call may wait behind what is done with a request.
pub(crate) const LARGE_BYTES: usize = 64 << 10;
pub(crate) const MANY_VALUES: usize = 500;

/// Among the extensions of a request whose work takes long.
#[derive(Clone, Copy)]
pub(crate) struct TakesLong;

/// A request's only message.
pub(super) struct Received {
    pub(super) message: Bytes,
    pub(super) takes_long: bool,
    /// It counts as unread until this is dropped.
    pub(super) hold: Option<Hold>,
}

/// How requests are received.
pub(super) struct Receiver<'a> {
    pub(super) method: Method,
    pub(super) peer: &'a Peer,
    pub(super) limits: &'a Limits,
    pub(super) max_message_bytes: usize,
    pub(super) gzip: bool,
}

impl Receiver<'_> {
    /// Waits for a request's only message.
    pub(super) async fn receive(&self, headers: &HeaderMap, body: Body, started: Instant) -> Result<Received, Status> {
        let (bytes, mut hold) = self.arrive(body, started).await?;
        let bytes = if is_gzip(&bytes, headers) && self.gzip {
            let max = self.max_message_bytes;
            let bytes = run_heavy(self.limits, move || decompress(&bytes, max)).await??;
            self.grow(&mut hold, bytes.len())?;
            bytes
        } else {
            bytes
        };
        let max_values = self.limits.request.load().max_values;
        let count = || count_values(self.method.name, &bytes[HEAD_BYTES..], max_values);
        let is_large = bytes.len() >= LARGE_BYTES;
        let values = beside_others(self.limits, is_large, count).await?;
        let values = values.map_err(|violation| Error::Invalid(vec![violation]))?;
        self.grow(&mut hold, values * VALUE_BYTES)?;
        Ok(Received { message: bytes, takes_long: is_large || values > MANY_VALUES, hold })
    }

    /// The message, complete, with its prefix.
    async fn arrive(&self, body: Body, started: Instant) -> Result<(Bytes, Option<Hold>), Status> {
        let is_health = self.method.is_health();
        let timeout = if is_health { HEALTH_TIMEOUT } else { REQUEST_TIMEOUT };
        let max = self.method.max_request_bytes(self.max_message_bytes);
        let mut body = pin!(body);
        let (mut first, mut rest) = (Bytes::new(), BytesMut::new());
        let (mut hold, mut waiting) = (None, None);
        loop {
            let frame = match poll_fn(|cx| Poll::Ready(body.as_mut().poll_frame(cx))).await {
                Poll::Ready(frame) => frame,
                Poll::Pending => {
                    if is_health && waiting.is_none() {
                        waiting = Some(self.peer.await_health_check().ok_or(Error::ConnectionFull)?);
                    }
                    let frame = timeout_at(started + timeout, next(body.as_mut()));
                    frame.await.map_err(|_| Error::RequestTimeout)?
                }
            };
            let data = match frame {
                None => break,
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
                Some(Err(status)) if !status.details().is_empty() => return Err(status),
                Some(Err(status)) if status.code() == Code::Internal => return Err(Error::Unreadable.into()),
                Some(Err(_)) => return Err(Error::Incomplete.into()),
            };
            if !is_health {
                self.grow(&mut hold, data.len())?;
            }
            if first.is_empty() && rest.is_empty() {
                first = data;
            } else {
                rest.extend_from_slice(&std::mem::take(&mut first));
                rest.extend_from_slice(&data);
            }
            let arrived = if rest.is_empty() { &first[..] } else { &rest[..] };
            check_length(arrived, max)?;
        }
        let bytes = if rest.is_empty() { first } else { rest.freeze() };
        if Head::of(&bytes).is_none_or(|head| head.length > bytes.len() - HEAD_BYTES) {
            return Err(Error::Incomplete.into());
        }
        Ok((bytes, hold))
    }

    fn grow(&self, hold: &mut Option<Hold>, bytes: usize) -> Result<(), Error> {
        let result = match hold {
            Some(hold) => hold.grow(bytes),
            None if bytes == 0 || self.method.is_health() => Ok(()),
            None => self.peer.unread().hold(bytes).map(|new| *hold = Some(new)),
        };
        result.map_err(|exhausted| Error::exhausted(exhausted, self.limits.retry()))
    }
}

/// The whole body of a request that does not come as gRPC. It counts as unread until the [`Hold`] is dropped.
pub(crate) async fn collect(
    body: Body,
    max: usize,
    peer: &Peer,
    limits: &Limits,
) -> Result<(Bytes, Option<Hold>), Status> {
    let mut body = pin!(body);
    let (mut collected, mut hold) = (BytesMut::new(), None::<Hold>);
    while let Some(frame) = next(body.as_mut()).await {
        let data = frame?.into_data().unwrap_or_default();
        if collected.len() + data.len() > max {
            return Err(Error::MessageTooLarge { limit: max }.into());
        }
        let counted = match &mut hold {
            Some(hold) => hold.grow(data.len()),
            None => peer.unread().hold(data.len()).map(|new| hold = Some(new)),
        };
        counted.map_err(|exhausted| Error::exhausted(exhausted, limits.retry()))?;
        collected.extend_from_slice(&data);
    }
    Ok((collected.freeze(), hold))
}

async fn next(mut body: Pin<&mut Body>) -> Option<Result<Frame<Bytes>, Status>> {
    poll_fn(|cx| body.as_mut().poll_frame(cx)).await
}

/// That the message is not too large, and that no other follows.
fn check_length(arrived: &[u8], max: usize) -> Result<(), Error> {
    let Some(Head { length, .. }) = Head::of(arrived) else { return Ok(()) };
    if length > max {
        return Err(Error::MessageTooLarge { limit: max });
    }
    if arrived.len() - HEAD_BYTES > length {
        let message = "this method takes one request message, and there is more after it".to_owned();
        return Err(Error::Invalid(vec![Violation { field: String::new(), message }]));
    }
    Ok(())
}

fn is_gzip(message: &[u8], headers: &HeaderMap) -> bool {
    message[0] == COMPRESSED && headers.get("grpc-encoding").is_some_and(|encoding| encoding == "gzip")
}

/// The message without compression, which its values are counted in.
fn decompress(message: &[u8], max: usize) -> Result<Bytes, Error> {
    let mut bytes = Vec::new();
    gunzip(&message[HEAD_BYTES..], max, &mut bytes)?;
    Ok(envelope::framed(0, &bytes))
}

/// Adds what was compressed to `message`, `max` bytes at most.
pub(crate) fn gunzip(compressed: &[u8], max: usize, message: &mut Vec<u8>) -> Result<(), Error> {
    let most = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    let length = GzDecoder::new(compressed).take(most).read_to_end(message).map_err(|_| Error::Unreadable)?;
    if length > max { Err(Error::MessageTooLarge { limit: max }) } else { Ok(()) }
}
