//! TLS, with certificates on both sides.

use std::{fs, path::PathBuf};

use promptd_client::{Code, Promptd, Tls};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::json;
use tempfile::TempDir;

use crate::server::Server;

/// Files of an authority, and of what it signed for the server and for a client.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        fs::write(home.path().join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        let issuer = Issuer::new(params, key);
        for name in ["server", "client"] {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec!["localhost".into()]).unwrap();
            let certificate = params.signed_by(&key, &issuer).unwrap();
            fs::write(home.path().join(format!("{name}.pem")), certificate.pem()).unwrap();
            fs::write(home.path().join(format!("{name}.key")), key.serialize_pem()).unwrap();
        }
        Self(home)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

#[tokio::test]
async fn both_sides_show_certificates_that_the_other_trusts() {
    let files = Files::new();
    let settings = json!({
        "tls": {"cert": files.path("server.pem"), "key": files.path("server.key"), "client_ca": files.path("ca.pem")},
    });
    let server = Server::with(&settings, &[]);
    let address = server.address.replace("127.0.0.1", "localhost");
    let call = async |tls: Tls| {
        let client = Promptd::builder(&address).tls(tls).timeout(std::time::Duration::from_secs(3)).build().await?;
        client.assemble("example").send().await
    };
    let whole = Tls {
        ca: Some(files.path("ca.pem")),
        certificate: Some(files.path("client.pem")),
        key: Some(files.path("client.key")),
    };
    call(whole.clone()).await.unwrap();
    let nobody = Tls { certificate: None, key: None, ..whole.clone() };
    assert_eq!(call(nobody).await.unwrap_err().code, Code::Unavailable);
    let stranger = Tls { ca: Some(Files::new().path("ca.pem")), ..whole.clone() };
    assert!(call(stranger).await.is_err(), "a server that another authority has signed for");
    let missing = call(Tls { ca: Some("no/such.pem".into()), ..whole }).await.unwrap_err();
    assert!(missing.message.contains("no/such.pem"), "{missing}");
    assert!(Promptd::connect(&address).await.unwrap().assemble("example").send().await.is_err(), "without TLS");
}
