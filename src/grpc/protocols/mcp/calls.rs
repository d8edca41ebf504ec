//! The calls that answer clients of the Model Context Protocol, made like all others: with the client's token, within the
//! limits, counted and logged.

use bytes::{Bytes, BytesMut};
use futures_util::{
    FutureExt as _, StreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use http::{
    HeaderMap, HeaderValue, Method, Request, Version,
    header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING},
    request::Parts,
};
use http_body_util::{BodyExt as _, Full};
use promptd_mcp::{Failure, Messages, Promptd};
use tonic::{Status, body::Body};
use tonic_types::StatusExt as _;
use tower::Service as _;

use crate::grpc::{
    envelope,
    pipeline::{Calls, code_name},
    protocols::connect::{failure, only},
};

/// The calls of an address.
pub(in crate::grpc) struct McpCalls(pub(in crate::grpc) Calls);

impl McpCalls {
    /// Makes a call; the answer's body, if it has one.
    fn made(
        &self,
        method: &'static str,
        message: &Bytes,
        from: Option<&Parts>,
    ) -> BoxFuture<'static, Result<Body, Status>> {
        let answer = self.0.clone().call(request(method, message, from));
        answer
            .map(|response| {
                let (head, body) = response.unwrap_or_else(|never| match never {}).into_parts();
                failure(&head.headers).map_or(Ok(body), Err)
            })
            .boxed()
    }
}

impl Promptd for McpCalls {
    fn call(
        &self,
        method: &'static str,
        message: Bytes,
        from: Option<&Parts>,
    ) -> BoxFuture<'static, Result<Bytes, Failure>> {
        let made = self.made(method, &message, from);
        async move { single(made.await?).await }.map(|answer| answer.map_err(|status| failed(&status))).boxed()
    }

    fn open(
        &self,
        method: &'static str,
        message: Bytes,
        from: Option<&Parts>,
    ) -> BoxFuture<'static, Result<Messages, Failure>> {
        let made = self.made(method, &message, from);
        made.map(|body| body.map(messages).map_err(|status| failed(&status))).boxed()
    }
}

/// The call by gRPC, with the headers of the request that it is made for: token, request id, trace.
fn request(method: &'static str, message: &Bytes, from: Option<&Parts>) -> Request<Body> {
    let mut frame = BytesMut::with_capacity(envelope::HEAD_BYTES + message.len());
    envelope::put(&mut frame, 0, message);
    let mut request = Request::new(Body::new(Full::new(frame.freeze())));
    *request.method_mut() = Method::POST;
    *request.version_mut() = Version::HTTP_2;
    if let Ok(path) = format!("/{method}").parse() {
        *request.uri_mut() = path;
    }
    if let Some(from) = from {
        *request.headers_mut() = from.headers.clone();
        *request.extensions_mut() = from.extensions.clone();
    }
    of_the_call(request.headers_mut());
    request
}

/// Leaves out the headers that say something of the outer message or of its protocol.
fn of_the_call(headers: &mut HeaderMap) {
    for name in [ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(name);
    }
    for name in ["grpc-encoding", "grpc-accept-encoding", "grpc-timeout"] {
        headers.remove(name);
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
}

/// The only message of an answer.
async fn single(body: Body) -> Result<Bytes, Status> {
    let body = body.collect().await?;
    if let Some(status) = body.trailers().and_then(failure) {
        return Err(status);
    }
    let frame = body.to_bytes();
    let (_, message) = only(&frame)?;
    Ok(frame.slice_ref(message))
}

/// The messages of a stream, and how it failed if it did.
fn messages(body: Body) -> BoxStream<'static, Result<Bytes, Failure>> {
    let next = |(mut body, mut waiting): (Option<Body>, BytesMut)| async move {
        loop {
            if let Some((_, message)) = envelope::take(&mut waiting) {
                return Some((Ok(message), (body, waiting)));
            }
            let frame = body.as_mut()?.frame().await?;
            match frame.map(http_body::Frame::into_data) {
                Ok(Ok(data)) => waiting.extend_from_slice(&data),
                Ok(Err(frame)) => {
                    let status = failure(&frame.into_trailers().unwrap_or_default())?;
                    return Some((Err(failed(&status)), (None, waiting)));
                }
                Err(status) => return Some((Err(failed(&status)), (None, waiting))),
            }
        }
    };
    stream::unfold((Some(body), BytesMut::new()), next).boxed()
}

fn failed(status: &Status) -> Failure {
    let details = status.get_error_details();
    let violations = details.bad_request().into_iter().flat_map(|bad| &bad.field_violations);
    let preconditions = details.precondition_failure().into_iter().flat_map(|failed| &failed.violations);
    let fields = violations.map(|one| (one.field.clone(), one.description.clone()));
    let subjects = preconditions.map(|one| (one.subject.clone(), one.description.clone()));
    Failure {
        status: code_name(status.code()).to_owned(),
        reason: details.error_info().map_or_else(String::new, |info| info.reason.clone()),
        message: status.message().to_owned(),
        fields: fields.chain(subjects).collect(),
    }
}
