//! Connections to a model's server, with TLS where its address has it.

use std::{io, sync::Arc};

use http::uri::{Scheme, Uri};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, pki_types::ServerName},
};

/// Where a model is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    is_tls: bool,
    host: String,
    port: u16,
    /// `HOST:PORT`, as it was written.
    pub(super) authority: String,
    /// Without a slash at the end.
    pub(super) path: String,
}

impl Address {
    /// Reads `http://HOST:PORT/v1`, `https://HOST/v1`. The error is what it must be.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wanted = || "the address of an OpenAI-compatible server, such as `https://api.openai.com/v1`".to_owned();
        let uri: Uri = text.parse().map_err(|_| wanted())?;
        let is_tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(wanted()),
        };
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@')).ok_or_else(wanted)?;
        if uri.query().is_some() || authority.host().is_empty() {
            return Err(wanted());
        }
        Ok(Self {
            is_tls,
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 }),
            authority: authority.to_string(),
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }
}

/// A connection.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Makes connections.
pub(super) struct Connector {
    /// `None`: without TLS.
    tls: Option<TlsConnector>,
}

impl Connector {
    /// With the certificates that the host trusts.
    pub(super) fn new(address: &Address) -> Result<Self, String> {
        if !address.is_tls {
            return Ok(Self { tls: None });
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err("the host has no certificates of authorities, which `https` needs".into());
        }
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        Ok(Self { tls: Some(TlsConnector::from(Arc::new(config))) })
    }

    pub(super) async fn connect(&self, address: &Address) -> io::Result<Box<dyn Stream>> {
        let stream = TcpStream::connect((address.host.as_str(), address.port)).await?;
        stream.set_nodelay(true)?;
        let Some(tls) = &self.tls else { return Ok(Box::new(stream)) };
        let name = ServerName::try_from(address.host.clone()).map_err(io::Error::other)?;
        Ok(Box::new(tls.connect(name, stream).await?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_that_of_a_server() {
        for (text, host, port, path) in [
            ("http://localhost:11434/v1", "localhost", 11_434, "/v1"),
            ("https://api.openai.com/v1/", "api.openai.com", 443, "/v1"),
            ("http://[::1]:8080", "::1", 8_080, ""),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!((&*address.host, address.port, &*address.path), (host, port, path), "{text}");
        }
        for text in ["", "localhost", "localhost:1", "ftp://a/", "http://a:b@c/", "https://a/?q=1", "unix:/x"] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
