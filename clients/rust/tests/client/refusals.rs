//! Each way to go wrong says what, where, and what to do.

use std::time::{Duration, Instant};

use promptd_client::{Code, Error, Promptd};
use serde_json::json;
use tokio::net::TcpListener;

use crate::server::{Server, WAIT};

const TOKENS: &str = r#"{"tokens": [{"name": "a", "token": "a-token-of-sixteen", "workspaces": ["example"]}]}"#;

async fn refused(client: &Promptd, workspace: &str) -> Error {
    client.assemble(workspace).send().await.unwrap_err()
}

#[tokio::test]
async fn what_the_server_refuses_has_its_reason_its_fields_and_its_name_in_the_log() {
    let server = Server::start();
    let client = Promptd::connect(&server.address).await.unwrap();
    let error = refused(&client, "exmple").await;
    assert_eq!((error.code, &*error.reason), (Code::NotFound, "WORKSPACE_NOT_FOUND"));
    assert!(error.message.contains("exmple") && error.message.contains("example"), "{error}");
    assert_eq!(error.request_id.len(), 32);
    let error = client.assemble("example").time_zone("Europe/Berln").profile("a b").send().await.unwrap_err();
    assert_eq!((error.code, &*error.reason), (Code::InvalidArgument, "INVALID_REQUEST"));
    let fields: Vec<_> = error.violations.iter().map(|one| &*one.field).collect();
    assert!(fields.contains(&"turn.time_zone") && fields.contains(&"profile"), "{fields:?}");
    let error = client.assemble("example").strict(true).send().await.unwrap_err();
    assert_eq!((error.code, &*error.reason), (Code::FailedPrecondition, "PROMPT_LOSS"));
    assert!(error.violations[0].field.starts_with("workspace_context/"), "{:?}", error.violations);
}

#[tokio::test]
async fn what_cannot_be_right_is_not_sent() {
    let client = Promptd::connect("127.0.0.1:1").await.unwrap();
    let call = client.assemble("example").variables(&json!({"id": u64::MAX})).inputs(&json!("text"));
    let error = call.send().await.unwrap_err();
    assert_eq!((error.code, &*error.reason, &*error.request_id), (Code::InvalidArgument, "INVALID_REQUEST", ""));
    assert_eq!(error.violations.len(), 2);
    assert!(error.message.contains("turn.variables.id") && error.message.contains("turn.inputs"), "{error}");
    assert!("openai".parse::<promptd_client::Format>().unwrap_err().message.contains("openai-chat"));
}

#[tokio::test]
async fn a_token_is_needed_and_must_be_known() {
    let settings = json!({"auth": {"tokens_file": "tokens.yaml"}});
    let server = Server::with(&settings, &[("tokens.yaml", TOKENS)]);
    let with = async |token: &str| Promptd::builder(&server.address).token(token).build().await.unwrap();
    assert_eq!(refused(&with("").await, "example").await.reason, "TOKEN_MISSING");
    assert_eq!(refused(&with("another-token-of-16").await, "example").await.reason, "TOKEN_UNKNOWN");
    let client = with("a-token-of-sixteen").await;
    assert!(client.assemble("example").send().await.is_ok());
    assert_eq!(refused(&client, "other").await.reason, "WORKSPACE_FORBIDDEN");
    let shown = format!("{client:?} {:?}", Promptd::builder("localhost:1").token("a-token-of-sixteen"));
    assert!(!shown.contains("sixteen"), "{shown}");
    let error = Promptd::builder(&server.address).token("line\nbreak").build().await.unwrap_err();
    assert!(error.message.contains("token") && !error.message.contains("break"), "{error}");
}

#[tokio::test]
async fn no_server_is_said_with_how_to_start_one() {
    let client = Promptd::builder("127.0.0.1:1").timeout(Duration::from_secs(2)).build().await.unwrap();
    let error = refused(&client, "example").await;
    assert!(error.is_unreachable() && error.code == Code::Unavailable, "{error:?}");
    assert!(error.message.contains("127.0.0.1:1") && error.message.contains("refused"), "{error}");
    assert!(error.message.contains("promptd serve --listen 127.0.0.1:1"), "{error}");
}

#[tokio::test]
async fn a_deadline_is_kept_where_nobody_answers() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Promptd::connect(silent.local_addr().unwrap().to_string()).await.unwrap();
    let began = Instant::now();
    let error = client.assemble("example").timeout(Duration::from_millis(300)).send().await.unwrap_err();
    assert!(began.elapsed() < WAIT);
    assert_eq!(error.code, Code::DeadlineExceeded);
    assert!(error.is_unreachable() && error.message.contains("300ms"), "{error}");
}

#[tokio::test]
async fn an_answer_over_the_limit_says_what_to_raise() {
    let server = Server::start();
    let client = Promptd::builder(&server.address).max_answer_bytes(1_000).build().await.unwrap();
    let error = refused(&client, "example").await;
    assert_eq!(error.code, Code::ResourceExhausted);
    assert!(error.message.contains("1000") && error.message.contains("max_answer_bytes"), "{error}");
}

#[tokio::test]
async fn an_address_that_fails_is_passed_over() {
    let server = Server::start();
    let dead = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = dead.local_addr().unwrap().to_string();
    let (count, mut tried) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((connection, _)) = dead.accept().await {
            drop(connection);
            count.send(()).unwrap();
        }
    });
    let client = Promptd::builder(address).address(&server.address).build().await.unwrap();
    for _ in 0..20 {
        client.assemble("example").send().await.unwrap();
    }
    let mut times = 0;
    while tried.try_recv().is_ok() {
        times += 1;
    }
    assert!((1..5).contains(&times), "{times}");
}
