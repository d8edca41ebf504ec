//! The protocols that a call can come by: gRPC, gRPC-Web, and Connect with JSON or protobuf. Whatever it comes by, it is a
//! gRPC call before anything else looks at it, so that tokens, limits, deadlines and metrics are the same for all.

mod connect;
mod http;
mod pages;

use std::{
    convert::Infallible,
    future::ready,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use ::http::{Request, Response, StatusCode, Version, header::CONTENT_TYPE};
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use tonic::{Status, body::Body};
use tower::{Layer as _, Service};
use tower_http::cors::CorsLayer;

use self::{connect::Connect, http::Http, pages::Pages};
use super::{
    Access, Limits, Options, Telemetry,
    pipeline::{Calls, Error, Method, ResponseFuture},
    transport::Peer,
};

/// All protocols of the server, in front of its calls.
#[derive(Clone)]
pub(super) struct Protocols(Arc<Shared>);

/// What is wrong with a request that is refused before it is a call.
#[derive(Debug, Clone, Copy)]
enum Refused {
    Host,
    Origin,
    Path,
    Verb,
    ContentType,
    HttpVersion,
    GrpcWeb,
}

impl Refused {
    /// Its name in metrics.
    fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Path => "path",
            Self::Verb => "verb",
            Self::ContentType => "content_type",
            Self::HttpVersion => "http_version",
            Self::GrpcWeb => "grpc_web",
        }
    }
}

struct Shared {
    calls: Calls,
    telemetry: Arc<dyn Telemetry>,
    limits: Arc<Limits>,
    /// What does not come by gRPC.
    http: Http,
    pages: Pages,
    /// The headers that let pages read an answer. `None`: no page may call.
    cors: Option<CorsLayer>,
}

impl Protocols {
    pub(super) fn new(
        calls: Calls,
        options: &Options,
        limits: Arc<Limits>,
        access: Arc<Access>,
        telemetry: Arc<dyn Telemetry>,
    ) -> Self {
        let connect = Connect::new(calls.clone(), options, Arc::clone(&limits));
        let http = Http::new(calls.clone(), connect, options.web.is_some());
        let cors = options.web.as_ref().map(pages::cors);
        Self(Arc::new(Shared { calls, telemetry, limits, http, pages: Pages::new(access, options), cors }))
    }
}

impl Service<Request<Body>> for Protocols {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> ResponseFuture {
        if let Some(peer) = request.extensions().get::<Peer>() {
            peer.add_request();
        }
        if request.version() == Version::HTTP_2 && is_grpc(&request) {
            return self.0.calls.clone().call(request);
        }
        let (peer, method) = (Peer::of(request.extensions(), &self.0.limits), Method::of(request.uri().path()));
        let mut http = self.0.http.clone();
        let answer: ResponseFuture = match (self.0.pages.check(&request), &self.0.cors) {
            (Err((refused, error)), _) => Box::pin(ready(Ok(connect::refuse(StatusCode::FORBIDDEN, refused, error)))),
            (Ok(()), Some(cors)) => Box::pin(cors.layer(http).call(request)),
            (Ok(()), None) => http.call(request),
        };
        let calling = peer.calling();
        let telemetry = Arc::clone(&self.0.telemetry);
        Box::pin(async move {
            let response = answer.await?;
            if let Some(refused) = response.extensions().get::<Refused>() {
                telemetry.request_refused(refused.as_str());
            }
            drop(calling);
            if method.is_health() && !method.streams() || !is_answer(&response) {
                return Ok(peer.small_answer(response));
            }
            let Some(bytes) = response.body().size_hint().exact() else {
                return Ok(response.map(|body| Body::new(Counted { body, peer, streams: method.streams() })));
            };
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            let full = |_| connect::failed(StatusCode::TOO_MANY_REQUESTS, Error::ConnectionFull);
            Ok(peer.whole_answer(response, bytes).unwrap_or_else(|e| peer.small_answer(full(e))))
        })
    }
}

/// Whether it is the answer to a call, and no refusal.
fn is_answer(response: &Response<Body>) -> bool {
    response.status() == StatusCode::OK && !response.headers().contains_key(Status::GRPC_STATUS)
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

/// Whether it is gRPC's own protocol: `application/grpc`, perhaps with what its messages are.
fn is_grpc(request: &Request<Body>) -> bool {
    let rest = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.as_bytes().strip_prefix(b"application/grpc"));
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}
