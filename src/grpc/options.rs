//! How the gRPC server runs: checked settings, their defaults the documented ones.

use std::{net::SocketAddr, time::Duration};

use promptd_contract::decode;

/// All settings of the server. [`Options::check`] tells what does not go together.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Where to listen; default `127.0.0.1:50051`. Port 0 picks a free one.
    pub listen: SocketAddr,
    /// Allows a listen address that other machines reach without tokens or client certificates; default false.
    pub insecure: bool,
    /// Bounds on what one request may carry.
    pub request: decode::Limits,
    /// The most bytes of one request message; default 4 MiB.
    pub max_message_bytes: usize,
    /// The most calls in flight in the whole process, streams and health not counted; default 1,024. More are `UNAVAILABLE`.
    pub max_in_flight: usize,
    /// The most open streams (`WatchWorkspace`, `Health.Watch`, reflection) in the whole process; default 10,000.
    pub max_streams: usize,
    /// The most connections; default 10,000. More are closed at once.
    pub max_connections: usize,
    /// How many streams one connection may have open; default 1,024.
    pub max_streams_per_connection: u32,
    /// The longest that one call may take, whatever deadline the caller set; default 60 s. Streams are not bound.
    pub max_call_time: Duration,
    /// When to ask a silent connection whether it is alive; default 60 s.
    pub keepalive_interval: Duration,
    /// How long to wait for its answer; default 20 s. Who takes nothing that is sent to them has both times.
    pub keepalive_timeout: Duration,
    /// When to ask the client of a connection to open a new one, so that replicas share load; default 30 min; `None`:
    /// never.
    pub max_connection_age: Option<Duration>,
    /// What `UNAVAILABLE` tells callers to wait; default 1 s.
    pub retry_delay: Duration,
    /// How long to go on serving after `NOT_SERVING` is told, for balancers to notice; default 0.
    pub drain_delay: Duration,
    /// How long calls may run on after that before the server ends without them; default 10 s.
    pub drain_limit: Duration,
    /// Whether to compress answers for callers that accept gzip, and to take compressed requests; default false, since
    /// it costs ten times what a call costs.
    pub gzip: bool,
    /// Serves gRPC-Web too; default `None`: off.
    pub web: Option<Web>,
}

/// Who may call over gRPC-Web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Web {
    /// The origins that browsers may call from, such as `https://app.example.org`; `*` alone: any.
    pub origins: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 50051)),
            insecure: false,
            request: decode::Limits::default(),
            max_message_bytes: 4 << 20,
            max_in_flight: 1_024,
            max_streams: 10_000,
            max_connections: 10_000,
            max_streams_per_connection: 1_024,
            max_call_time: Duration::from_secs(60),
            keepalive_interval: Duration::from_secs(60),
            keepalive_timeout: Duration::from_secs(20),
            max_connection_age: Some(Duration::from_secs(30 * 60)),
            retry_delay: Duration::from_secs(1),
            drain_delay: Duration::ZERO,
            drain_limit: Duration::from_secs(10),
            gzip: false,
            web: None,
        }
    }
}

impl Options {
    /// What does not go together, one sentence each, naming the setting of `config/promptd.yaml` to change.
    /// `authenticated` says whether callers need tokens or client certificates.
    pub fn check(&self, authenticated: bool) -> Result<(), Vec<String>> {
        let mut faults = Vec::new();
        if !self.listen.ip().is_loopback() && !authenticated && !self.insecure {
            faults.push(format!(
                "`listen: {}` can be reached from other machines, and callers need neither tokens nor client \
                 certificates; configure one of them, listen on 127.0.0.1, or set `insecure: true`",
                self.listen
            ));
        }
        for (name, value) in [
            ("max_message_bytes", self.max_message_bytes),
            ("max_in_flight", self.max_in_flight),
            ("max_streams", self.max_streams),
            ("max_connections", self.max_connections),
            ("max_streams_per_connection", self.max_streams_per_connection as usize),
        ] {
            if value == 0 {
                faults.push(format!("`{name}` must be at least 1, or nothing can be served"));
            }
        }
        for origin in self.web.iter().flat_map(|web| &web.origins) {
            if origin != "*" && !is_origin(origin) {
                faults.push(format!("`{origin}` is no origin; write one such as `https://app.example.org`, or `*`"));
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}

/// Scheme, host and perhaps port, as browsers send it: nothing after that, not even a slash.
fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| {
        !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.:[]".contains(&b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_address_needs_authentication_or_a_word_that_it_does_not() {
        let open = Options { listen: SocketAddr::from(([0, 0, 0, 0], 50051)), ..Options::default() };
        assert!(open.check(false).unwrap_err()[0].contains("insecure: true"));
        assert!(open.check(true).is_ok());
        assert!(Options { insecure: true, ..open }.check(false).is_ok());
        assert!(Options::default().check(false).is_ok());
        assert!(Options { listen: "[::1]:1".parse().unwrap(), ..Options::default() }.check(false).is_ok());
    }

    #[test]
    fn limits_of_nothing_and_bad_origins_are_all_told() {
        let web = Some(Web { origins: vec!["*".into(), "https://a.example:8080".into(), "https://a.example/".into()] });
        let bad = Options { max_in_flight: 0, max_streams: 0, web, ..Options::default() };
        assert_eq!(bad.check(false).unwrap_err().len(), 3);
    }
}
