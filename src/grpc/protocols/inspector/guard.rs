//! Who may ask at the inspector's address: its own page, a reader who opens it, and programs of this machine.
//!
//! What is shown there no other page may see, whether or not a token is needed. A browser sends with each request which page
//! it is for, and another page cannot change that.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, Method, Request, header::ORIGIN};
use tonic::body::Body;

use crate::grpc::{
    Host, Options,
    hosts::is_own,
    protocols::{Refused, pages::authority},
};

/// What Fetch Metadata says of a request (<https://www.w3.org/TR/fetch-metadata/>).
const SITE: &str = "sec-fetch-site";
const MODE: &str = "sec-fetch-mode";
const DESTINATION: &str = "sec-fetch-dest";

/// What the inspector's address is called by.
pub(super) struct Guard {
    listen: IpAddr,
    hosts: Vec<Host>,
    scheme: &'static str,
}

impl Guard {
    pub(super) fn new(address: SocketAddr, options: &Options, tls: bool) -> Self {
        let scheme = if tls { "https" } else { "http" };
        Self { listen: address.ip(), hosts: options.hosts.clone(), scheme }
    }

    /// That a request names this server, and is by its own page or by none.
    pub(super) fn check(&self, request: &Request<Body>) -> Result<(), Refused> {
        let named = authority(request).filter(|named| is_own(named.host(), self.listen, &self.hosts));
        let named = named.ok_or(Refused::Host)?;
        let own = format!("{}://{named}", self.scheme);
        let by_own_page = all(request.headers(), ORIGIN.as_str(), |origin| origin == own.as_bytes());
        let from_here = all(request.headers(), SITE, |site| matches!(site, b"same-origin" | b"none"));
        if by_own_page && (from_here || opens_the_page(request)) { Ok(()) } else { Err(Refused::Origin) }
    }
}

/// Whether a reader follows a link to the page itself. Its answer has no data, and the page that has the link sees nothing.
fn opens_the_page(request: &Request<Body>) -> bool {
    let headers = request.headers();
    let is = |name: &str, wanted: &[u8]| headers.contains_key(name) && all(headers, name, |value| value == wanted);
    request.method() == Method::GET
        && request.uri().path() == "/"
        && is(MODE, b"navigate")
        && is(DESTINATION, b"document")
}

fn all(headers: &HeaderMap, name: &str, holds: impl Fn(&[u8]) -> bool) -> bool {
    headers.get_all(name).iter().all(|value| holds(value.as_bytes()))
}
