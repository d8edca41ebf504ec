//! Tokens: who may call, what they see, and how tokens are revoked.

use promptd::grpc::{
    Access, Tokens,
    api::health::{HealthCheckRequest, health_check_response::ServingStatus},
};
use promptd_contract::{json, proto};
use promptd_core::workspace::MemoryTree;
use prost::Message as _;
use prost_reflect::{DynamicMessage, Value};
use tonic::{Code, Request, codegen::http::Version};
use tonic_types::StatusExt as _;

use crate::{
    http::Caller,
    rig::{PATIENCE, Rig, Setup, ask, ask_with, harbor, refused},
};

pub(crate) const ALL: &str = "operator-token-0001";
pub(crate) const ONE: &str = "harbour-token-00002";

pub(crate) const FILE: &str = "tokens:
  - name: operator
    token: operator-token-0001
  - name: harbour
    token: harbour-token-00002
    workspaces: [harbor]
    skills: [git]
";

fn tokens(text: &str) -> Tokens {
    Tokens::parse(text, "tokens.yaml").unwrap()
}

pub(crate) async fn start() -> Rig {
    let setup = Setup { access: Access::with(tokens(FILE)), ..Setup::default() };
    // Whoever may not call is refused before the store is asked.
    #[cfg(feature = "memory")]
    let memory = promptd::grpc::Memory::new(Err(promptd_memory::StoreError::Unusable("it is not needed".into())));
    #[cfg(feature = "memory")]
    let setup = Setup { memory: Some(memory), ..setup };
    #[cfg(feature = "etcd")]
    let setup = Setup { publisher: Some(crate::admin::without_etcd()), ..setup };
    let rig = Rig::start_with(setup).await;
    rig.publish("secret", MemoryTree::new());
    rig
}

pub(crate) fn by<T>(token: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    request
}

fn of(id: &str) -> proto::AssemblePromptRequest {
    proto::AssemblePromptRequest { workspace_id: id.into(), ..Default::default() }
}

#[tokio::test]
async fn only_health_answers_without_a_token() {
    let rig = start().await;
    let mut prompts = rig.prompts().await;
    for (request, reason) in [
        (Request::new(ask()), "TOKEN_MISSING"),
        (by("", ask()), "TOKEN_MISSING"),
        (by("wrong-token-wrong-token", ask()), "TOKEN_UNKNOWN"),
    ] {
        let status = refused(prompts.assemble_prompt(request).await, Code::Unauthenticated, reason);
        assert_eq!(status.get_error_details_vec().len(), 1, "ErrorInfo alone");
    }
    let mut workspaces = rig.workspaces().await;
    refused(
        workspaces.list_workspaces(proto::ListWorkspacesRequest::default()).await,
        Code::Unauthenticated,
        "TOKEN_MISSING",
    );
    refused(
        workspaces.watch_workspace(proto::WatchWorkspaceRequest::default()).await,
        Code::Unauthenticated,
        "TOKEN_MISSING",
    );
    refused(
        rig.profiles().await.list_profiles(proto::ListProfilesRequest::default()).await,
        Code::Unauthenticated,
        "TOKEN_MISSING",
    );
    rig.health().await.check(HealthCheckRequest::default()).await.unwrap();
    prompts.assemble_prompt(by(ALL, ask())).await.unwrap();
}

/// The status of a call with this message; the header of an answer that has no body.
async fn status_of(caller: &Caller, path: &str, token: Option<&str>, message: &[u8]) -> String {
    let token = token.map(|token| format!("authorization: Bearer {token}"));
    let headers: Vec<_> =
        ["content-type: application/grpc", "te: trailers"].into_iter().chain(token.as_deref()).collect();
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    let answer = caller.send("POST", path, &headers, [&[0], &length[..], message].concat()).await;
    answer.header("grpc-status").to_owned()
}

/// The methods are those of the contract's descriptors, so that none that is added is left out.
#[tokio::test]
async fn every_method_needs_a_token_for_the_workspace_that_it_names() {
    let rig = start().await;
    let caller = Caller::new(rig.addr, Version::HTTP_2);
    let services: Vec<_> =
        json::descriptors().services().filter(|service| service.package_name() == "promptd.v1").collect();
    let mut of_workspaces = 0;
    for method in services.iter().flat_map(prost_reflect::ServiceDescriptor::methods) {
        let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
        let unauthenticated = (Code::Unauthenticated as i32).to_string();
        assert_eq!(status_of(&caller, &path, None, &[]).await, unauthenticated, "{path}");
        // A build without it answers none of its calls.
        if cfg!(not(feature = "memory")) && method.parent_service().name() == "SessionService" {
            continue;
        }
        if cfg!(not(feature = "etcd")) && method.parent_service().name() == "AdminService" {
            continue;
        }
        let Some(field) = method.input().get_field_by_name("workspace_id") else { continue };
        of_workspaces += 1;
        let mut message = DynamicMessage::new(method.input());
        message.set_field(&field, Value::String("secret".to_owned()));
        let denied = (Code::PermissionDenied as i32).to_string();
        assert_eq!(status_of(&caller, &path, Some(ONE), &message.encode_to_vec()).await, denied, "{path}");
    }
    assert!(of_workspaces >= 6, "{of_workspaces}");
}

#[tokio::test]
async fn a_watch_of_health_needs_no_token_and_stays_open() {
    let rig = start().await;
    let mut watch = rig.health().await.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    rig.access.replace(tokens(&FILE.replace("[harbor]", "[secret]")));
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    rig.lifecycle.drain();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    refused(watch.message().await, Code::Unavailable, "DRAINING");
}

#[tokio::test]
async fn existing_and_missing_workspaces_are_denied_alike() {
    let rig = start().await;
    let mut prompts = rig.prompts().await;
    let mut texts = std::collections::BTreeSet::new();
    for id in ["secret", "nowhere"] {
        let status =
            refused(prompts.assemble_prompt(by(ONE, of(id))).await, Code::PermissionDenied, "WORKSPACE_FORBIDDEN");
        assert_eq!(status.get_error_details_vec().len(), 1, "ErrorInfo alone");
        texts.insert(status.message().to_owned());
        let mut workspaces = rig.workspaces().await;
        let id = || id.to_owned();
        let get = proto::GetWorkspaceRequest { workspace_id: id(), ..Default::default() };
        refused(workspaces.get_workspace(by(ONE, get)).await, Code::PermissionDenied, "WORKSPACE_FORBIDDEN");
        let watch = proto::WatchWorkspaceRequest { workspace_id: id(), ..Default::default() };
        refused(workspaces.watch_workspace(by(ONE, watch)).await, Code::PermissionDenied, "WORKSPACE_FORBIDDEN");
        let list = proto::ListSkillsRequest { workspace_id: id(), ..Default::default() };
        refused(workspaces.list_skills(by(ONE, list)).await, Code::PermissionDenied, "WORKSPACE_FORBIDDEN");
        let read = proto::ReadSkillRequest { workspace_id: id(), ..Default::default() };
        refused(workspaces.read_skill(by(ONE, read)).await, Code::PermissionDenied, "WORKSPACE_FORBIDDEN");
        let reply = proto::ParseReplyRequest { workspace_id: id(), ..Default::default() };
        refused(prompts.parse_reply(by(ONE, reply)).await, Code::PermissionDenied, "WORKSPACE_FORBIDDEN");
        let plan = proto::PlanHistoryRequest { workspace_id: id(), ..Default::default() };
        refused(prompts.plan_history(by(ONE, plan)).await, Code::PermissionDenied, "WORKSPACE_FORBIDDEN");
    }
    assert_eq!(texts.len(), 1);
    prompts.assemble_prompt(by(ONE, ask())).await.unwrap();
}

#[tokio::test]
async fn lists_omit_what_a_token_does_not_admit() {
    let rig = start().await;
    let mut client = rig.workspaces().await;
    for (token, expected) in [(ALL, &["harbor", "secret"][..]), (ONE, &["harbor"])] {
        let page = client.list_workspaces(by(token, proto::ListWorkspacesRequest::default())).await.unwrap();
        let ids: Vec<_> = page.into_inner().workspaces.into_iter().map(|workspace| workspace.id).collect();
        assert_eq!(ids, expected);
    }
}

#[tokio::test]
async fn skill_access_holds_in_every_call() {
    let rig = start().await;
    rig.publish("harbor", harbor().file("skills/broken/SKILL.md", "---\nname: broken\n---\n"));
    let response = rig.prompts().await.assemble_prompt(by(ALL, ask())).await.unwrap().into_inner();
    assert!(format!("{response:?}").contains("skills/broken/SKILL.md"));
    let response = rig.prompts().await.assemble_prompt(by(ONE, ask())).await.unwrap().into_inner();
    assert!(response.messages[0].content.contains("<name>git</name>"));
    let all = format!("{response:?}");
    assert!(!all.contains("xurl") && !all.contains("broken"), "{all}");

    let mut client = rig.workspaces().await;
    let get = proto::GetWorkspaceRequest { workspace_id: "harbor".into(), ..Default::default() };
    let workspace = client.get_workspace(by(ONE, get)).await.unwrap().into_inner().workspace.unwrap();
    assert!(!format!("{workspace:?}").contains("broken"), "{workspace:?}");
    assert_eq!((workspace.skills_shown, workspace.skills_hidden), (1, 0));
    let list = proto::ListSkillsRequest { workspace_id: "harbor".into(), ..Default::default() };
    let skills = client.list_skills(by(ONE, list)).await.unwrap().into_inner().skills;
    assert_eq!(skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), ["git"]);
    let read = proto::ReadSkillRequest { workspace_id: "harbor".into(), name: "xurl".into(), ..Default::default() };
    refused(client.read_skill(by(ONE, read.clone())).await, Code::NotFound, "SKILL_NOT_FOUND");
    client.read_skill(by(ALL, read)).await.unwrap();
}

#[tokio::test]
async fn no_turn_gets_around_skill_access() {
    let rig = start().await;
    let mut client = rig.prompts().await;
    rig.publish("harbor", harbor().file("skills/xurl/SKILL.md", "---\nname: xurl\ndescription: D.\n---\nHIDDEN\n"));
    let text = |text: &str| prost_types::Value { kind: Some(prost_types::value::Kind::StringValue(text.into())) };
    let everything = proto::NameGlobs { globs: vec!["*".into()] };
    let filter = proto::SkillFilter { allowlist: Some(everything), ..Default::default() };
    let profiles = rig
        .profiles()
        .await
        .list_profiles(by(ALL, proto::ListProfilesRequest::default()))
        .await
        .unwrap()
        .into_inner()
        .profiles;
    for profile in profiles.iter().map(|profile| &profile.name) {
        for id in ["xurl", "XURL", "internal-x", "git/../xurl", "../xurl"] {
            let message = proto::ConversationMessage {
                role: proto::Role::User.into(),
                content: format!("/{id} now"),
                ..Default::default()
            };
            let turn = proto::Turn {
                skill_filter: Some(filter.clone()),
                conversation: Some(proto::Conversation { messages: vec![message], ..Default::default() }),
                ..Default::default()
            };
            let request = proto::AssemblePromptRequest { profile: profile.clone(), ..ask_with(turn.clone()) };
            let answer = format!("{:?}", client.assemble_prompt(by(ONE, request)).await.unwrap().into_inner());
            let answer = answer.replace(&format!("/{id}"), "");
            assert!(!answer.contains("HIDDEN") && !answer.contains("xurl") && !answer.contains("internal"), "{answer}");
            // Named by the input, it is refused where the profile has that input, and the input where not.
            let inputs = prost_types::Struct { fields: [("active_skill".to_owned(), text(id))].into() };
            let turn = proto::Turn { inputs: Some(inputs), ..turn };
            let request = proto::AssemblePromptRequest { profile: profile.clone(), ..ask_with(turn) };
            refused(client.assemble_prompt(by(ONE, request)).await, Code::InvalidArgument, "INVALID_REQUEST");
        }
    }
}

#[tokio::test]
async fn open_watches_end_when_their_token_changes() {
    let rig = start().await;
    let mut client = rig.workspaces().await;
    let request = || proto::WatchWorkspaceRequest { workspace_id: "harbor".into(), ..Default::default() };
    let mut kept = client.watch_workspace(by(ALL, request())).await.unwrap().into_inner();
    let mut narrowed = client.watch_workspace(by(ONE, request())).await.unwrap().into_inner();
    kept.message().await.unwrap().unwrap();
    narrowed.message().await.unwrap().unwrap();

    rig.access.replace(tokens(&FILE.replace("skills: [git]", "skills: []")));
    refused(narrowed.message().await, Code::Unavailable, "TOKEN_RIGHTS_CHANGED");
    let mut revoked = client.watch_workspace(by(ONE, request())).await.unwrap().into_inner();
    revoked.message().await.unwrap().unwrap();

    rig.access.replace(tokens("tokens:\n  - {name: operator, token: operator-token-0001}\n"));
    refused(revoked.message().await, Code::Unauthenticated, "TOKEN_UNKNOWN");
    refused(rig.prompts().await.assemble_prompt(by(ONE, ask())).await, Code::Unauthenticated, "TOKEN_UNKNOWN");

    // A watch whose token did not change goes on.
    rig.publish("harbor", MemoryTree::new());
    tokio::time::timeout(PATIENCE, kept.message()).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn an_unknown_workspace_names_none_that_the_token_does_not_admit() {
    let file = FILE.replace("workspaces: [harbor]", "workspaces: [harbor, secre]");
    let rig = Rig::start_with(Setup { access: Access::with(tokens(&file)), ..Setup::default() }).await;
    rig.publish("secret", MemoryTree::new());
    let mut client = rig.prompts().await;
    for (token, named) in [(ONE, false), (ALL, true)] {
        let answer = client.assemble_prompt(by(token, of("secre"))).await;
        let status = refused(answer, Code::NotFound, "WORKSPACE_NOT_FOUND");
        assert_eq!(status.message().contains("`secret`"), named, "{status:?}");
    }
}

#[tokio::test]
async fn a_token_has_quotas_of_its_own() {
    let quotas = "    in_flight: 1\n  - name: slow\n    token: slow-token-0000003\n    calls_per_second: 2\n";
    let access = Access::with(tokens(&format!("{FILE}{quotas}")));
    let rig = Rig::start_with(Setup { access, ..Setup::default() }).await;
    let mut workspaces = rig.workspaces().await;
    let watch = || proto::WatchWorkspaceRequest { workspace_id: "harbor".into(), ..Default::default() };
    let open = workspaces.watch_workspace(by(ONE, watch())).await.unwrap();
    let mut prompts = rig.prompts().await;
    let status = refused(prompts.assemble_prompt(by(ONE, ask())).await, Code::ResourceExhausted, "QUOTA_EXCEEDED");
    assert!(status.message().contains("in flight"), "{status:?}");
    prompts.assemble_prompt(by(ALL, ask())).await.unwrap();
    drop(open);
    let free = async { while prompts.assemble_prompt(by(ONE, ask())).await.is_err() {} };
    tokio::time::timeout(PATIENCE, free).await.expect("a stream that ended is not counted");

    let mut refusals = 0;
    for _ in 0..10 {
        if let Err(status) = prompts.assemble_prompt(by("slow-token-0000003", ask())).await {
            refused::<()>(Err(status), Code::ResourceExhausted, "QUOTA_EXCEEDED");
            refusals += 1;
        }
    }
    assert!(refusals > 0, "ten calls take less than the four seconds that they would have to");
    rig.health().await.check(HealthCheckRequest::default()).await.unwrap();
}

#[tokio::test]
async fn a_watch_reports_no_change_of_a_skill_that_the_token_does_not_admit() {
    let rig = start().await;
    let mut client = rig.workspaces().await;
    let request = || proto::WatchWorkspaceRequest { workspace_id: "harbor".into(), ..Default::default() };
    let mut all = client.watch_workspace(by(ALL, request())).await.unwrap().into_inner();
    let mut one = client.watch_workspace(by(ONE, request())).await.unwrap().into_inner();
    for stream in [&mut all, &mut one] {
        tokio::time::timeout(PATIENCE, stream.message()).await.unwrap().unwrap().unwrap();
    }
    let skill = |name: &str| format!("---\nname: {name}\ndescription: Changed.\n---\n");
    let tree = harbor()
        .file("skills/xurl/SKILL.md", skill("xurl"))
        .file("skills/git/SKILL.md", skill("git"))
        .file("SOUL.md", "Changed.\n");
    rig.publish("harbor", tree);
    for (stream, expected) in [
        (&mut all, &["SOUL.md", "skills/git/SKILL.md", "skills/xurl/SKILL.md"][..]),
        (&mut one, &["SOUL.md", "skills/git/SKILL.md"]),
    ] {
        let news = tokio::time::timeout(PATIENCE, stream.message()).await.unwrap().unwrap().unwrap();
        assert_eq!(news.changed_paths, expected);
    }
}
