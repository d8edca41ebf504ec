//! TLS from PEM files: certificates that can be replaced while the server runs.
//!
//! tonic's own TLS is fixed once the server is built, so connections are accepted here, each with the current
//! configuration.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
        server::WebPkiClientVerifier,
    },
};

/// The contents of the PEM files.
#[derive(Clone, Copy)]
pub struct Pem<'a> {
    /// The server's certificate, then its intermediates.
    pub cert: &'a [u8],
    /// The certificate's private key.
    pub key: &'a [u8],
    /// The roots of client certificates. If set, every client must have a certificate of one of them.
    pub client_ca: Option<&'a [u8]>,
}

/// The server's TLS configuration, replaceable.
#[derive(Debug)]
pub struct Tls {
    current: ArcSwap<ServerConfig>,
    authenticates: bool,
}

/// Why PEM files cannot be used. It names the file by its setting and shows none of its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsError(String);

impl Tls {
    /// Reads the files.
    pub fn new(pem: Pem<'_>) -> Result<Self, TlsError> {
        let authenticates = pem.client_ca.is_some();
        Ok(Self { current: ArcSwap::from_pointee(read(pem)?), authenticates })
    }

    /// Uses these files for new connections. On an error the old ones stay in use.
    pub fn replace(&self, pem: Pem<'_>) -> Result<(), TlsError> {
        if pem.client_ca.is_some() != self.authenticates {
            return Err(TlsError("`tls.client_ca` cannot be added or removed without a restart".into()));
        }
        self.current.store(Arc::new(read(pem)?));
        Ok(())
    }

    /// Whether clients need certificates.
    #[must_use]
    pub fn authenticates(&self) -> bool {
        self.authenticates
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.current.load_full())
    }
}

fn read(pem: Pem<'_>) -> Result<ServerConfig, TlsError> {
    let chain = certificates("cert", pem.cert)?;
    let key = PrivateKeyDer::from_pem_slice(pem.key)
        .map_err(|_| TlsError("`tls.key` has no private key in PEM form".into()))?;
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|e| TlsError(e.to_string()))?;
    let builder = match pem.client_ca {
        None => builder.with_no_client_auth(),
        Some(ca) => {
            let mut roots = RootCertStore::empty();
            for root in certificates("client_ca", ca)? {
                roots.add(root).map_err(|e| TlsError(format!("`tls.client_ca`: {e}")))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|e| TlsError(format!("`tls.client_ca`: {e}")))?)
        }
    };
    let mut config = builder
        .with_single_cert(chain, key)
        .map_err(|e| TlsError(format!("`tls.cert` and `tls.key` do not go together: {e}")))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn certificates(setting: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let error = || TlsError(format!("`tls.{setting}` has no certificate in PEM form"));
    let all: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(|_| error())?;
    if all.is_empty() { Err(error()) } else { Ok(all) }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}
