//! TLS from PEM files: certificates that can be replaced while the server runs.
//!
//! tonic's own TLS is fixed once the server is built, so connections are accepted here, each with the current
//! configuration.

use std::{fmt, io, sync::Arc};

use arc_swap::ArcSwap;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
        server::WebPkiClientVerifier,
    },
    server::TlsStream,
};

use super::peer::{Peer, Peers};

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
    current: ArcSwap<Current>,
    authenticates: bool,
}

#[derive(Debug)]
struct Current {
    config: Arc<ServerConfig>,
    client_ca: Option<Arc<ClientCa>>,
}

/// The authority of clients, and the connections of those whose certificates it has signed.
#[derive(Debug)]
struct ClientCa {
    pem: Vec<u8>,
    connections: Peers,
}

/// Why PEM files cannot be used. It names the file by its setting and shows none of its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsError(String);

impl Tls {
    /// Reads the files.
    pub fn new(pem: Pem<'_>) -> Result<Self, TlsError> {
        let client_ca = pem.client_ca.map(ClientCa::new);
        let authenticates = client_ca.is_some();
        Ok(Self { current: ArcSwap::from_pointee(Current { config: read(pem)?, client_ca }), authenticates })
    }

    /// Uses these files for new connections. Where `client_ca` is another, the connections of the old authority end. On an
    /// error the old files stay in use.
    pub fn replace(&self, pem: Pem<'_>) -> Result<(), TlsError> {
        if pem.client_ca.is_some() != self.authenticates {
            return Err(TlsError("`tls.client_ca` cannot be added or removed without a restart".into()));
        }
        let config = read(pem)?;
        let old = self.current.load().client_ca.clone();
        let kept = old.clone().filter(|old| pem.client_ca == Some(&old.pem));
        let replaced = if kept.is_none() { old } else { None };
        let client_ca = kept.or_else(|| pem.client_ca.map(ClientCa::new));
        self.current.store(Arc::new(Current { config, client_ca }));
        if let Some(replaced) = replaced {
            replaced.connections.end_all();
        }
        Ok(())
    }

    /// Whether clients need certificates.
    #[must_use]
    pub fn authenticates(&self) -> bool {
        self.authenticates
    }

    /// The handshake of a new connection.
    pub(super) async fn accept<T: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: T,
        peer: &Peer,
    ) -> io::Result<TlsStream<T>> {
        let current = self.current.load_full();
        if let Some(client_ca) = &current.client_ca {
            client_ca.connections.add(peer);
        }
        let stream = TlsAcceptor::from(Arc::clone(&current.config)).accept(stream).await?;
        // It was added too late for a replacement that came meanwhile.
        let now = self.current.load();
        match (&current.client_ca, &now.client_ca) {
            (Some(then), Some(now)) if !Arc::ptr_eq(then, now) => Err(io::ErrorKind::ConnectionReset.into()),
            _ => Ok(stream),
        }
    }
}

impl ClientCa {
    fn new(pem: &[u8]) -> Arc<Self> {
        Arc::new(Self { pem: pem.to_vec(), connections: Peers::default() })
    }
}

fn read(pem: Pem<'_>) -> Result<Arc<ServerConfig>, TlsError> {
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
    Ok(Arc::new(config))
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
