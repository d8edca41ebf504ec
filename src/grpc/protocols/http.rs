//! Requests that are not gRPC's own: by which protocol they call, or why they cannot.

use std::{
    convert::Infallible,
    future::ready,
    task::{Context, Poll},
};

use http::{
    HeaderValue, Method as Verb, Request, Response, StatusCode,
    header::{ALLOW, CONTENT_TYPE, HeaderName},
};
use tonic::body::Body;
use tonic_web::{GrpcWebLayer, GrpcWebService};
use tower::{Layer as _, Service};

#[cfg(feature = "mcp")]
use super::mcp::Mcp;
use super::{
    Refused,
    connect::{self, Connect, ContentType},
    is_grpc,
};
use crate::grpc::{
    Options,
    pipeline::{Calls, Error, Method, ResponseFuture, respond},
};

/// Says which content types a path takes.
const ACCEPT_POST: HeaderName = HeaderName::from_static("accept-post");

/// What `GET /` answers.
const ABOUT: &str =
    "promptd assembles prompts: call it by gRPC, or POST JSON to /promptd.v1.PromptService/AssemblePrompt\n";

/// The protocols but gRPC's own.
#[derive(Clone)]
pub(super) struct Http {
    connect: Connect,
    /// `None`: no pages may call.
    web: Option<GrpcWebService<Calls>>,
    /// `None`: clients of the Model Context Protocol are not served.
    #[cfg(feature = "mcp")]
    mcp: Option<Mcp>,
}

impl Http {
    pub(super) fn new(calls: Calls, connect: Connect, options: &Options) -> Self {
        Self {
            connect,
            #[cfg(feature = "mcp")]
            mcp: options.mcp.then(|| Mcp::new(calls.clone())),
            web: options.web.is_some().then(|| GrpcWebLayer::new().layer(calls)),
        }
    }
}

impl Service<Request<Body>> for Http {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> ResponseFuture {
        if is_grpc_web(&request) {
            return match &mut self.web {
                Some(web) => Box::pin(web.call(request)),
                None => answer(no_grpc_web(&request)),
            };
        }
        if is_grpc(&request) {
            let why =
                "gRPC needs HTTP/2; over HTTP/1.1 call by the Connect protocol, with `content-type: application/json`";
            return answer(connect::refuse(
                StatusCode::HTTP_VERSION_NOT_SUPPORTED,
                Refused::HttpVersion,
                Error::Unimplemented(why.into()),
            ));
        }
        #[cfg(feature = "mcp")]
        if let Some(mcp) = self.mcp.as_ref().filter(|_| promptd_mcp::is_at(request.uri())) {
            return mcp.answer(request);
        }
        self.plain(request)
    }
}

impl Http {
    /// A call by the Connect protocol, or no call.
    fn plain(&self, request: Request<Body>) -> ResponseFuture {
        let path = request.uri().path();
        let verb = request.method();
        let procedure = self.connect.procedure(path);
        let content_type = request.headers().get(CONTENT_TYPE).and_then(ContentType::of);
        match *verb {
            Verb::GET | Verb::HEAD if path == "/" => answer(about(verb)),
            Verb::GET => match procedure {
                Some(procedure) if procedure.by_get => self.connect.get(procedure, request),
                Some(_) => answer(wrong_verb("POST")),
                None => answer(no_procedure(path)),
            },
            Verb::POST => match (procedure, content_type) {
                (Some(procedure), Some(content_type)) if content_type.fits(procedure) => {
                    self.connect.post(Some(procedure), content_type, request)
                }
                (Some(procedure), _) => answer(wrong_type(procedure.accepts(), &request)),
                (None, _) if Method::of(path).service.is_some() => {
                    answer(wrong_type("application/grpc, application/grpc-web", &request))
                }
                // As a call like any other, so that it is counted, and a stranger learns nothing.
                (None, Some(content_type)) => self.connect.post(None, content_type, request),
                (None, None) => answer(unknown(path)),
            },
            _ => match procedure {
                Some(procedure) if procedure.by_get => answer(wrong_verb("GET, POST")),
                Some(_) => answer(wrong_verb("POST")),
                None => answer(no_procedure(path)),
            },
        }
    }
}

fn answer(response: Response<Body>) -> ResponseFuture {
    Box::pin(ready(Ok(response)))
}

fn is_grpc_web(request: &Request<Body>) -> bool {
    request.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc-web"))
}

fn no_grpc_web(request: &Request<Body>) -> Response<Body> {
    let why = "gRPC-Web is off; `grpc.web_origins` lists the origins whose pages may call";
    let mut response = respond(Error::Unimplemented(why.into()).into());
    response.extensions_mut().insert(Refused::GrpcWeb);
    if let Some(kind) = request.headers().get(CONTENT_TYPE) {
        response.headers_mut().insert(CONTENT_TYPE, kind.clone());
    }
    response
}

fn about(verb: &Verb) -> Response<Body> {
    let text = if verb == Verb::HEAD { Body::empty() } else { Body::new(http_body_util::Full::from(ABOUT)) };
    let mut response = Response::new(text);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// The answer to what is not posted to a path that the Connect protocol does not have: gRPC alone may.
fn no_procedure(path: &str) -> Response<Body> {
    if Method::of(path).service.is_some() { wrong_verb("POST") } else { unknown(path) }
}

fn unknown(path: &str) -> Response<Body> {
    connect::refuse(StatusCode::NOT_FOUND, Refused::Path, Method::unknown(path))
}

/// Says by which verbs an address is called.
pub(super) fn wrong_verb(allowed: &'static str) -> Response<Body> {
    let why = format!("this is called by {}", allowed.replace(", ", " or "));
    let mut response = connect::refuse(StatusCode::METHOD_NOT_ALLOWED, Refused::Verb, Error::Unimplemented(why));
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

pub(super) fn wrong_type(accepted: &'static str, request: &Request<Body>) -> Response<Body> {
    let given = request.headers().get(CONTENT_TYPE).map_or("none", |kind| kind.to_str().unwrap_or("another"));
    let why = format!("the `content-type` of this method must be one of {accepted}; this request has {given}");
    let mut response =
        connect::refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, Refused::ContentType, Error::Unimplemented(why));
    response.headers_mut().insert(ACCEPT_POST, HeaderValue::from_static(accepted));
    response
}
