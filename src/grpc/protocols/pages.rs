//! Pages: which may call, and what their scripts may read of an answer.
//!
//! A page of anywhere can have a browser send requests to a server that the page's author cannot reach, this machine's
//! own for one: to its address, with an `Origin` that the browser sends; or to a name of the author's that is made to lead
//! there, with that name as the `Host`. A token keeps both out. Where none is needed, this does.

use std::{net::IpAddr, sync::Arc};

use http::{HeaderName, HeaderValue, Method, Request, header, uri::Authority};
use tonic::body::Body;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use super::Refused;
use crate::grpc::{Access, Host, Options, Origins, hosts::is_own, pipeline::Error};

/// The headers of answers that a page's script may read.
const EXPOSED: [HeaderName; 4] = [
    HeaderName::from_static("grpc-status"),
    HeaderName::from_static("grpc-message"),
    HeaderName::from_static("grpc-status-details-bin"),
    HeaderName::from_static("x-request-id"),
];

/// Which pages may call.
pub(super) struct Pages {
    access: Arc<Access>,
    listen: IpAddr,
    hosts: Vec<Host>,
    origins: Option<Origins>,
}

impl Pages {
    pub(super) fn new(access: Arc<Access>, options: &Options) -> Self {
        let (hosts, origins) = (options.hosts.clone(), options.web.clone());
        Self { access, listen: options.listen.ip(), hosts, origins }
    }

    /// That a request is for this server and by a page that may call, or by no page at all.
    pub(super) fn check(&self, request: &Request<Body>) -> Result<(), (Refused, Error)> {
        if self.access.needs_token() {
            return Ok(());
        }
        let own = authority(request).filter(|authority| is_own(authority.host(), self.listen, &self.hosts));
        let Some(own) = own else { return Err((Refused::Host, Error::HostNotAllowed)) };
        match request.headers().get(header::ORIGIN) {
            Some(origin) if !is_origin_of(origin, &own) && !self.lists(origin) => {
                Err((Refused::Origin, Error::OriginNotAllowed))
            }
            _ => Ok(()),
        }
    }

    fn lists(&self, origin: &HeaderValue) -> bool {
        match &self.origins {
            None => false,
            Some(Origins::Any) => true,
            Some(Origins::Listed(listed)) => listed.iter().any(|one| one.header() == origin),
        }
    }
}

/// Whether an origin is the server's own address, whose pages are its own.
fn is_origin_of(origin: &HeaderValue, own: &Authority) -> bool {
    let origin = origin.to_str().unwrap_or_default();
    let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    host.is_some_and(|host| host.eq_ignore_ascii_case(own.as_str()))
}

/// The host that a request names, with the port if there is one.
pub(super) fn authority(request: &Request<Body>) -> Option<Authority> {
    let header = || request.headers().get(header::HOST)?.to_str().ok()?.parse().ok();
    request.uri().authority().cloned().or_else(header)
}

/// The answers to browsers that ask whether a page may call.
pub(super) fn cors(origins: &Origins) -> CorsLayer {
    let origins = match origins {
        Origins::Any => AllowOrigin::any(),
        Origins::Listed(origins) => AllowOrigin::list(origins.iter().map(|origin| origin.header().clone())),
    };
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::POST, Method::GET])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(EXPOSED)
}
