//! The Connect protocol: plain HTTP requests with JSON or protobuf in them, each turned into the gRPC call that it means, and
//! the answer turned back. See <https://connectrpc.com/docs/protocol>.

mod answer;
mod compression;
mod error;
mod message;
mod procedure;
mod query;
mod terms;

#[cfg(feature = "mcp")]
pub(super) use answer::{failure, single};
pub(super) use error::{failed, refuse};
#[cfg(feature = "mcp")]
pub(super) use error::{http_status, respond};
pub(super) use procedure::{ContentType, Procedure};

use std::sync::Arc;

use bytes::Bytes;
use http::{
    HeaderValue, Method, Request,
    header::{CACHE_CONTROL, HeaderMap},
    request::Parts,
};
use http_body_util::Full;
use tonic::body::Body;
use tower::Service as _;

use self::{
    answer::Outgoing,
    message::{Incoming, Later, Reading},
    procedure::Procedures,
    query::Query,
    terms::Terms,
};
use crate::grpc::{
    Limits, Options,
    pipeline::{self, Calls, Error, ResponseFuture},
    transport::Peer,
};

/// The calls of the server, for those who come by Connect.
#[derive(Clone)]
pub(super) struct Connect {
    calls: Calls,
    procedures: Arc<Procedures>,
    limits: Arc<Limits>,
    max_message_bytes: usize,
    gzip: bool,
}

impl Connect {
    pub(super) fn new(calls: Calls, options: &Options, limits: Arc<Limits>) -> Self {
        let procedures = Arc::new(Procedures::of_the_server());
        Self { calls, procedures, limits, max_message_bytes: options.max_message_bytes, gzip: options.gzip }
    }

    pub(super) fn procedure(&self, path: &str) -> Option<&Procedure> {
        self.procedures.get(path)
    }

    /// A call whose message is the request's body. Without a procedure the answer is that no such method exists.
    pub(super) fn post(
        &self,
        procedure: Option<&Procedure>,
        content_type: ContentType,
        request: Request<Body>,
    ) -> ResponseFuture {
        let (head, body) = request.into_parts();
        let terms = Terms::of_headers(&head.headers, content_type.enveloped, self.gzip);
        self.call(procedure, content_type, head, terms, body)
    }

    /// A call whose message is in the address.
    pub(super) fn get(&self, procedure: &Procedure, request: Request<Body>) -> ResponseFuture {
        let (mut head, _) = request.into_parts();
        head.method = Method::POST;
        let query = Query::of(head.uri.query().unwrap_or_default());
        let content_type = ContentType { codec: query.codec(), enveloped: false };
        let terms = query.terms(&head.headers, self.gzip);
        let message = query.message();
        let terms = terms.and_then(|terms| message.map(|message| (terms, message)));
        let (terms, message) = match terms {
            Ok((terms, message)) => (Ok(terms), message),
            Err(error) => (Err(error), Bytes::new()),
        };
        let answer = self.call(Some(procedure), content_type, head, terms, Body::new(Full::from(message)));
        Box::pin(async move {
            let mut response = answer.await?;
            // It is of this moment and for this caller.
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            Ok(response)
        })
    }

    fn call(
        &self,
        procedure: Option<&Procedure>,
        content_type: ContentType,
        mut head: Parts,
        terms: Result<Terms, Error>,
        body: Body,
    ) -> ResponseFuture {
        as_grpc(&mut head.headers, terms.as_ref().ok().and_then(|terms| terms.timeout.clone()));
        let gzip = self.gzip && terms.as_ref().is_ok_and(|terms| terms.accepts_gzip);
        let outgoing = Outgoing {
            content_type,
            output: procedure.map(|procedure| procedure.output.clone()),
            gzip,
            limits: Arc::clone(&self.limits),
        };
        let max_bytes = pipeline::Method::of(head.uri.path()).max_request_bytes(self.max_message_bytes);
        let peer = Peer::of(&head.extensions, &self.limits);
        let max_values = self.limits.request.load().max_values;
        let incoming = terms.map(|terms| Incoming {
            body,
            peer,
            reading: Reading {
                content_type,
                gzipped: terms.gzipped,
                input: procedure.map(|procedure| procedure.input.clone()),
                max_bytes,
                max_values,
            },
            limits: Arc::clone(&self.limits),
        });
        // Only read once the call has been let in, and within its deadline; what is wrong with it is the call's own error.
        let message = Later::new(async move { incoming?.read().await });
        let answer = self.calls.clone().call(Request::from_parts(head, Body::new(message)));
        Box::pin(async move {
            let response = answer.await?;
            Ok(outgoing.answer(response).await)
        })
    }
}

/// The headers of the gRPC call: those that say something of the message or of the protocol are replaced.
pub(super) fn as_grpc(headers: &mut HeaderMap, timeout: Option<HeaderValue>) {
    use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
    for name in [ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH] {
        headers.remove(name);
    }
    for name in ["grpc-encoding", "grpc-accept-encoding", "grpc-timeout"] {
        headers.remove(name);
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    if let Some(timeout) = timeout {
        headers.insert("grpc-timeout", timeout);
    }
}
