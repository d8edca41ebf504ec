//! Requests that are not gRPC's own, counted on their connection until their answers are sent.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body::{Body as _, Frame, SizeHint};
use tonic::{Status, body::Body};

use super::{Refused, connect};
use crate::grpc::{
    Limits, Telemetry,
    pipeline::{Error, Method, ResponseFuture},
    transport::Peer,
};

/// What requests and their answers are counted by.
pub(super) struct Account {
    limits: Arc<Limits>,
    telemetry: Arc<dyn Telemetry>,
}

/// Marks an answer whose bytes are the program's own, and take no memory however many wait to be sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct BuiltIn;

impl Account {
    pub(super) fn new(limits: Arc<Limits>, telemetry: Arc<dyn Telemetry>) -> Self {
        Self { limits, telemetry }
    }

    /// Answers a request with `answer`, and counts both.
    pub(super) fn count(
        &self,
        request: Request<Body>,
        answer: impl FnOnce(Request<Body>) -> ResponseFuture,
    ) -> ResponseFuture {
        let (peer, method) = (Peer::of(request.extensions(), &self.limits), Method::of(request.uri().path()));
        let (answer, calling) = (answer(request), peer.calling());
        let telemetry = Arc::clone(&self.telemetry);
        Box::pin(async move {
            let response = answer.await?;
            if let Some(refused) = response.extensions().get::<Refused>() {
                telemetry.request_refused(refused.as_str());
            }
            drop(calling);
            if method.is_health() && !method.streams() || !is_answer(&response) {
                return Ok(small_answer(&peer, response));
            }
            let streams = method.streams() || is_event_stream(&response);
            let Some(bytes) = response.body().size_hint().exact() else {
                return Ok(response.map(|body| Body::new(Counted { body, peer, streams })));
            };
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            let full = |_| connect::failed(StatusCode::TOO_MANY_REQUESTS, Error::ConnectionFull);
            Ok(peer.whole_answer(response, bytes).unwrap_or_else(|e| small_answer(&peer, full(e))))
        })
    }
}

/// Whether it is the answer to a call, and neither a refusal nor built in.
fn is_answer(response: &Response<Body>) -> bool {
    response.status() == StatusCode::OK
        && !response.headers().contains_key(Status::GRPC_STATUS)
        && response.extensions().get::<BuiltIn>().is_none()
}

fn small_answer(peer: &Peer, response: Response<Body>) -> Response<Body> {
    let content = own_bytes(&response);
    peer.small_answer(response, content)
}

/// How many bytes of an answer's body are in memory for it alone.
fn own_bytes(response: &Response<Body>) -> usize {
    if response.extensions().get::<BuiltIn>().is_some() {
        return 0;
    }
    response.body().size_hint().exact().map_or(0, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
}

fn is_event_stream(response: &Response<Body>) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// An answer in another form than gRPC's, whose bytes are counted as those are.
struct Counted {
    body: Body,
    peer: Peer,
    streams: bool,
}

impl http_body::Body for Counted {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        Poll::Ready(frame.map(|frame| match frame?.into_data() {
            Ok(data) => {
                let counted = if self.streams { self.peer.message(data) } else { self.peer.answer(data) };
                counted.map(Frame::data).map_err(|_| Error::ConnectionFull.into())
            }
            Err(frame) => Ok(frame),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;

    use super::*;

    #[test]
    fn what_is_built_in_takes_no_memory_for_an_answer() {
        let mut answer = Response::new(Body::new(Full::from("too many")));
        assert_eq!(own_bytes(&answer), 8);
        answer.extensions_mut().insert(BuiltIn);
        assert_eq!(own_bytes(&answer), 0);
    }
}
