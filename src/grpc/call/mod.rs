//! What happens around every call, whatever it calls: one service instead of a stack of layers, so that a call is
//! boxed once and the order is plain to read.
//!
//! In this order: a request id and a record; the gate of the [`Lifecycle`]; the token; a place among the calls in
//! flight; the deadline; the call itself, whose panic is its own; and an answer that carries the request id and, where
//! it is an error, details.

mod body;
mod deadline;
mod panics;
mod record;
mod status;
mod trace;

pub(super) use status::respond;

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use tokio::time::Instant;
use tonic::{Code, Status, body::Body};

use self::{
    body::Guarded,
    panics::{Panicked, catch, guarded},
    record::Record,
    status::detailed,
    trace::RequestId,
};
use super::{
    Access, Lifecycle, Live, Observer, Options, Phase,
    auth::Caller,
    error::Error,
    gather::Requests,
    live::Place,
    method::{Kind, Method, Service},
};

/// An answer to come. Every call has one, whatever happens to it.
pub(super) type Answer = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

/// What answers a call that was let in, by its service; `None`: the server has no such method.
pub(super) type Serve = Box<dyn Fn(Option<Service>, Request<Body>) -> Answer + Send + Sync>;

/// All calls of the server.
#[derive(Clone)]
pub(super) struct Calls(Arc<Shared>);

/// What all calls share.
pub(super) struct Shared {
    lifecycle: Arc<Lifecycle>,
    access: Arc<Access>,
    observer: Arc<dyn Observer>,
    live: Arc<Live>,
    serve: Serve,
    max_message_bytes: usize,
    retry: Duration,
}

impl Shared {
    pub(super) fn new(
        options: &Options,
        live: Arc<Live>,
        lifecycle: Arc<Lifecycle>,
        access: Arc<Access>,
        observer: Arc<dyn Observer>,
        serve: Serve,
    ) -> Self {
        Self {
            lifecycle,
            access,
            observer,
            live,
            serve,
            max_message_bytes: options.max_message_bytes,
            retry: options.retry_delay,
        }
    }

    /// Who calls, or why they are not let in.
    fn caller(&self, method: Method, headers: &http::HeaderMap) -> Result<Caller, Error> {
        let retry = self.retry;
        match self.lifecycle.phase() {
            _ if method.is_health() => Ok(Caller::default()),
            Phase::Starting => Err(Error::Starting { retry }),
            Phase::Closing => Err(Error::Draining { retry }),
            Phase::Serving | Phase::Leaving => self.access.caller(headers),
        }
    }

    /// A place among the calls that are open, where one is needed.
    fn place(&self, method: Method) -> Result<Option<Place>, Error> {
        let places = match method.kind {
            // A server with much to do is well: told otherwise, a supervisor would stop it.
            Kind::Unary if method.is_health() => return Ok(None),
            Kind::Unary => &self.live.in_flight,
            Kind::Stream => &self.live.streams,
        };
        places.take().map(Some).ok_or(Error::Overloaded { retry: self.retry })
    }

    /// Begins a call, or says why not.
    fn begin(&self, method: Method, mut request: Request<Body>, record: &mut Record) -> Result<Running, Error> {
        let caller = self.caller(method, request.headers())?;
        record.caller = caller.clone();
        let place = self.place(method)?;
        let longest = (method.kind == Kind::Unary).then(|| self.live.max_call_time());
        let deadline = deadline::of(request.headers(), longest).map(|timeout| record.begun + timeout);
        // A call without one is nobody's, as every call is where there are no tokens.
        if caller.name().is_some() {
            request.extensions_mut().insert(caller);
        }
        let work = guarded(|| (self.serve)(method.service, request)).map_err(|Panicked| {
            record.panicked();
            Error::Internal
        })?;
        Ok(Running { work, deadline, place })
    }

    /// What becomes of a service's answer: an error gets its details, a stream is watched to its end.
    fn close(
        self: Arc<Self>,
        method: Method,
        response: Response<Body>,
        running: Running,
        record: Record,
    ) -> Response<Body> {
        let limit = self.max_message_bytes;
        if let Some(status) = Status::from_header_map(response.headers()).filter(|status| status.code() != Code::Ok) {
            return refuse_with(detailed(status, limit), record);
        }
        if method.kind == Kind::Unary {
            record.end(Code::Ok);
            return response;
        }
        let end = self.end_of_stream(method, record.caller.clone(), running.deadline);
        response.map(|body| Body::new(Guarded::new(body, limit, Box::pin(end), record, running.place)))
    }

    /// Why an open stream must end, once it must.
    async fn end_of_stream(self: Arc<Self>, method: Method, caller: Caller, deadline: Option<Instant>) -> Error {
        let revoked = async {
            // It needed no token to begin with.
            if method.is_health() {
                std::future::pending().await
            } else {
                self.access.revoked(&caller, self.retry).await
            }
        };
        let passed = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.lifecycle.reached(Phase::Closing) => Error::Draining { retry: self.retry },
            error = revoked => error,
            () = passed => Error::DeadlineExceeded,
        }
    }
}

impl Calls {
    pub(super) fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }
}

impl tower::Service<Request<Body>> for Calls {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Answer {
        if let Some(requests) = request.extensions().get::<Requests>() {
            requests.add();
        }
        let method = Method::of(request.uri().path());
        let id = RequestId::of(request.headers());
        let shared = Arc::clone(&self.0);
        let observer = Arc::clone(&shared.observer);
        let mut record = Record::begin(observer, method.name, id.clone(), request.headers());
        Box::pin(async move {
            let outcome = match shared.begin(method, request, &mut record) {
                Ok(mut running) => running.answer(&record).await.map(|response| (response, running)),
                Err(error) => Err(error),
            };
            let mut response = match outcome {
                Ok((response, running)) => shared.close(method, response, running, record),
                Err(error) => refuse(error, record),
            };
            response.headers_mut().insert(trace::REQUEST_ID, id.into_header());
            Ok(response)
        })
    }
}

/// A call that was let in.
struct Running {
    work: Answer,
    deadline: Option<Instant>,
    place: Option<Place>,
}

impl Running {
    /// Waits for its answer, within its deadline.
    async fn answer(&mut self, record: &Record) -> Result<Response<Body>, Error> {
        let work = catch(&mut self.work);
        let outcome = match self.deadline {
            Some(at) => tokio::time::timeout_at(at, work).await.ok(),
            None => Some(work.await),
        };
        match outcome {
            Some(Ok(Ok(response))) => Ok(response),
            Some(Err(Panicked)) => {
                record.panicked();
                Err(Error::Internal)
            }
            None => Err(Error::DeadlineExceeded),
        }
    }
}

fn refuse(error: Error, record: Record) -> Response<Body> {
    refuse_with(error.into(), record)
}

fn refuse_with(status: Status, record: Record) -> Response<Body> {
    record.end(status.code());
    respond(status)
}

#[cfg(test)]
mod tests {
    use tonic_types::StatusExt as _;
    use tower::ServiceExt as _;

    use super::*;
    use crate::grpc::Unobserved;

    fn calls(serve: Serve) -> Calls {
        let lifecycle = Arc::new(Lifecycle::new());
        lifecycle.ready();
        let (access, observer) = (Arc::new(Access::open()), Arc::new(Unobserved));
        let options = Options::default();
        Calls::new(Shared::new(&options, Arc::new(Live::new(&options)), lifecycle, access, observer, serve))
    }

    /// The status of a call that never ends by itself, and how long it took.
    async fn hold(path: &str, timeout: Option<&str>) -> (Status, Duration) {
        let mut request = Request::builder().uri(path);
        if let Some(timeout) = timeout {
            request = request.header("grpc-timeout", timeout);
        }
        let began = Instant::now();
        let silent = calls(Box::new(|_, _| Box::pin(std::future::pending())));
        let response = silent.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        (Status::from_header_map(response.headers()).unwrap(), began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn the_callers_deadline_is_kept_and_named_as_what_it_is() {
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
    async fn a_panic_is_its_calls_own_wherever_it_comes() {
        let at_once: Serve = Box::new(|_, _| panic!("at once"));
        let later: Serve = Box::new(|_, _| Box::pin(async { panic!("later") }));
        for serve in [at_once, later] {
            let request = Request::builder().uri("/promptd.v1.PromptService/AssemblePrompt").body(Body::empty());
            let response = calls(serve).oneshot(request.unwrap()).await.unwrap();
            let status = Status::from_header_map(response.headers()).unwrap();
            assert_eq!(
                (status.code(), status.get_details_error_info().unwrap().reason),
                (Code::Internal, "INTERNAL".into())
            );
        }
    }
}
