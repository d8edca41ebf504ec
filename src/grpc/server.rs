//! The server: bind, serve, drain.

use std::{fmt, io, net::SocketAddr, sync::Arc};

use tokio::net::TcpListener;
use tonic::transport;

use super::{
    Backend, Lifecycle, Limits, Options, Phase, Tls,
    pipeline::Calls,
    protocols::Protocols,
    services::Services,
    transport::{Listener, MAX_HEAD_BYTES, RECEIVE_WINDOW_BYTES},
};

/// A server that is bound to its port and does not serve yet.
pub struct Server {
    listener: TcpListener,
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
        let bound = TcpListener::bind(options.listen).await;
        let listener = bound.map_err(|error| ServerError::Bind(options.listen, error))?;
        let local_addr = listener.local_addr().map_err(|error| ServerError::Bind(options.listen, error))?;
        let (lifecycle, limits) = (Arc::new(Lifecycle::new()), Arc::new(Limits::new(&options)));
        Ok(Self { listener, local_addr, options, backend, tls, lifecycle, limits })
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
    pub async fn serve(self) -> Result<Ended, ServerError> {
        let Self { listener: tcp, options, backend, tls, lifecycle, limits, .. } = self;
        let (access, telemetry) = (Arc::clone(&backend.access), Arc::clone(&backend.telemetry));
        let listener = Listener {
            tcp,
            tls,
            write_timeout: options.keepalive_interval.saturating_add(options.keepalive_timeout),
            coalesce_writes: options.coalesce_writes,
            limits: Arc::clone(&limits),
            telemetry: Arc::clone(&telemetry),
        };
        let services = Services::new(&options, backend, Arc::clone(&limits), Arc::clone(&lifecycle));
        let services = services.map_err(|error| ServerError::Failed(error.to_string()))?;
        let serve = Box::new(move |service, request| services.call(service, request));
        let calls = Calls::new(
            &options,
            Arc::clone(&limits),
            Arc::clone(&lifecycle),
            Arc::clone(&access),
            Arc::clone(&telemetry),
            serve,
        );
        let service = Protocols::new(calls, &options, limits, access, telemetry);
        let closing = {
            let lifecycle = Arc::clone(&lifecycle);
            async move { lifecycle.reached(Phase::Closing).await }
        };
        let serving = transport(&options).serve_with_incoming_shutdown(service, listener.connections(), closing);
        tokio::select! {
            ended = serving => match ended {
                Ok(()) => Ok(Ended::Drained),
                Err(error) => Err(ServerError::Failed(error.to_string())),
            },
            () = drain(&options, &lifecycle) => Ok(Ended::Forced),
        }
    }
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
