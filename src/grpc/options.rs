//! How the gRPC server runs.

use std::{net::SocketAddr, time::Duration};

use promptd_contract::decode;

use super::{Host, Origins};

/// The settings of the server, checked by the config. The defaults are those of the config.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Where to listen; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Bounds on what one request may carry.
    pub request: decode::Limits,
    /// The most bytes of one request message; at least 1.
    pub max_message_bytes: usize,
    /// The most calls in flight in the whole process, streams and health not counted; at least 1. More are `UNAVAILABLE`.
    pub max_in_flight: usize,
    /// The most open streams (`WatchWorkspace`, `Health.Watch`, reflection) in the whole process; at least 1.
    pub max_streams: usize,
    /// The most connections; at least 1. More are closed at once.
    pub max_connections: usize,
    /// How many streams one connection may have open; at least 1.
    pub max_streams_per_connection: u32,
    /// The most bytes of requests that are being received or answered; an eighth of it for one connection.
    pub max_unread_bytes: usize,
    /// The most bytes of answers that clients have not taken yet; an eighth of it for one connection.
    pub max_unsent_bytes: usize,
    /// The most calls that work on blocking threads at once; `None`: one less than there are cores, at least 1.
    pub max_heavy: Option<usize>,
    /// The longest that one call may take, whatever deadline the caller set; at least a second. Streams are not bounded.
    pub max_call_time: Duration,
    /// How often a silent connection is pinged; at least a second.
    pub keepalive_interval: Duration,
    /// How long to wait for the ping's answer, at least a second. A client that reads nothing is disconnected after both
    /// times.
    pub keepalive_timeout: Duration,
    /// When to ask the client of a connection to open a new one, so that replicas share load; `None`:
    /// never.
    pub max_connection_age: Option<Duration>,
    /// How long `UNAVAILABLE` asks callers to wait.
    pub retry_delay: Duration,
    /// How long calls are still served after health says `NOT_SERVING`, for balancers to notice.
    pub drain_delay: Duration,
    /// How long calls may run on after that before the server ends without them.
    pub drain_limit: Duration,
    /// Whether to compress answers for callers that accept gzip, and to take compressed requests: it costs
    /// ten times what a call costs.
    pub gzip: bool,
    /// Whether what a connection writes in one poll is sent in one piece.
    pub coalesce_writes: bool,
    /// Names that the server is called by, besides loopback and where it listens; default none. Where no token is needed,
    /// it answers to no others over HTTP/1.1, Connect and gRPC-Web.
    pub hosts: Vec<Host>,
    /// Lets pages of these origins call, by Connect or gRPC-Web; `None`: no pages, and no gRPC-Web.
    pub web: Option<Origins>,
    /// Whether `/mcp` is served to clients of the Model Context Protocol.
    #[cfg(feature = "mcp")]
    pub mcp: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 50051)),
            request: decode::Limits::default(),
            max_message_bytes: 4 << 20,
            max_in_flight: 1_024,
            max_streams: 10_000,
            max_connections: 10_000,
            max_streams_per_connection: 1_024,
            max_unread_bytes: 256 << 20,
            max_unsent_bytes: 256 << 20,
            max_heavy: None,
            max_call_time: Duration::from_secs(60),
            keepalive_interval: Duration::from_secs(60),
            keepalive_timeout: Duration::from_secs(20),
            max_connection_age: Some(Duration::from_secs(30 * 60)),
            retry_delay: Duration::from_secs(1),
            drain_delay: Duration::ZERO,
            drain_limit: Duration::from_secs(10),
            gzip: false,
            coalesce_writes: true,
            hosts: Vec::new(),
            web: None,
            #[cfg(feature = "mcp")]
            mcp: true,
        }
    }
}
