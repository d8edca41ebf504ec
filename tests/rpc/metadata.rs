//! Requests with too many headers, or too large ones: the call is refused, and its connection goes on.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tonic::{Code, codegen::http::StatusCode};

use crate::{
    http::{Caller, detail},
    peers::PREFACE,
    raw::{Raw, frame},
    rig::{PATIENCE, Rig, ask, refused},
};

const ASSEMBLE: &str = "promptd.v1.PromptService/AssemblePrompt";
const HEALTH: &str = "grpc.health.v1.Health/Check";

#[tokio::test]
async fn a_call_with_too_much_metadata_is_refused_alone() {
    let rig = Rig::start().await;
    let client = Raw::connect(&rig, 1 << 20).await;
    let mut other = client.start(ASSEMBLE, &[]).await;
    for bytes in [17_000, 70_000] {
        let long = "v".repeat(bytes);
        let headers: Vec<_> = std::iter::repeat_n(("x", ""), bytes / 30).collect();
        for method in [ASSEMBLE, HEALTH, "no.such.Service/Call"] {
            for headers in [&[("x-long", long.as_str())][..], &headers] {
                let answer = client.start(method, headers).await.status().await;
                let status = refused::<()>(Err(answer), Code::ResourceExhausted, "METADATA_TOO_LARGE");
                assert!(status.message().contains("16384 bytes"), "{status:?}");
            }
        }
    }
    // HTTP/2 itself refuses this one, and still not the connection.
    let long = "v".repeat(110_000);
    assert_eq!(
        client.start(ASSEMBLE, &[("x-long", &long)]).await.http_status().await,
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
    );
    drop(client.call(ASSEMBLE, &ask()).await.begun().await);
    other.send(frame(&ask()), true);
    let mut answer = other.begun().await;
    assert!(answer.data().await.unwrap().unwrap().len() > 100, "the other call is answered");
}

#[tokio::test]
async fn metadata_beyond_all_bounds_closes_its_connection_and_no_other() {
    let rig = Rig::start().await;
    let mut other = rig.prompts().await;
    let client = Raw::connect(&rig, 1 << 20).await;
    let long = "v".repeat(300_000);
    assert!(client.start(ASSEMBLE, &[("x-long", &long)]).await.fails().await);
    other.assemble_prompt(ask()).await.unwrap();
}

#[tokio::test]
async fn headers_that_never_end_close_their_connection() {
    let rig = Rig::start().await;
    let mut flood = TcpStream::connect(rig.addr).await.unwrap();
    // HEADERS of stream 1 without END_HEADERS, with `:method: POST`; then empty CONTINUATION frames.
    flood.write_all(PREFACE).await.unwrap();
    flood.write_all(b"\0\0\x01\x01\0\0\0\0\x01\x83").await.unwrap();
    let sent = flood.write_all(&b"\0\0\0\x09\0\0\0\0\x01".repeat(50)).await;
    let mut received = Vec::new();
    let closed = tokio::time::timeout(PATIENCE, flood.read_to_end(&mut received)).await;
    assert!(sent.is_err() || closed.is_ok(), "the server must close it");
    // GOAWAY, with ENHANCE_YOUR_CALM.
    let away = received.windows(17).find(|frame| frame[3] == 7 && frame[4] == 0);
    assert_eq!(away.map(|frame| frame[16]), Some(11), "{received:?}");
    rig.prompts().await.assemble_prompt(ask()).await.unwrap();
}

#[tokio::test]
async fn connect_calls_are_refused_in_their_own_form() {
    let rig = Rig::start().await;
    let long = format!("x-long: {}", "v".repeat(17_000));
    for caller in Caller::both(rig.addr) {
        let headers = ["content-type: application/json", &long];
        let answer = caller.send("POST", &format!("/{ASSEMBLE}"), &headers, r#"{"workspaceId": "harbor"}"#).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["code"]), (429, &"resource_exhausted".into()));
        assert_eq!(detail(&answer.json(), "ErrorInfo")["reason"], "METADATA_TOO_LARGE");
        let address = format!("/promptd.v1.WorkspaceService/ListSkills?message={}", "%20".repeat(6_000));
        let answer = caller.send("GET", &address, &[], "").await;
        assert_eq!((answer.status.as_u16(), &answer.json()["code"]), (429, &"resource_exhausted".into()));
        assert_eq!(caller.json(&format!("/{ASSEMBLE}"), r#"{"workspaceId": "harbor"}"#).await.status, 200);
    }
}
