//! Origins that browsers call from.

use http::{HeaderValue, uri::Authority};

/// Which origins may call by gRPC-Web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
    /// Every one.
    Any,
    /// These alone.
    Listed(Vec<Origin>),
}

/// A web origin, as browsers send it: scheme, host, and the port if it is not the scheme's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(HeaderValue);

impl Origin {
    /// Reads an origin such as `https://app.example`. Letters may be in any case and the scheme's own port may be given;
    /// browsers send neither. The error is what the text must be.
    pub fn parse(text: &str) -> Result<Self, String> {
        checked(text).ok_or_else(|| {
            format!("origins such as `https://app.example` or `*`: `{text}` is not a scheme and host, without a path")
        })
    }

    /// The value of the header `Origin`.
    #[must_use]
    pub fn header(&self) -> &HeaderValue {
        &self.0
    }
}

fn checked(text: &str) -> Option<Origin> {
    let text = text.to_ascii_lowercase();
    let (scheme, rest) = text.split_once("://")?;
    let default_port = match scheme {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let authority: Authority = rest.parse().ok()?;
    let host = authority.host();
    let port = authority.port_u16();
    let whole = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    // Not so where there is a user before the host, or a port that is not a number of 16 bits.
    if whole != rest || !is_host(host) {
        return None;
    }
    let origin = match port {
        Some(port) if port != default_port => format!("{scheme}://{host}:{port}"),
        _ => format!("{scheme}://{host}"),
    };
    HeaderValue::try_from(origin).ok().map(Origin)
}

/// A name of letters, digits, hyphens and dots (RFC 952, 1123), or an address.
pub(super) fn is_host(host: &str) -> bool {
    let is_address = || host.strip_prefix('[')?.strip_suffix(']')?.parse::<std::net::Ipv6Addr>().ok();
    let is_label = |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    host.split('.').all(is_label) || is_address().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_what_a_browser_sends() {
        for (text, sent) in [
            ("https://app.example", Some("https://app.example")),
            ("http://localhost:8080", Some("http://localhost:8080")),
            ("https://App.Example:443", Some("https://app.example")),
            ("http://app.example:443", Some("http://app.example:443")),
            ("https://[::1]:8443", Some("https://[::1]:8443")),
            ("https://127.0.0.1", Some("https://127.0.0.1")),
            ("https://exa_mple.org", None),
            ("https://app.example/", None),
            ("https://app.example/path", None),
            ("https://", None),
            ("https://a..b", None),
            ("https://user@app.example", None),
            ("https://app.example:99999", None),
            ("https://app.example:", None),
            ("ftp://app.example", None),
            ("app.example", None),
            ("https://*.example", None),
            ("https://[::1", None),
            ("null", None),
        ] {
            let parsed = Origin::parse(text).ok();
            assert_eq!(parsed.as_ref().map(|origin| origin.header().to_str().unwrap()), sent, "{text}");
        }
    }
}
