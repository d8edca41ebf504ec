//! `otlp`.

use http::uri::{PathAndQuery, Uri};
use promptd_core::yaml::Fields;
use promptd_otlp::Options;

use super::read::{share, span, value};

pub(super) fn options(mut fields: Fields<'_, '_>) -> Option<Options> {
    let endpoint = value(&mut fields, "endpoint", endpoint);
    let service_name = fields.text("service_name").unwrap_or_default().to_owned();
    let (sample, timeout) = (share(&mut fields, "sample"), span(&mut fields, "timeout"));
    fields.finish();
    Some(Options { endpoint: endpoint?, service_name, service_version: env!("CARGO_PKG_VERSION"), sample, timeout })
}

/// Without TLS: a collector runs beside the service, and sends on what it takes.
fn endpoint(text: &str) -> Result<String, String> {
    let is_collector = |uri: &Uri| {
        let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let has_user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
        uri.scheme_str() == Some("http") && uri.port().is_some() && path == "/" && !has_user
    };
    let wanted = "the address of a collector, `http://HOST:PORT`; with TLS or a path, name a collector beside promptd that sends on";
    if text.parse().is_ok_and(|uri| is_collector(&uri)) { Ok(text.to_owned()) } else { Err(wanted.to_owned()) }
}
