//! The protocols that a call can come by: gRPC, gRPC-Web, and Connect with JSON or protobuf. Whatever it comes by, it is a
//! gRPC call before anything else looks at it, so that tokens, limits, deadlines and metrics are the same for all.

mod connect;
mod http;
mod web;

use std::{
    convert::Infallible,
    sync::Arc,
    task::{Context, Poll},
};

use ::http::{Request, Response, Version, header::CONTENT_TYPE};
use tonic::body::Body;
use tower::{Layer as _, Service};
use tower_http::cors::CorsLayer;

use self::{connect::Connect, http::Http};
use super::{
    Limits, Options,
    pipeline::{Calls, ResponseFuture},
};

/// All protocols of the server, in front of its calls.
#[derive(Clone)]
pub(super) struct Protocols(Arc<Shared>);

struct Shared {
    calls: Calls,
    /// What does not come by gRPC.
    http: Http,
    /// The same, with the headers that let pages read the answer. `None`: no page may call.
    pages: Option<CorsLayer>,
}

impl Protocols {
    pub(super) fn new(calls: Calls, options: &Options, limits: Arc<Limits>) -> Self {
        let connect = Connect::new(calls.clone(), options, limits);
        let http = Http::new(calls.clone(), connect, options.web.is_some());
        Self(Arc::new(Shared { calls, http, pages: options.web.as_ref().map(web::cors) }))
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
        if request.version() == Version::HTTP_2 && is_grpc(&request) {
            return self.0.calls.clone().call(request);
        }
        let mut http = self.0.http.clone();
        match &self.0.pages {
            Some(pages) => Box::pin(pages.layer(http).call(request)),
            None => http.call(request),
        }
    }
}

/// Whether it is gRPC's own protocol: `application/grpc`, perhaps with what its messages are.
fn is_grpc(request: &Request<Body>) -> bool {
    let rest = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.as_bytes().strip_prefix(b"application/grpc"));
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}
