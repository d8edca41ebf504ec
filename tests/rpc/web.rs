//! gRPC-Web: what a browser sends, byte for byte.

use promptd::grpc::{Origin, Origins};
use promptd_contract::proto;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    raw::frame,
    rig::{Rig, Setup, ask},
};

async fn start(origins: Option<&[&str]>) -> Rig {
    let mut setup = Setup::default();
    setup.options.web =
        origins.map(|list| Origins::Listed(list.iter().map(|origin| Origin::parse(origin).unwrap()).collect()));
    Rig::start_with(setup).await
}

/// Sends an HTTP/1.1 request and reads the answer to its end.
async fn send(rig: &Rig, head: &str, body: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(rig.addr).await.unwrap();
    let head = format!("{head}host: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body].concat()).await.unwrap();
    let mut answer = Vec::new();
    // A server that does not speak HTTP/1.1 may reset the connection.
    let _ = stream.read_to_end(&mut answer).await;
    answer
}

const CALL: &str = "POST /promptd.v1.PromptService/AssemblePrompt HTTP/1.1\r\n\
                    content-type: application/grpc-web+proto\r\nx-grpc-web: 1\r\norigin: https://app.example\r\n";

#[tokio::test]
async fn a_browser_of_a_listed_origin_can_call() {
    let rig = start(Some(&["https://app.example"])).await;
    let preflight = "OPTIONS /promptd.v1.PromptService/AssemblePrompt HTTP/1.1\r\norigin: https://app.example\r\n\
                     access-control-request-method: POST\r\naccess-control-request-headers: content-type,x-grpc-web\r\n";
    let answer = send(&rig, preflight, b"").await;
    let answer = String::from_utf8_lossy(&answer).to_lowercase();
    assert!(answer.starts_with("http/1.1 200") && answer.contains("access-control-allow-origin: https://app.example"));

    let answer = send(&rig, CALL, &frame(&ask())).await;
    let text = String::from_utf8_lossy(&answer);
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("access-control-allow-origin: https://app.example"));
    assert!(text.contains("runtime_facts") && text.contains("grpc-status:0"), "{text}");
}

#[tokio::test]
async fn other_origins_get_no_cors_headers_and_errors_keep_their_details() {
    let rig = start(Some(&["https://app.example"])).await;
    let stranger = CALL.replace("app.example", "evil.example");
    let answer = send(&rig, &stranger, &frame(&ask())).await;
    let text = String::from_utf8_lossy(&answer);
    assert!(text.starts_with("HTTP/1.1 403") && !text.contains("access-control-allow-origin"), "{text}");

    let answer = send(&rig, CALL, &frame(&proto::AssemblePromptRequest::default())).await;
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("grpc-status: 3") || text.contains("grpc-status:3"), "{text}");
    assert!(text.contains("grpc-status-details-bin"), "{text}");
}

#[tokio::test]
async fn where_it_is_off_the_answer_names_the_setting() {
    let rig = start(None).await;
    let answer = send(&rig, &CALL.replace("origin: https://app.example\r\n", ""), &frame(&ask())).await;
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("content-type: application/grpc-web+proto") && text.contains("grpc-status: 12"), "{text}");
    assert!(text.contains("grpc.web_origins") && text.contains("grpc-status-details-bin"), "{text}");
    assert!(rig.seen.calls().is_empty());
    rig.prompts().await.assemble_prompt(ask()).await.unwrap();
}
