//! What answers at the inspector's address: the page's files, and the contract's RPCs by the Connect protocol in JSON.
//! Nothing else does, and no other page may ask.

mod guard;

use std::{
    convert::Infallible,
    future::ready,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{
    HeaderValue, Method as Verb, Request, Response, StatusCode,
    header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE},
};
use http_body_util::Full;
use promptd_inspector::{assets, protect};
use serde_json::json;
use tonic::body::Body;
use tower::Service;

use self::guard::Guard;
use super::{
    Refused,
    account::{Account, BuiltIn},
    connect::{self, Connect, ContentType, Procedure},
    http::{wrong_type, wrong_verb},
};
use crate::grpc::{
    Limits, Options, Telemetry,
    pipeline::{Calls, Method, ResponseFuture},
    transport::Peer,
};

/// What the paths of the contract's RPCs start with.
const CONTRACT: &str = "/promptd.v1.";

/// The service at the inspector's address.
#[derive(Clone)]
pub(in crate::grpc) struct InspectorService(Arc<Shared>);

struct Shared {
    guard: Guard,
    connect: Connect,
    account: Account,
    info: Bytes,
    turn_schema: Bytes,
}

/// What the service is told of where it is.
pub(in crate::grpc) struct Site {
    pub(in crate::grpc) address: SocketAddr,
    /// It is called by `https`.
    pub(in crate::grpc) tls: bool,
    /// Calls need a token.
    pub(in crate::grpc) needs_token: bool,
    /// Conversations are stored.
    pub(in crate::grpc) has_memory: bool,
    /// The JSON Schema of turns.
    pub(in crate::grpc) turn_schema: Bytes,
}

impl InspectorService {
    pub(in crate::grpc) fn new(
        site: Site,
        calls: Calls,
        options: &Options,
        limits: Arc<Limits>,
        telemetry: Arc<dyn Telemetry>,
    ) -> Self {
        let Site { address, tls, needs_token, has_memory, turn_schema } = site;
        let info = json!({"version": env!("CARGO_PKG_VERSION"), "needsToken": needs_token, "hasMemory": has_memory});
        let info = info.to_string().into();
        let guard = Guard::new(address, options, tls);
        let connect = Connect::new(calls, options, Arc::clone(&limits));
        Self(Arc::new(Shared { guard, connect, account: Account::new(limits, telemetry), info, turn_schema }))
    }
}

impl Service<Request<Body>> for InspectorService {
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
        let answer = self.0.account.count(request, |request| match self.0.guard.check(&request) {
            Ok(()) => self.0.answer(request),
            Err(refused) => now(refusal(StatusCode::FORBIDDEN, refused, FORBIDDEN)),
        });
        Box::pin(async move {
            let mut response = answer.await?;
            protect(response.headers_mut());
            Ok(response)
        })
    }
}

const FORBIDDEN: &str =
    "403: this is for the inspector's own page, at an address of this server or a name of `grpc.hosts`\n";
const NOT_FOUND: &str = "404: the inspector has no such page; it starts at /\n";
const NOT_ALLOWED: &str = "405: this is read by GET or HEAD\n";

impl Shared {
    fn answer(&self, request: Request<Body>) -> ResponseFuture {
        let path = request.uri().path();
        if path.starts_with(CONTRACT) {
            return self.call(request);
        }
        let built_in = match path {
            "/info.json" => Some(data(self.info.clone())),
            "/schema/turn.json" => Some(data(self.turn_schema.clone())),
            _ => assets().get(path).map(|asset| asset.answer(request.headers())),
        };
        now(match (built_in, request.method()) {
            (Some(answer), &Verb::GET) => page(answer, Full::from),
            (Some(answer), &Verb::HEAD) => page(answer, |_| Full::default()),
            (Some(_), _) => not_read(),
            (None, _) => refusal(StatusCode::NOT_FOUND, Refused::Path, NOT_FOUND),
        })
    }

    /// A call of the page's.
    fn call(&self, request: Request<Body>) -> ResponseFuture {
        let path = request.uri().path();
        let Some(procedure) = self.connect.procedure(path) else {
            return now(connect::refuse(StatusCode::NOT_FOUND, Refused::Path, Method::unknown(path)));
        };
        if request.method() != Verb::POST {
            return now(wrong_verb("POST"));
        }
        match json_for(procedure, &request) {
            Some(content_type) => self.connect.post(Some(procedure), content_type, request),
            None => now(wrong_type("application/json, application/connect+json", &request)),
        }
    }
}

fn json_for(procedure: &Procedure, request: &Request<Body>) -> Option<ContentType> {
    let content_type = ContentType::of(request.headers().get(CONTENT_TYPE)?)?;
    (content_type.is_json() && content_type.fits(procedure)).then_some(content_type)
}

fn now(response: Response<Body>) -> ResponseFuture {
    Box::pin(ready(Ok(response)))
}

fn data(json: Bytes) -> Response<Bytes> {
    let mut response = Response::new(json);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A built-in answer, with its length also where its body is left out.
fn page(answer: Response<Bytes>, body: impl FnOnce(Bytes) -> Full<Bytes>) -> Response<Body> {
    let (mut head, content) = answer.into_parts();
    if head.status == StatusCode::OK {
        head.headers.insert(CONTENT_LENGTH, content.len().into());
    }
    head.extensions.insert(BuiltIn);
    Response::from_parts(head, Body::new(body(content)))
}

fn refusal(status: StatusCode, refused: Refused, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::new(Full::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.extensions_mut().insert(refused);
    response
}

fn not_read() -> Response<Body> {
    let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, Refused::Verb, NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}
