//! gRPC-Web for browsers, on the contract's own services: off unless it is configured.
//!
//! tonic-web as a layer around the whole server would answer 400 to every other request, so requests are distinguished
//! by their path.

use std::{
    convert::Infallible,
    task::{Context, Poll},
};

use http::{HeaderName, Request, Response};
use tonic::body::Body;
use tonic_web::{GrpcWebLayer, GrpcWebService};
use tower::{Layer as _, Service};
use tower_http::cors::{AllowOrigin, Cors, CorsLayer};

use super::call::ResponseFuture;
use crate::grpc::Origins;

/// The start of every path of the contract's services.
const CONTRACT: &str = "/promptd.v1.";
/// The response headers that a browser's script may read.
const EXPOSED: [HeaderName; 4] = [
    HeaderName::from_static("grpc-status"),
    HeaderName::from_static("grpc-message"),
    HeaderName::from_static("grpc-status-details-bin"),
    HeaderName::from_static("x-request-id"),
];

/// A service, also by gRPC-Web.
#[derive(Clone)]
pub(crate) struct Web<S> {
    plain: S,
    /// Boxed, since all of this is cloned for every request.
    web: Option<Box<Cors<GrpcWebService<S>>>>,
}

impl<S: Clone> Web<S> {
    pub(crate) fn new(plain: S, origins: Option<&Origins>) -> Self {
        let web = origins.map(|origins| Box::new(cors(origins).layer(GrpcWebLayer::new().layer(plain.clone()))));
        Self { plain, web }
    }
}

fn cors(origins: &Origins) -> CorsLayer {
    let origins = match origins {
        Origins::Any => AllowOrigin::any(),
        Origins::Listed(origins) => AllowOrigin::list(origins.iter().map(|origin| origin.header().clone())),
    };
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([http::Method::POST])
        .allow_headers(tower_http::cors::AllowHeaders::mirror_request())
        .expose_headers(EXPOSED)
}

impl<S> Service<Request<Body>> for Web<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future = ResponseFuture>
        + Clone
        + Send
        + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.plain.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> ResponseFuture {
        match &mut self.web {
            Some(web) if request.uri().path().starts_with(CONTRACT) => Box::pin(web.call(request)),
            _ => self.plain.call(request),
        }
    }
}
