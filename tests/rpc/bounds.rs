//! What callers can make the server hold, and for how long.

use std::time::Duration;

use bytes::Bytes;
use promptd::grpc::{Access, Options, Tokens, api::health::HealthCheckRequest};
use promptd_contract::{decode, proto};
use tokio::{io::AsyncReadExt as _, net::TcpStream, sync::mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Status, codegen::http::uri::PathAndQuery};
use tonic_prost::ProstCodec;
use tonic_types::StatusExt as _;

use crate::{
    auth,
    raw::{Raw, prefix},
    rig::{PATIENCE, Rig, Setup, ask, ask_with, harbor, refused},
};

const ASSEMBLE: &str = "promptd.v1.PromptService/AssemblePrompt";
const READ_SKILL: &str = "promptd.v1.WorkspaceService/ReadSkill";
const HEALTH: &str = "grpc.health.v1.Health/Check";

async fn with(change: impl FnOnce(&mut Options)) -> Rig {
    let mut setup = Setup::default();
    change(&mut setup.options);
    Rig::start_with(setup).await
}

fn reason(status: &Status) -> (Code, String) {
    (status.code(), status.get_details_error_info().unwrap().reason)
}

fn connection_full() -> (Code, String) {
    (Code::ResourceExhausted, "CONNECTION_FULL".into())
}

/// Serves a file of so many bytes, and gives the request to read it.
fn publish_file(rig: &Rig, bytes: usize) -> proto::ReadSkillRequest {
    rig.publish("harbor", harbor().file("skills/git/large.md", "x".repeat(bytes)));
    proto::ReadSkillRequest {
        workspace_id: "harbor".into(),
        name: "git".into(),
        file: "large.md".into(),
        ..Default::default()
    }
}

#[tokio::test]
async fn answers_that_a_client_does_not_take_are_counted_until_it_leaves() {
    let rig = with(|options| options.max_unsent_bytes = 8 << 20).await;
    let file = publish_file(&rig, 400 << 10);
    let deaf = Raw::connect(&rig, 0).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        held.push(deaf.call(READ_SKILL, &file).await.begun().await);
    }
    // A third answer does not fit into an eighth of 8 MiB; small ones still do.
    assert_eq!(reason(&deaf.call(READ_SKILL, &file).await.status().await), connection_full());
    held.push(deaf.call(ASSEMBLE, &ask()).await.begun().await);
    let mut other = rig.workspaces().await;
    other.read_skill(file.clone()).await.unwrap();
    drop((deaf, held));
    other.read_skill(file).await.unwrap();
}

#[tokio::test]
async fn a_connection_with_its_share_of_unsent_answers_is_refused_before_any_work() {
    let rig = with(|options| options.max_unsent_bytes = 800 << 10).await;
    let file = publish_file(&rig, 97 << 10);
    let deaf = Raw::connect(&rig, 0).await;
    let _held = deaf.call(READ_SKILL, &file).await.begun().await;
    let reads = *rig.disk.reads.borrow();
    let _prompt = deaf.call(ASSEMBLE, &ask()).await;
    let mut refusals = 0;
    while refusals == 0 {
        refusals += usize::from(reason(&deaf.call(READ_SKILL, &file).await.status().await) == connection_full());
    }
    assert!(*rig.disk.reads.borrow() <= reads + 1, "what is refused reads nothing");
}

#[tokio::test]
async fn all_connections_together_have_a_bound() {
    let rig = with(|options| options.max_unsent_bytes = 8 << 20).await;
    let file = publish_file(&rig, 1_000 << 10);
    let (mut clients, mut held) = (Vec::new(), Vec::new());
    for _ in 0..8 {
        let client = Raw::connect(&rig, 0).await;
        held.push(client.call(READ_SKILL, &file).await.begun().await);
        clients.push(client);
    }
    let ninth = Raw::connect(&rig, 0).await;
    let status = ninth.call(READ_SKILL, &file).await.status().await;
    assert_eq!(reason(&status), (Code::Unavailable, "OVERLOADED".into()));
    assert!(status.get_details_retry_info().is_some());
    rig.health().await.check(HealthCheckRequest::default()).await.unwrap();
    drop((clients, held));
    let taken = async { while rig.workspaces().await.read_skill(file.clone()).await.is_err() {} };
    tokio::time::timeout(PATIENCE, taken).await.expect("what was held is given back");
}

#[tokio::test]
async fn a_connection_that_takes_no_answer_is_closed_and_a_slow_watch_is_not() {
    let rig = with(|options| {
        options.keepalive_interval = Duration::from_secs(1);
        options.keepalive_timeout = Duration::from_secs(1);
    })
    .await;
    let request = proto::WatchWorkspaceRequest { workspace_id: "harbor".into(), ..Default::default() };
    let slow = Raw::connect(&rig, 0).await;
    let watch = "promptd.v1.WorkspaceService/WatchWorkspace";
    let watched = slow.call(watch, &request).await.begun().await;
    let deaf = Raw::connect(&rig, 0).await;
    let mut answer = deaf.call(ASSEMBLE, &ask()).await.begun().await;
    // Pings are answered all the while.
    let closed = tokio::time::timeout(PATIENCE, answer.data()).await.expect("the connection is closed");
    assert!(closed.is_none_or(|data| data.is_err()));
    drop(slow.call(HEALTH, &HealthCheckRequest::default()).await.begun().await);
    drop(watched);
}

#[tokio::test]
async fn unfinished_requests_are_counted() {
    let rig = with(|options| options.max_unread_bytes = 8 << 20).await;
    let client = Raw::connect(&rig, 1 << 20).await;
    let part = |bytes: usize| -> Bytes { [&prefix(4 << 20)[..], &vec![0; bytes]].concat().into() };
    let mut first = client.start(ASSEMBLE, &[]).await;
    first.send(part(700 << 10), false);
    let mut second = client.start(ASSEMBLE, &[]).await;
    second.send(part(700 << 10), false);
    let refused = tokio::select! {
        status = first.status() => status,
        status = second.status() => status,
    };
    assert_eq!(reason(&refused), connection_full());
    rig.prompts().await.assemble_prompt(ask()).await.unwrap();
}

#[tokio::test]
async fn a_health_check_is_small_and_few_may_be_unfinished() {
    let rig = Rig::start().await;
    let client = Raw::connect(&rig, 1 << 20).await;
    let long = HealthCheckRequest { service: "s".repeat(2_000) };
    let status = client.call(HEALTH, &long).await.status().await;
    assert_eq!(reason(&status), (Code::ResourceExhausted, "MESSAGE_TOO_LARGE".into()));
    let mut unfinished = Vec::new();
    for _ in 0..4 {
        unfinished.push(client.start(HEALTH, &[]).await);
    }
    assert_eq!(reason(&client.start(HEALTH, &[]).await.status().await), connection_full());
    rig.health().await.check(HealthCheckRequest::default()).await.unwrap();
}

#[tokio::test]
async fn the_values_of_a_request_are_bounded_before_they_are_built() {
    let rig = with(|options| options.request = decode::Limits { max_values: 1_000, ..Default::default() }).await;
    let empty = prost_types::Value { kind: Some(prost_types::value::Kind::StructValue(<_>::default())) };
    let list = |items| prost_types::ListValue { values: vec![empty.clone(); items] };
    let turn = |items| {
        let value = prost_types::Value { kind: Some(prost_types::value::Kind::ListValue(list(items))) };
        let variables = prost_types::Struct { fields: [("k".to_owned(), value)].into() };
        ask_with(proto::Turn { variables: Some(variables), ..Default::default() })
    };
    let mut client = rig.prompts().await;
    client.assemble_prompt(turn(999)).await.unwrap();
    let status = refused(client.assemble_prompt(turn(1_000)).await, Code::InvalidArgument, "INVALID_REQUEST");
    let violations = status.get_details_bad_request().unwrap().field_violations;
    assert_eq!((violations.len(), violations[0].field.as_str()), (1, "turn.variables"));
}

#[tokio::test]
async fn a_second_message_of_a_unary_call_is_refused() {
    let rig = Rig::start().await;
    let (messages, stream) = mpsc::channel(2);
    messages.send(ask()).await.unwrap();
    messages.send(ask()).await.unwrap();
    drop(messages);
    let mut client = tonic::client::Grpc::new(rig.channel().await);
    client.ready().await.unwrap();
    let codec: ProstCodec<proto::AssemblePromptRequest, proto::AssemblePromptResponse> = ProstCodec::default();
    let path = PathAndQuery::from_static("/promptd.v1.PromptService/AssemblePrompt");
    let answer = client.client_streaming(Request::new(ReceiverStream::new(stream)), path, codec).await;
    refused(answer, Code::InvalidArgument, "INVALID_REQUEST");
}

#[tokio::test]
async fn idle_strangers_make_room_for_callers_and_no_caller_does() {
    let text = "tokens:\n  - {name: operator, token: operator-token-0001}\n";
    let access = Access::with(Tokens::parse(text, "tokens.yaml").unwrap());
    let mut setup = Setup { access, ..Setup::default() };
    setup.options.max_connections = 16;
    let rig = Rig::start_with(setup).await;
    let by = |message| auth::by("operator-token-0001", message);
    let mut caller = rig.prompts().await;
    caller.assemble_prompt(by(ask())).await.unwrap();
    let mut strangers = Vec::new();
    for _ in 0..40 {
        strangers.push(TcpStream::connect(rig.addr).await.unwrap());
    }
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(PATIENCE, strangers[0].read_to_end(&mut rest)).await;
    assert!(closed.is_ok(), "the oldest of them makes room");
    rig.prompts().await.assemble_prompt(by(ask())).await.unwrap();
    rig.health().await.check(HealthCheckRequest::default()).await.unwrap();
    // The first caller's connection is still the same.
    caller.assemble_prompt(by(ask())).await.unwrap();
}
