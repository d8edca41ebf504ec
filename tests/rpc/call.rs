//! What happens around every call: limits, panics, request ids, unknown methods.

use std::{sync::atomic::Ordering, time::Duration};

use promptd::grpc::{
    Options,
    api::{
        health::{HealthCheckRequest, health_check_response::ServingStatus},
        prompt_service_client::PromptServiceClient,
    },
};
use promptd_contract::{decode, proto};
use tonic::{Code, Request};
use tonic_types::StatusExt as _;

use crate::{
    held::Held,
    rig::{PATIENCE, Rig, Setup, ask, ask_with, refused},
};

async fn with(change: impl FnOnce(&mut Options)) -> Rig {
    let mut setup = Setup::default();
    change(&mut setup.options);
    Rig::start_with(setup).await
}

#[tokio::test]
async fn a_message_over_the_limit_reports_the_limit() {
    let rig = with(|options| options.max_message_bytes = 10_000).await;
    let turn = proto::Turn { persona: Some("p".repeat(10_001)), ..Default::default() };
    let result = rig.prompts().await.assemble_prompt(ask_with(turn)).await;
    let status = refused(result, Code::ResourceExhausted, "MESSAGE_TOO_LARGE");
    assert!(status.message().contains("10000 bytes"), "{status:?}");
}

#[tokio::test]
async fn lists_over_their_bounds_name_the_field() {
    let rig = with(|options| options.request = decode::Limits { max_knowledge: 2, ..Default::default() }).await;
    let turn = proto::Turn { knowledge: vec![proto::KnowledgeSnippet::default(); 3], ..Default::default() };
    let status =
        refused(rig.prompts().await.assemble_prompt(ask_with(turn)).await, Code::InvalidArgument, "INVALID_REQUEST");
    assert_eq!(status.get_details_bad_request().unwrap().field_violations[0].field, "turn.knowledge");
}

#[tokio::test]
async fn calls_over_the_limit_are_asked_to_retry() {
    let rig = with(|options| options.max_in_flight = 1).await;
    let held = Held::begin(rig.channel().await);
    rig.seen.has_begun(1).await;
    let mut client = rig.prompts().await;
    let status = refused(client.assemble_prompt(ask()).await, Code::Unavailable, "OVERLOADED");
    assert_eq!(status.get_details_retry_info().unwrap().retry_delay, Some(Duration::from_secs(1)));
    held.go_on(ask()).await.unwrap();
    client.assemble_prompt(ask()).await.unwrap();
}

#[tokio::test]
async fn a_cancelled_call_gives_its_permit_back() {
    let rig = with(|options| options.max_in_flight = 1).await;
    let held = Held::begin(rig.channel().await);
    rig.seen.has_begun(1).await;
    held.answer.abort();
    assert_eq!(rig.seen.has_ended("AssemblePrompt").await, "CANCELLED");
    rig.prompts().await.assemble_prompt(ask()).await.unwrap();
}

#[tokio::test]
async fn health_answers_while_every_permit_is_held() {
    let rig = with(|options| options.max_in_flight = 1).await;
    let _held = Held::begin(rig.channel().await);
    rig.seen.has_begun(1).await;
    refused(rig.prompts().await.assemble_prompt(ask()).await, Code::Unavailable, "OVERLOADED");
    let told = rig.health().await.check(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(told.status(), ServingStatus::Serving);
}

#[tokio::test]
async fn blocking_work_keeps_its_permit_after_its_caller_has_left() {
    let rig = with(|options| options.max_in_flight = 1).await;
    let read = || proto::ReadSkillRequest { workspace_id: "harbor".into(), name: "git".into(), ..Default::default() };
    let mut client = rig.workspaces().await;
    let disk = rig.disk.slow.lock().await;
    let mut leaving = client.clone();
    let left = tokio::spawn(async move { leaving.read_skill(read()).await.map(drop) });
    let mut reads = rig.disk.reads.subscribe();
    tokio::time::timeout(PATIENCE, reads.wait_for(|reads| *reads == 1)).await.unwrap().unwrap();
    left.abort();
    assert_eq!(rig.seen.has_ended("ReadSkill").await, "CANCELLED");
    refused(client.read_skill(read()).await, Code::Unavailable, "OVERLOADED");
    rig.prompts().await.assemble_prompt(ask()).await.unwrap();
    drop(disk);
    let done = async { while client.read_skill(read()).await.is_err() {} };
    tokio::time::timeout(PATIENCE, done).await.expect("the permit is given back");
}

#[tokio::test]
async fn a_call_ends_at_the_servers_time_limit() {
    let rig = with(|options| options.max_call_time = Duration::from_millis(50)).await;
    let held = Held::begin(rig.channel().await);
    refused(held.answer.await.unwrap(), Code::DeadlineExceeded, "DEADLINE_EXCEEDED");
}

#[tokio::test]
async fn a_panic_fails_one_call_alone() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    let channel = rig.channel().await;
    let held = Held::begin(channel.clone());
    rig.seen.has_begun(1).await;
    rig.broken_clock.store(true, Ordering::SeqCst);
    let mut same_connection = PromptServiceClient::new(channel);
    for _ in 0..3 {
        let status = refused(same_connection.assemble_prompt(ask()).await, Code::Internal, "INTERNAL");
        assert!(!status.message().contains("clock"), "{status:?}");
    }
    rig.broken_clock.store(false, Ordering::SeqCst);
    assert_eq!(rig.seen.panics(), 3);
    held.go_on(ask()).await.unwrap();
    client.assemble_prompt(ask()).await.unwrap();
}

#[tokio::test]
async fn a_request_id_is_kept_or_made_and_comes_back_with_errors_too() {
    let rig = Rig::start().await;
    let mut client = rig.prompts().await;
    let mut request = Request::new(ask());
    request.metadata_mut().insert("x-request-id", "turn-17".parse().unwrap());
    assert_eq!(client.assemble_prompt(request).await.unwrap().metadata().get("x-request-id").unwrap(), "turn-17");
    let status = client.assemble_prompt(proto::AssemblePromptRequest::default()).await.unwrap_err();
    assert_eq!(status.metadata().get("x-request-id").unwrap().len(), 32);
}

#[tokio::test]
async fn an_unknown_method_is_unimplemented_and_its_name_is_no_label() {
    let rig = Rig::start().await;
    let mut client = tonic::client::Grpc::new(rig.channel().await);
    for path in ["/promptd.v1.PromptService/Guess", "/no.such.Service/Call"] {
        client.ready().await.unwrap();
        let codec: tonic_prost::ProstCodec<proto::Turn, proto::Turn> = tonic_prost::ProstCodec::default();
        let result = client.unary(Request::new(proto::Turn::default()), path.parse().unwrap(), codec).await;
        refused(result, Code::Unimplemented, "UNIMPLEMENTED");
    }
    assert_eq!(rig.seen.calls(), [("other", "UNIMPLEMENTED"); 2]);
}

#[tokio::test]
async fn bytes_that_are_no_message_are_the_callers_fault() {
    let rig = Rig::start().await;
    let mut client = tonic::client::Grpc::new(rig.channel().await);
    client.ready().await.unwrap();
    // A value where the contract has a message whose field 1 is text: no UTF-8, so it cannot be decoded.
    let codec: tonic_prost::ProstCodec<prost_types::Any, proto::Turn> = tonic_prost::ProstCodec::default();
    let message = prost_types::Any { type_url: "harbor".into(), value: vec![0xff; 8] };
    let path = "/promptd.v1.PromptService/AssemblePrompt".parse().unwrap();
    refused(client.unary(Request::new(message), path, codec).await, Code::InvalidArgument, "REQUEST_UNREADABLE");
}

#[tokio::test]
async fn a_server_that_is_starting_asks_to_come_back() {
    let rig = Rig::start_with(Setup { ready: false, ..Setup::default() }).await;
    let mut client = rig.prompts().await;
    let status = refused(client.assemble_prompt(ask()).await, Code::Unavailable, "STARTING");
    assert!(status.get_details_retry_info().is_some());
    rig.lifecycle.ready();
    client.assemble_prompt(ask()).await.unwrap();
}

#[tokio::test]
async fn answers_are_compressed_only_where_configured() {
    for gzip in [false, true] {
        let rig = with(|options| options.gzip = gzip).await;
        let mut client = rig.prompts().await.accept_compressed(tonic::codec::CompressionEncoding::Gzip);
        let answer = client.assemble_prompt(ask()).await.unwrap();
        assert_eq!(answer.metadata().contains_key("grpc-encoding"), gzip);
    }
}

#[tokio::test]
async fn connections_over_the_limit_are_closed() {
    let rig = with(|options| options.max_connections = 1).await;
    let first = rig.channel().await;
    PromptServiceClient::new(first.clone()).assemble_prompt(ask()).await.unwrap();
    let second = rig.endpoint().connect_lazy();
    assert!(PromptServiceClient::new(second).assemble_prompt(ask()).await.is_err());
    PromptServiceClient::new(first).assemble_prompt(ask()).await.unwrap();
}

#[tokio::test]
async fn streams_over_the_limit_are_asked_to_come_back() {
    let rig = with(|options| options.max_streams = 1).await;
    let watch = || proto::WatchWorkspaceRequest { workspace_id: "harbor".into(), ..Default::default() };
    let mut client = rig.workspaces().await;
    let mut open = client.watch_workspace(watch()).await.unwrap().into_inner();
    open.message().await.unwrap().unwrap();
    refused(client.watch_workspace(watch()).await, Code::Unavailable, "OVERLOADED");
    // The one that is open goes on, and streams take no place from calls.
    rig.remove("harbor");
    assert!(open.message().await.unwrap().unwrap().deleted);
}
