//! The calls that answer clients of the Model Context Protocol, made like all others: with the client's token, within the
//! limits, counted and logged.

use bytes::{Bytes, BytesMut};
use futures_util::{
    FutureExt as _, StreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use http::{Method, Request, Version, request::Parts};
use http_body_util::{BodyExt as _, Full};
use promptd_mcp::{Failure, Messages, Promptd};
use tonic::{Status, body::Body};
use tonic_types::StatusExt as _;
use tower::Service as _;

use crate::grpc::{
    envelope,
    pipeline::{Calls, code_name},
    protocols::connect::{as_grpc, failure, single},
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
        async move { Ok(single(made.await?).await?.0) }
            .map(|answer| answer.map_err(|status: Status| failed(&status)))
            .boxed()
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
    let mut request = Request::new(Body::new(Full::new(envelope::framed(0, message))));
    *request.method_mut() = Method::POST;
    *request.version_mut() = Version::HTTP_2;
    if let Ok(path) = format!("/{method}").parse() {
        *request.uri_mut() = path;
    }
    if let Some(from) = from {
        *request.headers_mut() = from.headers.clone();
        *request.extensions_mut() = from.extensions.clone();
    }
    as_grpc(request.headers_mut(), None);
    request
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
