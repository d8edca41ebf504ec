//! `AdminService` as far as it needs no etcd: who may publish, and that an etcd which is away is not a fault of a caller's.

use std::sync::Arc;

use promptd::grpc::{Access, Publisher, Tokens, api::admin_service_client::AdminServiceClient};
use promptd_contract::proto;
use promptd_etcd::{Credentials, Options, layout::Prefix};
use tonic::{Code, Request, codegen::http::Version, transport::Channel};

use crate::{
    auth::by,
    http::Caller,
    rig::{Rig, Setup, refused},
};

const DANA: &str = "dana-dana-dana-dana";
const READER: &str = "reader-reader-reader";
const FILE: &str = "tokens:
  - {name: dana, token: dana-dana-dana-dana, workspaces: [harbor, yard], publish: [harbor, secret]}
  - {name: reader, token: reader-reader-reader}
";

/// A publisher whose etcd nobody runs.
pub(crate) fn without_etcd() -> Publisher {
    let options = Options {
        endpoints: vec!["127.0.0.1:1".to_owned()],
        prefix: Prefix::parse("/promptd").unwrap(),
        cache: None,
        max_age: std::time::Duration::ZERO,
    };
    Publisher::new(options, Arc::new(|| Ok(Credentials::default())), Arc::new(|_| Ok(())), 0)
}

async fn start(access: Access) -> (Rig, AdminServiceClient<Channel>) {
    let rig = Rig::start_with(Setup { access, publisher: Some(without_etcd()), ..Setup::default() }).await;
    let admin = AdminServiceClient::new(rig.channel().await);
    (rig, admin)
}

fn list(id: &str) -> proto::ListPublishedRequest {
    proto::ListPublishedRequest { workspace_id: id.into(), limit: 0 }
}

fn publish(ids: &[&str]) -> proto::PublishRequest {
    let file = proto::PublishedFile { path: "AGENTS.md".into(), sha256: "0".repeat(64), bytes: 1 };
    let one = |id: &&str| proto::WorkspaceToPublish {
        workspace_id: (*id).into(),
        files: vec![file.clone()],
        base_revision: String::new(),
    };
    proto::PublishRequest { workspaces: ids.iter().map(one).collect(), message: "Why.".into(), canary: None }
}

#[tokio::test]
async fn a_token_publishes_what_it_sees_and_lists() {
    let (_rig, mut admin) = start(Access::with(Tokens::parse(FILE, "tokens.yaml").unwrap())).await;
    for (token, id, code, reason) in [
        (DANA, "harbor", Code::Unavailable, "ETCD_UNAVAILABLE"),
        (DANA, "yard", Code::PermissionDenied, "PUBLISH_FORBIDDEN"),
        (DANA, "secret", Code::PermissionDenied, "WORKSPACE_FORBIDDEN"),
        (READER, "harbor", Code::PermissionDenied, "PUBLISH_FORBIDDEN"),
    ] {
        refused(admin.list_published(by(token, list(id))).await, code, reason);
        refused(admin.publish(by(token, publish(&[id]))).await, code, reason);
        let promote = proto::PromoteCanaryRequest { workspace_id: id.into(), message: String::new() };
        refused(admin.promote_canary(by(token, promote)).await, code, reason);
        let abort = proto::AbortCanaryRequest { workspace_id: id.into(), message: String::new() };
        refused(admin.abort_canary(by(token, abort)).await, code, reason);
        let proposals = proto::ListProposalsRequest { workspace_id: id.into() };
        refused(admin.list_proposals(by(token, proposals)).await, code, reason);
        let (workspace_id, proposal_id) = (id.to_owned(), "12345678".to_owned());
        let approve =
            proto::ApproveProposalRequest { workspace_id: workspace_id.clone(), proposal_id: proposal_id.clone() };
        refused(admin.approve_proposal(by(token, approve)).await, code, reason);
        let reject = proto::RejectProposalRequest { workspace_id, proposal_id, message: String::new() };
        refused(admin.reject_proposal(by(token, reject)).await, code, reason);
    }
    // One of several is enough.
    let both = admin.publish(by(DANA, publish(&["harbor", "yard"]))).await;
    refused(both, Code::PermissionDenied, "PUBLISH_FORBIDDEN");
    // Rights come before everything else that is wrong.
    let broken = proto::PublishRequest { message: String::new(), ..publish(&["", "secret"]) };
    refused(admin.publish(by(DANA, broken)).await, Code::PermissionDenied, "WORKSPACE_FORBIDDEN");
}

#[tokio::test]
async fn without_tokens_a_program_on_this_machine_publishes_and_a_page_does_not() {
    let (rig, mut admin) = start(Access::open()).await;
    let away = refused(admin.list_published(list("harbor")).await, Code::Unavailable, "ETCD_UNAVAILABLE");
    assert!(!away.message().contains("127.0.0.1"), "{away:?}");
    let mut by_page = Request::new(list("harbor"));
    by_page.metadata_mut().insert("origin", "http://localhost".parse().unwrap());
    refused(admin.list_published(by_page).await, Code::PermissionDenied, "PUBLISH_FORBIDDEN");
    let caller = Caller::new(rig.addr, Version::HTTP_11);
    let answer = caller.json("/promptd.v1.AdminService/ListPublished", r#"{"workspaceId": "harbor"}"#).await;
    answer.refused(503, "unavailable", "ETCD_UNAVAILABLE");
}

#[tokio::test]
async fn a_server_without_etcd_publishes_nothing() {
    let rig = Rig::start().await;
    let mut admin = AdminServiceClient::new(rig.channel().await);
    let refusal = refused(admin.list_published(list("harbor")).await, Code::Unimplemented, "UNIMPLEMENTED");
    assert!(refusal.message().contains("`workspaces.etcd`"), "{refusal:?}");
}
