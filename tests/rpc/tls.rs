//! TLS and client certificates, replaced while the server runs.

use std::sync::Arc;

use promptd::grpc::{
    Pem, Tls,
    api::{prompt_service_client::PromptServiceClient, workspace_service_client::WorkspaceServiceClient},
};
use promptd_contract::proto;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        pki_types::{CertificateDer, pem::PemObject as _},
    },
};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

use crate::rig::{PATIENCE, Rig, Setup, ask};

/// A root certificate that signs others.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

struct Leaf {
    cert: String,
    key: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    fn leaf(&self) -> Leaf {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap().pem();
        Leaf { cert, key: key.serialize_pem() }
    }
}

fn pem<'a>(leaf: &'a Leaf, client_ca: Option<&'a Authority>) -> Pem<'a> {
    Pem {
        cert: leaf.cert.as_bytes(),
        key: leaf.key.as_bytes(),
        client_ca: client_ca.map(|authority| authority.pem.as_bytes()),
    }
}

async fn start(tls: &Arc<Tls>) -> Rig {
    Rig::start_with(Setup { tls: Some(Arc::clone(tls)), ..Setup::default() }).await
}

async fn call(rig: &Rig, trusted: &Authority, own: Option<&Leaf>) -> Result<proto::AssemblePromptResponse, String> {
    let mut tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&trusted.pem)).domain_name("localhost");
    if let Some(own) = own {
        tls = tls.identity(Identity::from_pem(&own.cert, &own.key));
    }
    let endpoint = Endpoint::from_shared(format!("https://{}", rig.addr)).unwrap().tls_config(tls).unwrap();
    let channel = endpoint.connect().await.map_err(|e| format!("{e:?}"))?;
    let answer = PromptServiceClient::new(channel).assemble_prompt(ask()).await;
    answer.map(tonic::Response::into_inner).map_err(|e| format!("{e:?}"))
}

#[tokio::test]
async fn certificates_are_replaced_without_a_restart() {
    let (old, new) = (Authority::new(), Authority::new());
    let tls = Arc::new(Tls::new(pem(&old.leaf(), None)).unwrap());
    let rig = start(&tls).await;
    call(&rig, &old, None).await.unwrap();
    assert!(call(&rig, &new, None).await.is_err());

    tls.replace(pem(&new.leaf(), None)).unwrap();
    call(&rig, &new, None).await.unwrap();
    assert!(call(&rig, &old, None).await.is_err());

    // Unusable files change nothing.
    let half = Leaf { key: "no key".into(), ..new.leaf() };
    assert!(tls.replace(pem(&half, None)).unwrap_err().to_string().contains("tls.key"));
    let mixed = Leaf { key: old.leaf().key, ..new.leaf() };
    assert!(tls.replace(pem(&mixed, None)).unwrap_err().to_string().contains("do not go together"));
    call(&rig, &new, None).await.unwrap();
}

#[tokio::test]
async fn a_plain_connection_is_refused() {
    let authority = Authority::new();
    let rig = start(&Arc::new(Tls::new(pem(&authority.leaf(), None)).unwrap())).await;
    let plain = rig.endpoint().connect().await;
    let failed = match plain {
        Ok(channel) => PromptServiceClient::new(channel).assemble_prompt(ask()).await.is_err(),
        Err(_) => true,
    };
    assert!(failed);
    call(&rig, &authority, None).await.unwrap();
}

#[tokio::test]
async fn clients_need_a_certificate_of_the_configured_root() {
    let (authority, clients, strangers) = (Authority::new(), Authority::new(), Authority::new());
    let tls = Arc::new(Tls::new(pem(&authority.leaf(), Some(&clients))).unwrap());
    assert!(tls.authenticates());
    let rig = start(&tls).await;
    call(&rig, &authority, Some(&clients.leaf())).await.unwrap();
    assert!(call(&rig, &authority, None).await.is_err());
    assert!(call(&rig, &authority, Some(&strangers.leaf())).await.is_err());

    tls.replace(pem(&authority.leaf(), Some(&strangers))).unwrap();
    call(&rig, &authority, Some(&strangers.leaf())).await.unwrap();
    assert!(call(&rig, &authority, Some(&clients.leaf())).await.is_err());
    assert!(tls.replace(pem(&authority.leaf(), None)).is_err(), "a reload cannot turn client certificates off");
}

#[tokio::test]
async fn both_versions_of_http_are_offered() {
    let authority = Authority::new();
    let rig = start(&Arc::new(Tls::new(pem(&authority.leaf(), None)).unwrap())).await;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap()).unwrap();
    for (offered, taken) in [(vec!["h2", "http/1.1"], "h2"), (vec!["http/1.1"], "http/1.1")] {
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let mut client = client.with_root_certificates(roots.clone()).with_no_client_auth();
        client.alpn_protocols = offered.into_iter().map(|name| name.as_bytes().to_vec()).collect();
        let stream = TcpStream::connect(rig.addr).await.unwrap();
        let connector = TlsConnector::from(Arc::new(client));
        let mut stream = connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(taken.as_bytes()));
        if taken == "http/1.1" {
            let request = "GET /promptd.v1.WorkspaceService/ListWorkspaces HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains(r#""id":"harbor""#), "{answer}");
        }
    }
}

#[tokio::test]
async fn connections_of_a_replaced_authority_end() {
    let (authority, old, new) = (Authority::new(), Authority::new(), Authority::new());
    let server = authority.leaf();
    let tls = Arc::new(Tls::new(pem(&server, Some(&old))).unwrap());
    let rig = start(&tls).await;
    let leaf = old.leaf();
    let client = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&authority.pem)).domain_name("localhost");
    let client = client.identity(Identity::from_pem(&leaf.cert, &leaf.key));
    let endpoint = Endpoint::from_shared(format!("https://{}", rig.addr)).unwrap().tls_config(client).unwrap();
    let mut open = WorkspaceServiceClient::new(endpoint.connect().await.unwrap());
    let request = proto::WatchWorkspaceRequest { workspace_id: "harbor".into(), ..Default::default() };
    let mut watch = open.watch_workspace(request).await.unwrap().into_inner();
    watch.message().await.unwrap().unwrap();

    // With the same authority, connections stay.
    tls.replace(pem(&authority.leaf(), Some(&old))).unwrap();
    open.list_workspaces(proto::ListWorkspacesRequest::default()).await.unwrap();
    tls.replace(pem(&authority.leaf(), Some(&new))).unwrap();
    let ended = tokio::time::timeout(PATIENCE, watch.message()).await.expect("the connection ends");
    assert!(ended.is_err());
    assert!(open.list_workspaces(proto::ListWorkspacesRequest::default()).await.is_err());
}
