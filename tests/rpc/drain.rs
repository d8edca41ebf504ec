//! Stopping: no peer can keep the server from stopping.

use std::time::Duration;

use promptd::grpc::{Ended, api::health::HealthCheckRequest, api::health::health_check_response::ServingStatus};
use promptd_contract::proto;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tonic::Code;

use crate::{
    held::Held,
    peers::PREFACE,
    rig::{PATIENCE, Rig, Setup, ask, refused},
};

async fn with_limit(limit: Duration, delay: Duration) -> Rig {
    let mut setup = Setup::default();
    setup.options.drain_limit = limit;
    setup.options.drain_delay = delay;
    Rig::start_with(setup).await
}

#[tokio::test]
async fn an_idle_server_stops_at_once() {
    let rig = with_limit(PATIENCE, Duration::ZERO).await;
    let mut client = rig.prompts().await;
    client.assemble_prompt(ask()).await.unwrap();
    rig.lifecycle.drain();
    assert_eq!(rig.ended().await, Ended::Drained);
    assert!(client.assemble_prompt(ask()).await.is_err());
}

#[tokio::test]
async fn silent_peers_are_dropped_at_the_limit() {
    let rig = with_limit(Duration::from_millis(200), Duration::ZERO).await;
    let silent = TcpStream::connect(rig.addr).await.unwrap();
    // This one speaks HTTP/2 and then never answers: once it has the server's settings it has been accepted.
    let mut deaf = TcpStream::connect(rig.addr).await.unwrap();
    deaf.write_all(PREFACE).await.unwrap();
    deaf.read_exact(&mut [0; 9]).await.unwrap();
    rig.lifecycle.drain();
    assert_eq!(rig.ended().await, Ended::Forced);
    drop((silent, deaf));
}

#[tokio::test]
async fn a_call_in_flight_finishes_and_no_new_one_starts() {
    let rig = with_limit(PATIENCE, Duration::ZERO).await;
    let held = Held::begin(rig.channel().await);
    rig.seen.has_begun(1).await;
    let mut health = rig.health().await;
    let mut watch = health.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    rig.lifecycle.drain();
    while let Ok(Some(_)) = watch.message().await {}
    // The port is closed, or closes now: whichever, nobody new is served.
    assert!(rig.endpoint().connect().await.is_err() || rig.prompts().await.assemble_prompt(ask()).await.is_err());
    held.go_on(ask()).await.unwrap();
    assert_eq!(rig.ended().await, Ended::Drained);
}

#[tokio::test]
async fn open_streams_end_with_unavailable() {
    let rig = with_limit(PATIENCE, Duration::ZERO).await;
    let request = proto::WatchWorkspaceRequest { workspace_id: "harbor".into(), ..Default::default() };
    let mut stream = rig.workspaces().await.watch_workspace(request).await.unwrap().into_inner();
    stream.message().await.unwrap().unwrap();
    rig.lifecycle.drain();
    refused(stream.message().await, Code::Unavailable, "DRAINING");
    assert_eq!(rig.seen.has_ended("WatchWorkspace").await, "UNAVAILABLE");
    assert_eq!(rig.ended().await, Ended::Drained);
}

#[tokio::test]
async fn during_the_drain_delay_health_is_not_serving_but_calls_are_served() {
    let rig = with_limit(PATIENCE, Duration::from_secs(3_600)).await;
    let mut health = rig.health().await;
    let mut watch = health.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    let status = |response: Option<promptd::grpc::api::health::HealthCheckResponse>| response.unwrap().status();
    assert_eq!(status(watch.message().await.unwrap()), ServingStatus::Serving);
    rig.lifecycle.drain();
    assert_eq!(status(watch.message().await.unwrap()), ServingStatus::NotServing);
    rig.prompts().await.assemble_prompt(ask()).await.unwrap();
}
