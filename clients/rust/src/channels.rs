//! Connections to every address, opened when they are first used.

use std::{
    collections::BTreeSet,
    fs,
    net::SocketAddr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tonic::{
    Code, codegen,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity},
};

use crate::{Error, Tls};

/// For how long an address that failed is passed over while there are others.
const PASSED_OVER: Duration = Duration::from_secs(5);
/// The longest that a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How often an idle connection is pinged, so that one whose other end has vanished is noticed.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// How long a ping may stay unanswered.
const PING_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Channels {
    all: Vec<One>,
    next: AtomicUsize,
}

#[derive(Debug)]
pub(crate) struct One {
    pub(crate) channel: Channel,
    /// As it was given.
    pub(crate) address: String,
    failed: Mutex<Option<Instant>>,
}

impl Channels {
    /// Calls are spread over all addresses that the names have now.
    pub(crate) async fn open(addresses: &[String], tls: Option<&Tls>) -> Result<Self, Error> {
        let mut all = Vec::new();
        for address in addresses {
            let (secure, host) = parsed(address, tls.is_some())?;
            let found = tokio::net::lookup_host(host).await;
            let found: BTreeSet<SocketAddr> = found.map_err(|error| unresolved(address, &error))?.collect();
            for ip in found {
                let channel = endpoint(ip, host, secure.then_some(tls).flatten(), secure)?.connect_lazy();
                all.push(One { channel, address: host.to_owned(), failed: Mutex::default() });
            }
        }
        if all.is_empty() {
            return Err(Error::own(Code::InvalidArgument, "no address to connect to: give `host:port`"));
        }
        Ok(Self { all, next: AtomicUsize::new(0) })
    }

    /// The next in turn that has not just failed, else the next.
    pub(crate) fn pick(&self) -> &One {
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let turn = |step: usize| &self.all[(start.wrapping_add(step)) % self.all.len()];
        (0..self.all.len()).map(turn).find(|one| !one.has_just_failed()).unwrap_or_else(|| turn(0))
    }
}

impl One {
    /// Remembers how a call went.
    pub(crate) fn note(&self, is_unreachable: bool) {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = is_unreachable.then(Instant::now);
    }

    fn has_just_failed(&self) -> bool {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.is_some_and(|failed| failed.elapsed() < PASSED_OVER)
    }
}

/// Whether an address wants TLS, and its host and port.
fn parsed(address: &str, has_tls: bool) -> Result<(bool, &str), Error> {
    let (secure, host) = match address.split_once("://") {
        Some(("http", _)) if has_tls => {
            let message = format!("`{address}` is without TLS, but the client has TLS: give `https://` or `host:port`");
            return Err(Error::own(Code::InvalidArgument, message));
        }
        Some(("http", host)) => (false, host),
        Some(("https", host)) => (true, host),
        Some(_) => return Err(unusable(address)),
        None => (has_tls, address),
    };
    let host = host.strip_suffix('/').unwrap_or(host);
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port && !host.contains('/') { Ok((secure, host)) } else { Err(unusable(address)) }
}

fn endpoint(ip: SocketAddr, host: &str, tls: Option<&Tls>, secure: bool) -> Result<Endpoint, Error> {
    let scheme = if secure { "https" } else { "http" };
    let invalid = |error: &dyn std::error::Error| Error::own(Code::InvalidArgument, format!("{host}: {error}"));
    let origin =
        format!("{scheme}://{host}").parse().map_err(|error| invalid(&error as &codegen::http::uri::InvalidUri))?;
    let endpoint = Endpoint::from_shared(format!("{scheme}://{ip}"))
        .map_err(|error| invalid(&error))?
        // A proxy in front of a server routes by the name.
        .origin(origin)
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT)
        .keep_alive_while_idle(true);
    if !secure {
        return Ok(endpoint);
    }
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let mut config = ClientTlsConfig::new().domain_name(name.trim_matches(['[', ']']));
    let none = Tls::default();
    let Tls { ca, certificate, key } = tls.unwrap_or(&none);
    config = match ca {
        Some(ca) => config.ca_certificate(Certificate::from_pem(read(ca)?)),
        None => config.with_enabled_roots(),
    };
    match (certificate, key) {
        (Some(certificate), Some(key)) => config = config.identity(Identity::from_pem(read(certificate)?, read(key)?)),
        (None, None) => {}
        _ => return Err(Error::own(Code::InvalidArgument, "`certificate` and `key` of TLS are needed together")),
    }
    endpoint.tls_config(config).map_err(|error| invalid(&error))
}

fn read(path: &std::path::Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|error| {
        Error::own(Code::InvalidArgument, format!("the TLS file {} cannot be read: {error}", path.display()))
    })
}

fn unusable(address: &str) -> Error {
    Error::own(
        Code::InvalidArgument,
        format!("the address `{address}` cannot be used: give `host:port`, `http://host:port` or `https://host:port`"),
    )
}

fn unresolved(address: &str, error: &std::io::Error) -> Error {
    Error::own(Code::Unavailable, format!("{address} has no address ({error}); check the name and the network"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn calls_take_turns_and_pass_over_what_has_just_failed() {
        let addresses = ["127.0.0.1:1", "127.0.0.2:1", "127.0.0.3:1"].map(str::to_owned);
        let channels = Channels::open(&addresses, None).await.unwrap();
        let picked = |count| (0..count).map(|_| channels.pick().address.clone()).collect::<Vec<_>>();
        assert_eq!(picked(4), ["127.0.0.1:1", "127.0.0.2:1", "127.0.0.3:1", "127.0.0.1:1"]);
        channels.all[1].note(true);
        assert!(!picked(9).contains(&addresses[1]));
        channels.all[0].note(true);
        channels.all[2].note(true);
        assert_eq!(picked(3).len(), 3, "when all have failed they are tried");
        channels.all[1].note(false);
        assert_eq!(picked(2), [addresses[1].clone(), addresses[1].clone()]);
    }

    #[tokio::test]
    async fn tls_is_never_left_out_without_a_word() {
        let both = ["http://localhost:1".to_owned()];
        let error = Channels::open(&both, Some(&Tls::default())).await.unwrap_err();
        assert!(error.message.contains("https://"), "{error}");
        let half = Tls { certificate: Some("client.pem".into()), ..Tls::default() };
        let error = Channels::open(&["localhost:1".to_owned()], Some(&half)).await.unwrap_err();
        assert!(error.message.contains("together"), "{error}");
    }

    #[tokio::test]
    async fn an_address_that_cannot_be_used_says_what_can() {
        for address in ["localhost", "ftp://localhost:1", "localhost:port", "http://localhost:1/path"] {
            let error = Channels::open(&[address.to_owned()], None).await.unwrap_err();
            assert!(error.message.contains(address) && error.message.contains("host:port"), "{}", error.message);
        }
        assert!(Channels::open(&["http://localhost:1/".to_owned()], None).await.is_ok());
    }
}
