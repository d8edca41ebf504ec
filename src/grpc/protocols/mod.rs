//! The protocols that a call can come by: gRPC, gRPC-Web, Connect with JSON or protobuf, and MCP. Whatever it comes by, it is a
//! gRPC call before anything else looks at it, so that tokens, limits, deadlines and metrics are the same for all.

mod account;
mod connect;
mod http;
#[cfg(feature = "inspector")]
mod inspector;
#[cfg(feature = "mcp")]
mod mcp;
mod pages;

#[cfg(feature = "inspector")]
pub(super) use inspector::{InspectorService, Site};
#[cfg(feature = "mcp")]
pub(super) use mcp::McpCalls;

use std::{
    convert::Infallible,
    future::ready,
    sync::Arc,
    task::{Context, Poll},
};

use ::http::{Request, Response, StatusCode, Version, header::CONTENT_TYPE};
use tonic::body::Body;
use tower::{Layer as _, Service};
use tower_http::cors::CorsLayer;

use self::{account::Account, connect::Connect, http::Http, pages::Pages};
use super::{
    Access, Limits, Options, Telemetry,
    pipeline::{Calls, ResponseFuture},
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
    account: Account,
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
        let http = Http::new(calls.clone(), connect, options);
        let cors = options.web.as_ref().map(pages::cors);
        let account = Account::new(limits, telemetry);
        Self(Arc::new(Shared { calls, account, http, pages: Pages::new(access, options), cors }))
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
        self.0.account.count(request, |request| {
            let mut http = self.0.http.clone();
            match (self.0.pages.check(&request), &self.0.cors) {
                (Err((refused, error)), _) => {
                    Box::pin(ready(Ok(connect::refuse(StatusCode::FORBIDDEN, refused, error))))
                }
                (Ok(()), Some(cors)) => Box::pin(cors.layer(http).call(request)),
                (Ok(()), None) => http.call(request),
            }
        })
    }
}

/// Whether it is gRPC's own protocol: `application/grpc`, perhaps with what its messages are.
fn is_grpc(request: &Request<Body>) -> bool {
    let rest = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.as_bytes().strip_prefix(b"application/grpc"));
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}
