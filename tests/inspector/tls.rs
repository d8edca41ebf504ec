//! With TLS the page's own origin is `https`, and nothing is answered without it.

use std::sync::Arc;

use promptd::grpc::{Pem, Tls};
use rcgen::{CertificateParams, KeyPair};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, pki_types::CertificateDer},
};

use crate::{address, browser, rig::Rig, start_with};

/// A server with a certificate for `localhost`, and what trusts it.
async fn start() -> (Rig, TlsConnector) {
    let key = KeyPair::generate().unwrap();
    let cert = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let (cert_pem, key_pem) = (cert.pem(), key.serialize_pem());
    let pem = Pem { cert: cert_pem.as_bytes(), key: key_pem.as_bytes(), client_ca: None };
    let tls = Arc::new(Tls::new(pem).unwrap());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(cert.der().to_vec())).unwrap();
    let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    (start_with(false, |setup| setup.tls = Some(tls)).await, TlsConnector::from(Arc::new(client)))
}

#[tokio::test]
async fn the_pages_own_origin_is_that_of_its_scheme() {
    let (rig, connector) = start().await;
    let port = address(&rig).port();
    for (origin, status) in [("https", "200"), ("http", "403")] {
        let tcp = TcpStream::connect(address(&rig)).await.unwrap();
        let mut stream = connector.connect("localhost".try_into().unwrap(), tcp).await.unwrap();
        let head = format!("host: localhost:{port}\r\norigin: {origin}://localhost:{port}\r\nconnection: close");
        stream.write_all(format!("GET /info.json HTTP/1.1\r\n{head}\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{origin} {answer}");
    }
    assert!(browser(&rig).begin("GET", "/", &[], "").await.is_err());
}
