//! Health and reflection.

use promptd::grpc::api::health::{HealthCheckRequest, HealthListRequest, health_check_response::ServingStatus};
use tonic::{Code, Request};
use tonic_reflection::pb::{v1, v1alpha};

use crate::rig::{Rig, Setup, refused};

const SERVICES: [&str; 4] =
    ["", "promptd.v1.PromptService", "promptd.v1.WorkspaceService", "promptd.v1.ProfileService"];

fn of(service: &str) -> HealthCheckRequest {
    HealthCheckRequest { service: service.into() }
}

#[tokio::test]
async fn every_service_and_the_whole_are_known_and_nothing_else() {
    let rig = Rig::start_with(Setup { ready: false, ..Setup::default() }).await;
    let mut health = rig.health().await;
    for expected in [ServingStatus::NotServing, ServingStatus::Serving] {
        for service in SERVICES {
            assert_eq!(health.check(of(service)).await.unwrap().into_inner().status(), expected, "{service}");
        }
        let list = health.list(HealthListRequest {}).await.unwrap().into_inner().statuses;
        assert_eq!(list.len(), SERVICES.len());
        assert!(SERVICES.iter().all(|service| list[*service].status() == expected));
        rig.lifecycle.ready();
    }
    refused(health.check(of("promptd.v1.Nothing")).await, Code::NotFound, "SERVICE_NOT_FOUND");
}

#[tokio::test]
async fn the_watch_of_an_unknown_service_stays_open() {
    let rig = Rig::start().await;
    let mut health = rig.health().await;
    let mut stream = health.watch(of("no.such")).await.unwrap().into_inner();
    assert_eq!(stream.message().await.unwrap().unwrap().status(), ServingStatus::ServiceUnknown);
    // It ends only with the server.
    rig.lifecycle.drain();
    refused(stream.message().await, Code::Unavailable, "DRAINING");
}

#[tokio::test]
async fn both_reflections_list_every_service_and_know_the_error_details() {
    let rig = Rig::start().await;
    let channel = rig.channel().await;
    macro_rules! ask {
        ($version:ident) => {{
            use $version::{
                ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
                server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
            };
            let mut client = ServerReflectionClient::new(channel.clone());
            let request = |message| ServerReflectionRequest { host: String::new(), message_request: Some(message) };
            let requests = [
                request(MessageRequest::ListServices(String::new())),
                request(MessageRequest::FileContainingSymbol("google.rpc.BadRequest".into())),
                request(MessageRequest::FileContainingSymbol("promptd.v1.PromptService".into())),
            ];
            let stream = tokio_stream::iter(requests);
            let mut answers = client.server_reflection_info(Request::new(stream)).await.unwrap().into_inner();
            let mut services = Vec::new();
            let mut files = 0;
            while let Some(answer) = answers.message().await.unwrap() {
                match answer.message_response.unwrap() {
                    MessageResponse::ListServicesResponse(list) => {
                        services = list.service.into_iter().map(|service| service.name).collect();
                    }
                    MessageResponse::FileDescriptorResponse(file) => files += file.file_descriptor_proto.len(),
                    other => panic!("{other:?}"),
                }
            }
            for service in SERVICES[1..].iter().chain(&["grpc.health.v1.Health"]) {
                assert!(services.iter().any(|name| name == service), "{service} is not in {services:?}");
            }
            assert_eq!(files, 2);
        }};
    }
    ask!(v1);
    ask!(v1alpha);
}

#[tokio::test]
async fn a_symbol_that_is_not_there_is_not_found_with_details() {
    use v1::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
        server_reflection_request::MessageRequest,
    };
    let rig = Rig::start().await;
    let message_request = Some(MessageRequest::FileContainingSymbol("no.such.Thing".into()));
    let request = ServerReflectionRequest { host: String::new(), message_request };
    let mut client = ServerReflectionClient::new(rig.channel().await);
    let stream = tokio_stream::iter([request]);
    let mut answers = client.server_reflection_info(Request::new(stream)).await.unwrap().into_inner();
    refused(answers.message().await, Code::NotFound, "NOT_FOUND");
}
