//! `/mcp`: skills, context files and prompts for clients of the Model Context Protocol, see `docs/mcp.md`.

mod calls;

pub(in crate::grpc) use calls::McpCalls;

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header::WWW_AUTHENTICATE};
use http_body_util::{BodyExt as _, Full};
use promptd_mcp::{HttpServer, MAX_REQUEST_BYTES, Promptd as _};
use tokio::time::timeout;
use tonic::{Status, body::Body};
use tonic_types::StatusExt as _;

use super::{Refused, connect, http::wrong_verb};
use crate::grpc::{
    budget::Hold,
    pipeline::{Calls, Error, Method, REQUEST_TIMEOUT, ResponseFuture, collect},
    transport::Peer,
};

/// The call that a request which is not let in is counted as.
const LIST: &str = "promptd.v1.WorkspaceService/ListWorkspaces";
/// The call that a listener makes.
const WATCH: &str = "promptd.v1.WorkspaceService/WatchWorkspace";

/// What each byte of a request counts for: read, the JSON of empty objects takes about so many times its own size.
const JSON_COST: usize = 32;

/// The server, in front of the calls that it makes.
#[derive(Clone)]
pub(super) struct Mcp {
    server: HttpServer,
    calls: Calls,
}

impl Mcp {
    pub(super) fn new(calls: Calls) -> Self {
        Self { server: HttpServer::new(Arc::new(McpCalls(calls.clone()))), calls }
    }

    /// Answers a request that names one of the server's addresses.
    pub(super) fn answer(&self, request: Request<Body>) -> ResponseFuture {
        let this = self.clone();
        Box::pin(async move {
            Ok::<_, Infallible>(match this.arrived(request).await {
                Ok((request, _hold)) => {
                    let answer = this.server.answer(request).await.map(|body| Body::new(body.map_err(|e| match e {})));
                    counted(answer)
                }
                Err(status) => refusal(&status),
            })
        })
    }

    /// The whole request, of a caller that is let in. Until it is answered its size counts as unread.
    async fn arrived(&self, request: Request<Body>) -> Result<(Request<Full<Bytes>>, Option<Hold>), Status> {
        let limits = self.calls.limits();
        let (head, body) = request.into_parts();
        if let Err(error) = self.calls.let_in(method(LIST), &head.headers) {
            // As a call it is logged and counted, as every other that is not let in.
            let _ = McpCalls(self.calls.clone()).call(LIST, Bytes::new(), Some(&head)).await;
            return Err(error.into());
        }
        if promptd_mcp::listens(&head.headers) {
            // Later, the client would have been told that it is subscribed.
            self.calls.has_room(method(WATCH))?;
        }
        let peer = Peer::of(&head.extensions, limits);
        peer.admit();
        let body = collect(body, MAX_REQUEST_BYTES, &peer, limits);
        let (body, mut hold) = timeout(REQUEST_TIMEOUT, body).await.map_err(|_| Error::RequestTimeout)??;
        if let Some(hold) = &mut hold {
            let exhausted = |exhausted| Error::exhausted(exhausted, limits.retry());
            hold.grow(body.len() * JSON_COST).map_err(exhausted)?;
        }
        Ok((Request::from_parts(head, Full::new(body)), hold))
    }
}

fn method(name: &str) -> Method {
    Method::of(&format!("/{name}"))
}

/// An answer of the library's, marked where it refuses the request for what it is sent with.
fn counted(mut answer: Response<Body>) -> Response<Body> {
    let refused = match answer.status() {
        StatusCode::METHOD_NOT_ALLOWED => return wrong_verb("POST"),
        StatusCode::NOT_ACCEPTABLE | StatusCode::UNSUPPORTED_MEDIA_TYPE => Refused::ContentType,
        _ => return answer,
    };
    answer.extensions_mut().insert(refused);
    answer
}

/// The answer to a request that no message of the protocol can answer.
fn refusal(status: &Status) -> Response<Body> {
    let too_large = status.get_details_error_info().is_some_and(|info| info.reason == "MESSAGE_TOO_LARGE");
    let http = if too_large { StatusCode::PAYLOAD_TOO_LARGE } else { connect::http_status(status.code()) };
    let mut response = connect::respond(http, http::HeaderMap::new(), status);
    if http == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
