//! Pages of anywhere: they cannot call where no token is needed, neither by the server's address nor by a name that leads to it.

use promptd::grpc::{Access, Host, Options, Origin, Origins, Tokens};
use promptd_contract::proto;
use prost::Message as _;
use tonic::codegen::http::Version;

use crate::{
    http::Caller,
    rig::{Rig, Setup, ask},
};

const ASSEMBLE: &str = "/promptd.v1.PromptService/AssemblePrompt";
const TOKEN: &str = "0123456789abcdef0123456789abcdef";

async fn with(change: impl FnOnce(&mut Setup)) -> Rig {
    let mut setup = Setup::default();
    change(&mut setup);
    Rig::start_with(setup).await
}

fn listed(options: &mut Options) {
    options.web = Some(Origins::Listed(vec![Origin::parse("https://app.example").unwrap()]));
    options.hosts = vec![Host::parse("promptd.internal").unwrap()];
}

/// The same call by each protocol that a browser can speak.
fn calls() -> [(&'static str, Vec<u8>); 3] {
    let message = proto::AssemblePromptRequest::encode_to_vec(&ask());
    let frame = [&[0][..], &u32::try_from(message.len()).unwrap().to_be_bytes(), &message].concat();
    [
        ("application/json", br#"{"workspaceId": "harbor"}"#.to_vec()),
        ("application/proto", message),
        ("application/grpc-web+proto", frame),
    ]
}

#[tokio::test]
async fn hosts_and_origins_that_are_not_listed_are_refused_before_any_work() {
    let rig = with(|setup| listed(&mut setup.options)).await;
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let mut caller = Caller::new(rig.addr, version);
        let port = rig.addr.port();
        for (host, origin, reason) in [
            ("evil.example", "", "HOST_NOT_ALLOWED"),
            ("evil.example", "http://evil.example", "HOST_NOT_ALLOWED"),
            ("localhost.evil.example", "", "HOST_NOT_ALLOWED"),
            ("10.0.0.6", "", "HOST_NOT_ALLOWED"),
            ("localhost", "http://evil.example", "ORIGIN_NOT_ALLOWED"),
            ("localhost", "https://app.example:8443", "ORIGIN_NOT_ALLOWED"),
            ("localhost", "http://app.example", "ORIGIN_NOT_ALLOWED"),
            ("127.0.0.1", "null", "ORIGIN_NOT_ALLOWED"),
            ("127.0.0.1", "http://127.0.0.1", "ORIGIN_NOT_ALLOWED"),
            ("127.0.0.1", "http://localhost:PORT", "ORIGIN_NOT_ALLOWED"),
            ("127.0.0.1", "http://127.0.0.1:PORT", ""),
            ("localhost", "http://localhost:PORT", ""),
            ("localhost", "", ""),
            ("127.0.0.1", "https://app.example", ""),
            ("[::1]", "", ""),
            ("Promptd.internal", "https://app.example", ""),
        ] {
            caller.host = format!("{host}:{port}");
            for (content_type, body) in calls() {
                let mut headers = vec![format!("content-type: {content_type}")];
                let origin = origin.replace("PORT", &port.to_string());
                headers.extend((!origin.is_empty()).then(|| format!("origin: {origin}")));
                let headers: Vec<_> = headers.iter().map(String::as_str).collect();
                let before = rig.seen.calls().len();
                let answer = caller.send("POST", ASSEMBLE, &headers, body).await;
                if reason.is_empty() {
                    assert_eq!(answer.status, 200, "{host} {origin} {content_type}");
                } else {
                    answer.refused(403, "permission_denied", reason);
                    assert_eq!(rig.seen.calls().len(), before, "{host} {origin} {content_type}");
                }
            }
            let other = caller.send("GET", "/", &[], "").await;
            assert_eq!(other.status == 200, reason != "HOST_NOT_ALLOWED", "{host}");
        }
    }
}

#[tokio::test]
async fn the_refusal_names_the_setting() {
    let rig = Rig::start().await;
    let mut caller = Caller::new(rig.addr, Version::HTTP_11);
    let preflight = ["origin: https://app.example", "access-control-request-method: POST"];
    let origin = caller.send("OPTIONS", ASSEMBLE, &preflight, "").await;
    let error = origin.refused(403, "permission_denied", "ORIGIN_NOT_ALLOWED");
    assert!(error["message"].as_str().unwrap().contains("`grpc.web_origins`"), "{error}");
    caller.host = "promptd.internal".into();
    let error = caller.json(ASSEMBLE, "{}").await.refused(403, "permission_denied", "HOST_NOT_ALLOWED");
    assert!(error["message"].as_str().unwrap().contains("`grpc.hosts`"), "{error}");
}

#[tokio::test]
async fn any_origin_may_be_allowed_and_a_token_is_enough() {
    let rig = with(|setup| setup.options.web = Some(Origins::Any)).await;
    let headers = ["content-type: application/json", "origin: null"];
    let body = r#"{"workspaceId": "harbor"}"#;
    assert_eq!(Caller::new(rig.addr, Version::HTTP_11).send("POST", ASSEMBLE, &headers, body).await.status, 200);

    let file = format!("tokens: [{{name: desk, token: {TOKEN}}}]");
    let rig = with(|setup| setup.access = Access::with(Tokens::parse(&file, "tokens.yaml").unwrap())).await;
    let mut caller = Caller::new(rig.addr, Version::HTTP_11);
    caller.host = "anywhere.example".into();
    let bearer = format!("authorization: Bearer {TOKEN}");
    let headers = [headers[0], "origin: https://anywhere.example", &bearer];
    assert_eq!(caller.send("POST", ASSEMBLE, &headers, body).await.status, 200);
    caller.send("POST", ASSEMBLE, &headers[..2], body).await.refused(401, "unauthenticated", "TOKEN_MISSING");
}
