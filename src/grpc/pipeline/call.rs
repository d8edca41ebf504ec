//! The service around every call: one service instead of a stack of layers, so that a call is boxed once and the order
//! is plain to read.
//!
//! In this order: a request id and a record; the [`Lifecycle`]'s phase; the token; a permit; the deadline; the call
//! itself, with its panic caught; and a response that carries the request id and, for an error, details.

use std::{
    convert::Infallible,
    future::{Future, pending, poll_fn},
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{HeaderMap, Request, Response};
use http_body::{Body as _, Frame};
use http_body_util::Full;
use tokio::time::Instant;
use tonic::{Code, Status, body::Body};

use super::{
    auth::{Access, Caller},
    blocking::beside_others,
    body::{AnswerBody, OpenStream, StreamBody},
    error::Error,
    metadata,
    method::{Kind, Method, REFLECTION_BYTES, Service},
    receive::{Receiver, TakesLong},
    record::Record,
    status::{respond, with_details},
    trace::{REQUEST_ID, RequestId},
};
use crate::grpc::{
    Lifecycle, Limits, Options, Phase, Telemetry, Tracer, budget::Hold, deadline, limits::Permit, transport::Peer,
};

/// A response to come. Every call has one, whatever happens to it.
pub(crate) type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

/// Calls the service of an admitted call; `None`: the server has no such method.
pub(crate) type Serve = Box<dyn Fn(Option<Service>, Request<Body>) -> ResponseFuture + Send + Sync>;

/// The service.
#[derive(Clone)]
pub(crate) struct Calls(Arc<Shared>);

struct Shared {
    lifecycle: Arc<Lifecycle>,
    access: Arc<Access>,
    telemetry: Arc<dyn Telemetry>,
    tracer: Option<Tracer>,
    limits: Arc<Limits>,
    serve: Serve,
    max_message_bytes: usize,
    gzip: bool,
    retry: Duration,
}

/// What a call holds from its admission to its end.
struct Admission {
    deadline: Option<Instant>,
    /// One of the server, and one of the token.
    permits: [Option<Permit>; 2],
    /// What a stream of requests counts for.
    hold: Option<Hold>,
}

impl Calls {
    pub(crate) fn new(
        options: &Options,
        limits: Arc<Limits>,
        lifecycle: Arc<Lifecycle>,
        access: Arc<Access>,
        telemetry: Arc<dyn Telemetry>,
        tracer: Option<Tracer>,
        serve: Serve,
    ) -> Self {
        let Options { max_message_bytes, gzip, retry_delay: retry, .. } = *options;
        Self(Arc::new(Shared { lifecycle, access, telemetry, tracer, limits, serve, max_message_bytes, gzip, retry }))
    }

    /// That the caller with these headers may call a method.
    #[cfg(feature = "mcp")]
    pub(crate) fn let_in(&self, method: Method, headers: &HeaderMap) -> Result<(), Error> {
        self.0.caller(method, headers).map(drop)
    }

    /// That there is room for one more call of a method now.
    #[cfg(feature = "mcp")]
    pub(crate) fn has_room(&self, method: Method) -> Result<(), Error> {
        self.0.permit(method).map(drop)
    }

    /// The limits of its calls.
    #[cfg(feature = "mcp")]
    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }
}

impl tower::Service<Request<Body>> for Calls {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> ResponseFuture {
        let shared = Arc::clone(&self.0);
        let peer = Peer::of(request.extensions(), &shared.limits);
        let method = Method::of(request.uri().path());
        let id = RequestId::of(request.headers());
        let telemetry = Arc::clone(&shared.telemetry);
        let record = Record::start(telemetry, shared.tracer.as_ref(), method.name, id.clone(), request.headers());
        Box::pin(async move {
            let mut response = shared.respond(method, request, &peer, record).await;
            response.headers_mut().insert(REQUEST_ID, id.into_header());
            let is_refusal = response.headers().contains_key(Status::GRPC_STATUS);
            let small = is_refusal || (method.is_health() && !method.streams());
            Ok(if small { peer.small_answer(response, 0) } else { response })
        })
    }
}

impl Shared {
    async fn respond(
        self: Arc<Self>,
        method: Method,
        request: Request<Body>,
        peer: &Peer,
        mut record: Record,
    ) -> Response<Body> {
        let admission = match self.admit(method, &request, peer, &mut record) {
            Ok(admission) => admission,
            Err(error) => return refuse(error.into(), record),
        };
        match self.answer(method, request, peer, admission.deadline, &record).await {
            Ok(response) => self.finish(method, response, peer, admission, record).await,
            Err(status) => refuse(with_details(status, self.max_message_bytes), record),
        }
    }

    /// Lets a call in, or says why not.
    fn admit(
        &self,
        method: Method,
        request: &Request<Body>,
        peer: &Peer,
        record: &mut Record,
    ) -> Result<Admission, Error> {
        let headers = request.headers();
        metadata::check(request.uri(), headers)?;
        record.caller = self.caller(method, headers)?;
        let mut hold = None;
        if !method.is_health() {
            peer.admit();
            let exhausted = |exhausted| Error::exhausted(exhausted, self.retry);
            peer.unsent().exhausted().map_err(exhausted)?;
            if method.kind == Kind::Duplex {
                hold = Some(peer.unread().hold(REFLECTION_BYTES).map_err(exhausted)?);
            }
        }
        let permits = [self.permit(method)?, record.caller.call()?];
        let longest = (method.kind == Kind::Unary).then(|| self.limits.max_call_time());
        let deadline = deadline::of(headers, longest).map(|timeout| record.started + timeout);
        Ok(Admission { deadline, permits, hold })
    }

    fn caller(&self, method: Method, headers: &HeaderMap) -> Result<Caller, Error> {
        let retry = self.retry;
        match self.lifecycle.phase() {
            _ if method.is_health() => Ok(Caller::default()),
            Phase::Starting => Err(Error::Starting { retry }),
            Phase::Closing => Err(Error::Draining { retry }),
            Phase::Serving | Phase::Leaving => self.access.caller(headers),
        }
    }

    fn permit(&self, method: Method) -> Result<Option<Permit>, Error> {
        let permits = match method.kind {
            // A busy server is healthy: if health checks failed, a supervisor would stop it.
            Kind::Unary if method.is_health() => return Ok(None),
            Kind::Unary => &self.limits.in_flight,
            Kind::Stream | Kind::Duplex => &self.limits.streams,
        };
        permits.acquire().map(Some).ok_or(Error::Overloaded { retry: self.retry })
    }

    /// Receives the request and calls the service, until the deadline.
    async fn answer(
        &self,
        method: Method,
        mut request: Request<Body>,
        peer: &Peer,
        deadline: Option<Instant>,
        record: &Record,
    ) -> Result<Response<Body>, Status> {
        // Without tokens no caller has a name, and services take an absent one for that.
        if record.caller.name().is_some() {
            request.extensions_mut().insert(record.caller.clone());
        }
        let call = AssertUnwindSafe(self.call(method, request, peer, record.started)).catch_unwind();
        let outcome = match deadline {
            Some(at) => record.run(tokio::time::timeout_at(at, call)).await.ok(),
            None => Some(record.run(call).await),
        };
        match outcome {
            Some(Ok(answer)) => answer,
            Some(Err(_panic)) => {
                record.panicked();
                Err(Error::Internal.into())
            }
            None => Err(Error::DeadlineExceeded.into()),
        }
    }

    async fn call(
        &self,
        method: Method,
        mut request: Request<Body>,
        peer: &Peer,
        started: Instant,
    ) -> Result<Response<Body>, Status> {
        let (mut takes_long, mut _hold) = (false, None);
        if method.service.is_some() && method.kind != Kind::Duplex {
            let Self { limits, max_message_bytes, gzip, .. } = self;
            let receiver = Receiver { method, peer, limits, max_message_bytes: *max_message_bytes, gzip: *gzip };
            let (mut parts, body) = request.into_parts();
            let arrived = receiver.receive(&parts.headers, body, started).await?;
            if arrived.takes_long {
                parts.extensions.insert(TakesLong);
            }
            request = Request::from_parts(parts, Body::new(Full::new(arrived.message)));
            // Until the service has answered.
            (takes_long, _hold) = (arrived.takes_long, arrived.hold);
        }
        let mut serving = (self.serve)(method.service, request);
        // The first poll decodes the message. Work that it leaves to other threads waits for a turn of its own.
        let waker = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
        let first = || serving.as_mut().poll(&mut Context::from_waker(&waker));
        let Ok(response) = match beside_others(&self.limits, takes_long, first).await? {
            Poll::Ready(answer) => answer,
            Poll::Pending => serving.await,
        };
        Ok(response)
    }

    /// Gives an error its details, counts the answer's bytes, and ends the record: now, or with the stream.
    async fn finish(
        self: Arc<Self>,
        method: Method,
        response: Response<Body>,
        peer: &Peer,
        admission: Admission,
        mut record: Record,
    ) -> Response<Body> {
        let limit = self.max_message_bytes;
        if let Some(status) = Status::from_header_map(response.headers()).filter(|status| status.code() != Code::Ok) {
            return refuse(with_details(status, limit), record);
        }
        let (mut parts, mut body) = response.into_parts();
        record.keep_prompt(&mut parts.extensions);
        if method.kind != Kind::Unary {
            let revoked = Box::pin(Arc::clone(&self).revoked(method, record.caller.clone()));
            let end = Box::pin(Arc::clone(&self).end_of_stream(admission.deadline));
            let Admission { permits, hold, .. } = admission;
            let open = OpenStream { record, peer: peer.clone(), retry: self.retry, _permits: permits, _hold: hold };
            return Response::from_parts(parts, Body::new(StreamBody::new(body, limit, [revoked, end], open)));
        }
        // A single answer is ready at once.
        let first = match poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            Some(Ok(frame)) => frame,
            Some(Err(status)) => return refuse(with_details(status, limit), record),
            None => Frame::data(Bytes::new()),
        };
        let first = match first.into_data() {
            Ok(data) if !method.is_health() => match peer.answer(data) {
                Ok(data) => Frame::data(data),
                Err(exhausted) => return refuse(Error::exhausted(exhausted, self.retry).into(), record),
            },
            Ok(data) => Frame::data(data),
            Err(trailers) => trailers,
        };
        record.finish(Code::Ok);
        Response::from_parts(parts, Body::new(AnswerBody::new(first, body)))
    }

    /// Waits until the caller may no longer have what they are sent, and says why.
    async fn revoked(self: Arc<Self>, method: Method, caller: Caller) -> Error {
        // A health check needed no token in the first place.
        if method.is_health() { pending().await } else { self.access.revoked(&caller, self.retry).await }
    }

    /// Waits until an open stream must end for another reason, and says which.
    async fn end_of_stream(self: Arc<Self>, deadline: Option<Instant>) -> Error {
        let expired = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(at).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = self.lifecycle.reached(Phase::Closing) => Error::Draining { retry: self.retry },
            () = expired => Error::DeadlineExceeded,
        }
    }
}

fn refuse(status: Status, record: Record) -> Response<Body> {
    record.fail(&status);
    respond(status)
}

#[cfg(test)]
mod tests {
    use tonic_types::StatusExt as _;
    use tower::ServiceExt as _;

    use super::*;
    use crate::grpc::NoTelemetry;

    /// The body of a message without fields.
    fn empty_message() -> Body {
        Body::new(http_body_util::Full::new(Bytes::from_static(&[0; 5])))
    }

    fn calls(serve: Serve) -> Calls {
        let lifecycle = Arc::new(Lifecycle::new());
        lifecycle.ready();
        let options = Options::default();
        let limits = Arc::new(Limits::new(&options));
        Calls::new(&options, limits, lifecycle, Arc::new(Access::open()), Arc::new(NoTelemetry), None, serve)
    }

    /// The status of a call that never answers, and how long it took.
    async fn hold(path: &str, timeout: Option<&str>) -> (Status, Duration) {
        let mut request = Request::builder().uri(path);
        if let Some(timeout) = timeout {
            request = request.header("grpc-timeout", timeout);
        }
        let began = Instant::now();
        let silent = calls(Box::new(|_, _| Box::pin(std::future::pending())));
        let response = silent.oneshot(request.body(empty_message()).unwrap()).await.unwrap();
        (Status::from_header_map(response.headers()).unwrap(), began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn the_callers_deadline_is_kept_and_reported_as_such() {
        let path = "/promptd.v1.PromptService/AssemblePrompt";
        for (timeout, longest) in [(Some("250m"), Duration::from_millis(250)), (None, Duration::from_secs(60))] {
            let (status, took) = hold(path, timeout).await;
            assert_eq!(status.code(), Code::DeadlineExceeded);
            assert_eq!(status.get_details_error_info().unwrap().reason, "DEADLINE_EXCEEDED");
            assert!(took <= longest && took + Duration::from_millis(5) >= longest, "{took:?}");
        }
        let (status, _) = hold("/promptd.v1.WorkspaceService/WatchWorkspace", Some("1S")).await;
        assert_eq!(status.code(), Code::DeadlineExceeded);
    }

    #[tokio::test]
    async fn a_panic_fails_its_own_call_alone() {
        let at_once: Serve = Box::new(|_, _| panic!("at once"));
        let later: Serve = Box::new(|_, _| Box::pin(async { panic!("later") }));
        for serve in [at_once, later] {
            let request = Request::builder().uri("/promptd.v1.PromptService/AssemblePrompt").body(empty_message());
            let response = calls(serve).oneshot(request.unwrap()).await.unwrap();
            let status = Status::from_header_map(response.headers()).unwrap();
            assert_eq!(
                (status.code(), status.get_details_error_info().unwrap().reason),
                (Code::Internal, "INTERNAL".into())
            );
        }
    }
}
