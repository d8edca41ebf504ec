//! The server: bind, serve, drain.

use std::{convert::Infallible, fmt, io, net::SocketAddr, sync::Arc};

use futures_util::{FutureExt as _, future::try_join_all};
use http::{Request, Response};
use tokio::net::TcpListener;
use tonic::{body::Body, transport};
use tower::Service;

#[cfg(feature = "mcp")]
use super::protocols::McpCalls;
use super::{
    Backend, Lifecycle, Limits, Options, Phase, Tls,
    pipeline::Calls,
    protocols::Protocols,
    services::Services,
    transport::{Listener, MAX_HEAD_BYTES, Peers, RECEIVE_WINDOW_BYTES},
};
#[cfg(feature = "inspector")]
use super::{
    Inspector,
    protocols::{InspectorService, Site},
};

/// A server that has its addresses and does not serve yet.
pub struct Server {
    /// `None`: only the inspector is served.
    grpc: Option<TcpListener>,
    #[cfg(feature = "inspector")]
    inspector: Option<Inspector>,
    local_addr: SocketAddr,
    options: Options,
    backend: Backend,
    tls: Option<Arc<Tls>>,
    lifecycle: Arc<Lifecycle>,
    limits: Arc<Limits>,
}

/// Why a server cannot run.
#[derive(Debug)]
pub enum ServerError {
    /// The port cannot be had.
    Bind(SocketAddr, io::Error),
    /// A part of the server could not be built, or failed.
    Failed(String),
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Every connection was closed in an orderly way.
    Drained,
    /// The drain limit was reached while connections were still open.
    Forced,
}

impl Server {
    /// Takes the port.
    pub async fn bind(options: Options, backend: Backend, tls: Option<Arc<Tls>>) -> Result<Self, ServerError> {
        let (tcp, local_addr) = listen(options.listen).await?;
        Ok(Self { grpc: Some(tcp), ..Self::at(local_addr, options, backend, tls) })
    }

    /// A server of the inspector alone: no program calls it by gRPC.
    #[cfg(feature = "inspector")]
    #[must_use]
    pub fn of_inspector(inspector: Inspector, options: Options, backend: Backend) -> Self {
        Self::at(inspector.address, options, backend, None).with_inspector(Some(inspector))
    }

    /// A server without an address: its calls are made in this process alone.
    #[must_use]
    pub fn of_process(options: Options, backend: Backend) -> Self {
        Self::at(options.listen, options, backend, None)
    }

    /// Its calls, for whoever brings the connections, or makes them in this process: `PromptServiceClient::new(service)`. They are
    /// answered once the [`Lifecycle`] is ready.
    pub fn service(
        &self,
    ) -> Result<
        impl Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send + 'static>
        + Clone
        + Send
        + 'static,
        ServerError,
    > {
        let Self { options, backend, limits, .. } = self;
        let calls = self.calls(backend.clone())?;
        Ok(Protocols::new(calls, options, Arc::clone(limits), backend.access.clone(), backend.telemetry.clone()))
    }

    /// Its calls, for [`promptd_mcp`].
    #[cfg(feature = "mcp")]
    pub fn mcp_calls(&self) -> Result<Arc<dyn promptd_mcp::Promptd>, ServerError> {
        Ok(Arc::new(McpCalls(self.calls(self.backend.clone())?)))
    }

    /// The same server, with the inspector too.
    #[cfg(feature = "inspector")]
    #[must_use]
    pub fn with_inspector(self, inspector: Option<Inspector>) -> Self {
        Self { inspector, ..self }
    }

    fn at(local_addr: SocketAddr, options: Options, backend: Backend, tls: Option<Arc<Tls>>) -> Self {
        let (lifecycle, limits) = (Arc::new(Lifecycle::new()), Arc::new(Limits::new(&options)));
        Self {
            grpc: None,
            #[cfg(feature = "inspector")]
            inspector: None,
            local_addr,
            options,
            backend,
            tls,
            lifecycle,
            limits,
        }
    }

    /// The bound address, with the port that was picked.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The handle to start and to drain it.
    #[must_use]
    pub fn lifecycle(&self) -> Arc<Lifecycle> {
        Arc::clone(&self.lifecycle)
    }

    /// The handle to replace its limits.
    #[must_use]
    pub fn limits(&self) -> Arc<Limits> {
        Arc::clone(&self.limits)
    }

    /// Serves until it has been drained. Calls are answered once the [`Lifecycle`] is ready.
    pub async fn serve(mut self) -> Result<Ended, ServerError> {
        let (strangers, mut serving) = (Arc::default(), Vec::new());
        let grpc = self.grpc.take();
        #[cfg(feature = "inspector")]
        let inspector = self.inspector.take();
        #[cfg(feature = "inspector")]
        if let Some(inspector) = inspector {
            let (tcp, service) = self.page(inspector)?;
            serving.push(self.serve_on(tcp, &strangers, service).boxed());
        }
        if let Some(tcp) = grpc {
            serving.push(self.serve_on(tcp, &strangers, self.service()?).boxed());
        }
        tokio::select! {
            ended = try_join_all(serving) => ended.map(|_| Ended::Drained),
            () = drain(&self.options, &self.lifecycle) => Ok(Ended::Forced),
        }
    }

    /// The inspector's page, with the calls that it makes.
    #[cfg(feature = "inspector")]
    fn page(&self, inspector: Inspector) -> Result<(TcpListener, InspectorService), ServerError> {
        let Inspector { tcp, address, turn_schema } = inspector;
        let Self { options, backend, limits, .. } = self;
        let needs_token = backend.access.needs_token();
        #[cfg(feature = "memory")]
        let has_memory = backend.memory.is_some();
        #[cfg(not(feature = "memory"))]
        let has_memory = false;
        let site = Site { address, tls: self.tls.is_some(), needs_token, has_memory, turn_schema };
        let (limits, telemetry) = (Arc::clone(limits), Arc::clone(&backend.telemetry));
        // A reader who tries out a turn is not who the prompt is for.
        let backend = Backend {
            record: None,
            // Nor may a page publish.
            #[cfg(feature = "etcd")]
            publisher: None,
            ..backend.clone()
        };
        Ok((tcp, InspectorService::new(site, self.calls(backend)?, options, limits, telemetry)))
    }

    /// The calls of an address. All have one lifecycle and the same limits.
    fn calls(&self, backend: Backend) -> Result<Calls, ServerError> {
        let Self { options, lifecycle, limits, .. } = self;
        let (access, telemetry) = (Arc::clone(&backend.access), Arc::clone(&backend.telemetry));
        let tracer = backend.tracer.clone();
        let services = Services::new(options, backend, Arc::clone(limits), Arc::clone(lifecycle));
        let services = services.map_err(|error| ServerError::Failed(error.to_string()))?;
        let serve = Box::new(move |service, request| services.call(service, request));
        Ok(Calls::new(options, Arc::clone(limits), Arc::clone(lifecycle), access, telemetry, tracer, serve))
    }

    /// Serves one address until the server closes.
    async fn serve_on<S>(&self, tcp: TcpListener, strangers: &Arc<Peers>, service: S) -> Result<(), ServerError>
    where
        S: Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send + 'static>
            + Clone
            + Send
            + 'static,
    {
        let options = &self.options;
        let listener = Listener {
            tcp,
            tls: self.tls.clone(),
            write_timeout: options.keepalive_interval.saturating_add(options.keepalive_timeout),
            coalesce_writes: options.coalesce_writes,
            strangers: Arc::clone(strangers),
            limits: Arc::clone(&self.limits),
            telemetry: Arc::clone(&self.backend.telemetry),
        };
        let closing = self.lifecycle.reached(Phase::Closing);
        let serving = transport(options).serve_with_incoming_shutdown(service, listener.connections(), closing);
        serving.await.map_err(|error| ServerError::Failed(error.to_string()))
    }
}

/// Takes an address; with the port that was picked.
pub(super) async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServerError> {
    let failed = |error| ServerError::Bind(address, error);
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// Waits for the drain to start, and returns at its limit.
async fn drain(options: &Options, lifecycle: &Lifecycle) {
    lifecycle.reached(Phase::Leaving).await;
    tokio::time::sleep(options.drain_delay).await;
    lifecycle.advance(Phase::Closing);
    tokio::time::sleep(options.drain_limit).await;
}

fn transport(options: &Options) -> transport::Server {
    let server = transport::Server::builder()
        .accept_http1(true)
        .initial_stream_window_size(RECEIVE_WINDOW_BYTES)
        .initial_connection_window_size(RECEIVE_WINDOW_BYTES)
        .http2_max_header_list_size(MAX_HEAD_BYTES)
        .http2_keepalive_interval(Some(options.keepalive_interval))
        .http2_keepalive_timeout(Some(options.keepalive_timeout))
        .max_concurrent_streams(options.max_streams_per_connection);
    match options.max_connection_age {
        Some(age) => server.max_connection_age(age),
        None => server,
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind(address, error) => write!(f, "cannot listen on {address}: {error}"),
            Self::Failed(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for ServerError {}
