//! Stored conversations by gRPC and by Connect, over a real store.

use std::{path::Path, sync::Arc};

use promptd::grpc::{Access, Memory, Tokens};
use promptd_contract::proto;
use promptd_memory::{Options, SqliteStore, Store, StoreError};
use serde_json::{Value, json};
use tempfile::TempDir;
use tonic::{Code, Streaming, codegen::http::Version};
use tonic_types::StatusExt as _;

use crate::{
    auth::{self, ALL, ONE, by},
    http::Caller,
    rig::{PATIENCE, Rig, Setup, refused},
};

fn store(dir: &Path) -> Memory {
    let store = SqliteStore::open(&Options::new(dir.to_owned()));
    Memory::new(store.map(|store| Arc::new(store) as Arc<dyn Store>))
}

pub(crate) async fn start(dir: &TempDir) -> Rig {
    Rig::start_with(Setup { memory: Some(store(dir.path())), ..Setup::default() }).await
}

fn user(id: &str, content: &str) -> proto::ConversationMessage {
    said(proto::Role::User, id, content)
}

pub(crate) fn said(role: proto::Role, id: &str, content: &str) -> proto::ConversationMessage {
    proto::ConversationMessage { role: role.into(), id: id.into(), content: content.into(), ..Default::default() }
}

pub(crate) fn append(session: &str, messages: Vec<proto::ConversationMessage>) -> proto::AppendMessagesRequest {
    proto::AppendMessagesRequest {
        workspace_id: "harbor".into(),
        session_id: session.into(),
        messages,
        expected_position: None,
    }
}

fn users(range: std::ops::Range<usize>) -> Vec<proto::ConversationMessage> {
    range.map(|number| user(&format!("m{number}"), &format!("text {number}"))).collect()
}

fn get(session: &str) -> proto::GetSessionRequest {
    proto::GetSessionRequest { workspace_id: "harbor".into(), session_id: session.into() }
}

fn list(session: &str) -> proto::ListMessagesRequest {
    proto::ListMessagesRequest { workspace_id: "harbor".into(), session_id: session.into(), ..Default::default() }
}

fn delete(session: &str) -> proto::DeleteSessionRequest {
    proto::DeleteSessionRequest { workspace_id: "harbor".into(), session_id: session.into() }
}

async fn next(watch: &mut Streaming<proto::WatchSessionResponse>) -> Option<proto::WatchSessionResponse> {
    tokio::time::timeout(PATIENCE, watch.message()).await.expect("news").unwrap()
}

#[tokio::test]
async fn a_conversation_is_appended_to_listed_and_removed() {
    let dir = TempDir::new().unwrap();
    let rig = start(&dir).await;
    let mut sessions = rig.sessions().await;
    let call = proto::ToolCall { id: "c".into(), name: "look".into(), arguments_json: "{}".into() };
    let messages = vec![
        proto::ConversationMessage {
            name: "Ada".into(),
            time: Some(prost_types::Timestamp { seconds: 7, nanos: 5 }),
            ..user("0", "Is it open?")
        },
        proto::ConversationMessage { tool_calls: vec![call], ..said(proto::Role::Assistant, "1", "") },
        proto::ConversationMessage { tool_call_id: "c".into(), ..said(proto::Role::Tool, "2", "open") },
    ];
    let appended = sessions.append_messages(append("s", messages.clone())).await.unwrap().into_inner();
    let session = appended.session.unwrap();
    assert_eq!((appended.stored, session.position, session.message_count), (3, 3, 3));
    let by_role = [session.system_messages, session.user_messages, session.assistant_messages, session.tool_messages];
    assert_eq!(by_role, [0, 1, 1, 1]);
    let again = sessions.append_messages(append("s", messages.clone())).await.unwrap().into_inner();
    assert_eq!((again.stored, again.session.as_ref()), (0, Some(&session)));
    assert_eq!(sessions.get_session(get("s")).await.unwrap().into_inner().session, Some(session));

    let page = sessions.list_messages(list("s")).await.unwrap().into_inner();
    assert_eq!((page.position, page.next_position), (3, None));
    let stored: Vec<_> = page.messages.into_iter().map(|stored| stored.message.unwrap()).collect();
    assert_eq!(stored, messages);
    let part = proto::ListMessagesRequest { page_size: 1, from_position: 1, ..list("s") };
    let part = sessions.list_messages(part).await.unwrap().into_inner();
    assert_eq!((part.messages[0].position, part.messages.len(), part.next_position), (1, 1, Some(2)));

    assert_eq!(sessions.delete_session(delete("s")).await.unwrap().into_inner().messages, 3);
    refused(sessions.get_session(get("s")).await, Code::NotFound, "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn every_error_has_its_code_and_its_reason() {
    let dir = TempDir::new().unwrap();
    let rig = start(&dir).await;
    let mut sessions = rig.sessions().await;
    sessions.append_messages(append("s", users(0..3))).await.unwrap();
    let moved = proto::AppendMessagesRequest { expected_position: Some(2), ..append("s", users(9..10)) };
    let moved = refused(sessions.append_messages(moved).await, Code::Aborted, "SESSION_MOVED");
    assert_eq!(moved.get_details_error_info().unwrap().metadata["position"], "3");
    assert_eq!(moved.message(), "session `s`: its position is 3, not the expected one: another writer changed it");
    let other = append("s", vec![user("m1", "SECRET")]);
    let other = refused(sessions.append_messages(other).await, Code::AlreadyExists, "MESSAGE_DIFFERS");
    assert_eq!(
        other.message(),
        "session `s`: messages[0] (id `m1`) has the id of a stored message that says something else: a new message needs an id of \
         its own"
    );
    let order = append("s", vec![user("new", ""), user("m1", "text 1")]);
    let order = refused(sessions.append_messages(order).await, Code::FailedPrecondition, "MESSAGE_OUT_OF_ORDER");
    assert_eq!(order.message(), "session `s`: messages[1] (id `m1`) is stored already, and a new one comes before it");
    refused(sessions.append_messages(append("s", vec![])).await, Code::InvalidArgument, "INVALID_REQUEST");
    let nowhere = proto::AppendMessagesRequest { workspace_id: "harbour".into(), ..append("s", users(0..1)) };
    refused(sessions.append_messages(nowhere).await, Code::NotFound, "WORKSPACE_NOT_FOUND");
    let far = proto::ListMessagesRequest { at_position: Some(4), ..list("s") };
    refused(sessions.list_messages(far).await, Code::NotFound, "POSITION_NOT_FOUND");
    let negative = proto::ListMessagesRequest { page_size: -1, ..list("s") };
    refused(sessions.list_messages(negative).await, Code::InvalidArgument, "INVALID_REQUEST");
    refused(sessions.get_session(get("../s")).await, Code::InvalidArgument, "INVALID_REQUEST");
    refused(sessions.delete_session(delete("t")).await, Code::NotFound, "SESSION_NOT_FOUND");
    let export = proto::ExportSessionRequest { workspace_id: "harbor".into(), session_id: "t".into() };
    refused(sessions.export_session(export).await, Code::NotFound, "SESSION_NOT_FOUND");
    let fork = |to: &str| proto::ForkSessionRequest {
        workspace_id: "harbor".into(),
        session_id: "s".into(),
        new_session_id: to.into(),
        at_position: None,
    };
    sessions.fork_session(fork("t")).await.unwrap();
    let exists = refused(sessions.fork_session(fork("t")).await, Code::AlreadyExists, "SESSION_EXISTS");
    assert_eq!(exists.message(), "session `t`: it exists already: give the fork another id");
    let unnamed = refused(sessions.fork_session(fork("")).await, Code::InvalidArgument, "INVALID_REQUEST");
    assert!(unnamed.message().starts_with("invalid request: new_session_id: is missing or empty: it must be 1 to 64"));
    let cut = proto::TruncateSessionRequest {
        workspace_id: "harbor".into(),
        session_id: "s".into(),
        from_position: 1,
        expected_position: Some(1),
    };
    refused(sessions.truncate_session(cut).await, Code::Aborted, "SESSION_MOVED");
}

#[tokio::test]
async fn a_fork_and_a_truncation_leave_the_rest_alone() {
    let dir = TempDir::new().unwrap();
    let rig = start(&dir).await;
    let mut sessions = rig.sessions().await;
    sessions.append_messages(append("s", users(0..10))).await.unwrap();
    let fork = proto::ForkSessionRequest {
        workspace_id: "harbor".into(),
        session_id: "s".into(),
        new_session_id: "t".into(),
        at_position: Some(4),
    };
    let forked = sessions.fork_session(fork).await.unwrap().into_inner().session.unwrap();
    assert_eq!((forked.id.as_str(), forked.position, forked.message_count), ("t", 4, 4));
    let cut = proto::TruncateSessionRequest {
        workspace_id: "harbor".into(),
        session_id: "s".into(),
        from_position: 2,
        expected_position: Some(10),
    };
    let left = sessions.truncate_session(cut).await.unwrap().into_inner().session.unwrap();
    assert_eq!((left.position, left.message_count), (11, 2));
    let kept = sessions.list_messages(list("t")).await.unwrap().into_inner().messages;
    assert_eq!(kept.len(), 4);
}

#[tokio::test]
async fn sessions_come_in_pages_the_last_changed_first() {
    let dir = TempDir::new().unwrap();
    let rig = start(&dir).await;
    let mut sessions = rig.sessions().await;
    for number in 0..5 {
        sessions.append_messages(append(&format!("s{number}"), users(0..1))).await.unwrap();
    }
    let (mut found, mut token) = (Vec::new(), String::new());
    loop {
        let request = proto::ListSessionsRequest { workspace_id: "harbor".into(), page_size: 2, page_token: token };
        let page = sessions.list_sessions(request).await.unwrap().into_inner();
        found.extend(page.sessions);
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    let changed = |session: &proto::Session| {
        let at = session.changed_at.unwrap();
        std::cmp::Reverse((at.seconds, at.nanos, session.id.clone()))
    };
    assert_eq!(found.len(), 5);
    assert!(found.is_sorted_by_key(changed), "{found:?}");
    let bad = proto::ListSessionsRequest { workspace_id: "harbor".into(), page_size: 0, page_token: "1-6161".into() };
    refused(sessions.list_sessions(bad).await, Code::InvalidArgument, "INVALID_REQUEST");
}

#[tokio::test]
async fn an_export_has_every_message_as_a_line_that_can_be_read_again() {
    let dir = TempDir::new().unwrap();
    let rig = start(&dir).await;
    let mut sessions = rig.sessions().await;
    for start in [0, 600] {
        sessions.append_messages(append("s", users(start..start + 600))).await.unwrap();
    }
    let export = proto::ExportSessionRequest { workspace_id: "harbor".into(), session_id: "s".into() };
    let mut parts = sessions.export_session(export).await.unwrap().into_inner();
    let (mut lines, mut count) = (Vec::new(), 0);
    while let Some(part) = parts.message().await.unwrap() {
        if count == 0 {
            // What is said from now on is not in it.
            sessions.append_messages(append("s", users(2_000..2_001))).await.unwrap();
        }
        lines.extend(part.lines);
        count += 1;
    }
    assert!(count > 2, "{count} parts");
    let lines = String::from_utf8(lines).unwrap();
    let read: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read.len(), 1_200);
    for (number, line) in read.iter().enumerate() {
        let expected = [json!(number), json!(format!("m{number}")), json!("user"), json!(format!("text {number}"))];
        assert_eq!(["position", "id", "role", "content"].map(|key| line[key].clone()), expected);
    }
}

#[tokio::test]
async fn a_watch_has_the_newest_state_and_ends_with_the_session() {
    let dir = TempDir::new().unwrap();
    let rig = start(&dir).await;
    let mut sessions = rig.sessions().await;
    let request = |known_position| proto::WatchSessionRequest {
        workspace_id: "harbor".into(),
        session_id: "s".into(),
        known_position,
    };
    // One that is not there yet is waited for.
    let mut early = sessions.watch_session(request(None)).await.unwrap().into_inner();
    sessions.append_messages(append("s", users(0..2))).await.unwrap();
    assert_eq!(next(&mut early).await.unwrap().session.unwrap().position, 2);
    let mut at_once = sessions.watch_session(request(None)).await.unwrap().into_inner();
    assert_eq!(next(&mut at_once).await.unwrap().session.unwrap().position, 2);
    let mut knows = sessions.watch_session(request(Some(2))).await.unwrap().into_inner();
    sessions.append_messages(append("s", users(2..3))).await.unwrap();
    for watch in [&mut early, &mut at_once, &mut knows] {
        assert_eq!(next(watch).await.unwrap().session.unwrap().position, 3);
    }
    sessions.delete_session(delete("s")).await.unwrap();
    for watch in [&mut early, &mut at_once, &mut knows] {
        let last = next(watch).await.unwrap();
        assert!(last.deleted && last.session.unwrap().id == "s");
        assert_eq!(next(watch).await, None);
    }
}

#[tokio::test]
async fn a_token_sees_the_sessions_of_its_workspaces_alone() {
    let dir = TempDir::new().unwrap();
    let access = Access::with(Tokens::parse(auth::FILE, "tokens.yaml").unwrap());
    let rig = Rig::start_with(Setup { access, memory: Some(store(dir.path())), ..Setup::default() }).await;
    rig.publish("secret", promptd_core::workspace::MemoryTree::new());
    let mut sessions = rig.sessions().await;
    let hidden = proto::AppendMessagesRequest {
        workspace_id: "secret".into(),
        ..append("s", vec![user("m", "where the walrus is")])
    };
    sessions.append_messages(by(ALL, hidden)).await.unwrap();
    sessions.append_messages(by(ONE, append("s", vec![user("m", "no walrus here")]))).await.unwrap();
    let recall = |workspace: &str| proto::RecallRequest {
        workspace_id: workspace.into(),
        query: "walrus".into(),
        ..<_>::default()
    };
    let found = sessions.recall(by(ONE, recall("harbor"))).await.unwrap().into_inner().messages;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message.as_ref().unwrap().message.as_ref().unwrap().content, "no walrus here");
    refused(sessions.recall(by(ONE, recall("secret"))).await, Code::PermissionDenied, "WORKSPACE_FORBIDDEN");
    let stats = proto::GetRecallStatsRequest { workspace_id: "harbor".into() };
    let stats = sessions.get_recall_stats(by(ONE, stats)).await.unwrap().into_inner();
    assert_eq!((stats.sessions, stats.messages), (1, 1));
    // Its watch ends with its right to see it.
    let watch = proto::WatchSessionRequest { workspace_id: "harbor".into(), session_id: "s".into(), ..<_>::default() };
    let mut watch = sessions.watch_session(by(ONE, watch)).await.unwrap().into_inner();
    next(&mut watch).await.unwrap();
    rig.access.replace(Tokens::parse(&auth::FILE.replace("[harbor]", "[secret]"), "tokens.yaml").unwrap());
    refused(watch.message().await, Code::Unavailable, "TOKEN_RIGHTS_CHANGED");
}

#[tokio::test]
async fn connect_calls_it_with_json() {
    let dir = TempDir::new().unwrap();
    let rig = start(&dir).await;
    let caller = Caller::new(rig.addr, Version::HTTP_11);
    let post = async |method: &str, body: Value| {
        let path = format!("/promptd.v1.SessionService/{method}");
        let answer = caller.send("POST", &path, &["content-type: application/json"], body.to_string()).await;
        serde_json::from_slice::<Value>(&answer.body).unwrap()
    };
    let message = json!({"id": "m", "role": "ROLE_USER", "content": "Is it open?"});
    let request = json!({"workspaceId": "harbor", "sessionId": "s", "messages": [message], "expectedPosition": "0"});
    let appended = post("AppendMessages", request).await;
    assert_eq!((&appended["session"]["position"], &appended["stored"]), (&json!("1"), &json!("1")));
    let found = post("Recall", json!({"workspaceId": "harbor", "query": "open"})).await;
    assert_eq!(found["messages"][0]["message"]["message"]["content"], "Is it open?");
    let missing = post("GetSession", json!({"workspaceId": "harbor", "sessionId": "t"})).await;
    assert_eq!(missing["code"], "not_found");
}

#[tokio::test]
async fn without_a_store_and_with_a_damaged_one_everything_else_is_served() {
    let rig = Rig::start().await;
    let status = refused(rig.sessions().await.get_session(get("s")).await, Code::Unimplemented, "UNIMPLEMENTED");
    assert!(status.message().contains("`memory.store`"), "{status:?}");
    for (error, code, reason) in [
        (StoreError::Damaged("in /srv/x".into()), Code::DataLoss, "STORE_DAMAGED"),
        (StoreError::Unusable("/srv/x is newer".into()), Code::FailedPrecondition, "STORE_UNUSABLE"),
    ] {
        let rig = Rig::start_with(Setup { memory: Some(Memory::new(Err(error))), ..Setup::default() }).await;
        let mut sessions = rig.sessions().await;
        refused(sessions.get_session(get("s")).await, code, reason);
        refused(sessions.append_messages(append("s", users(0..1))).await, code, reason);
        let watch =
            proto::WatchSessionRequest { workspace_id: "harbor".into(), session_id: "s".into(), ..<_>::default() };
        refused(sessions.watch_session(watch).await, code, reason);
        rig.prompts().await.assemble_prompt(crate::rig::ask()).await.unwrap();
    }
}

/// A conversation as agents have them: turns of a user's message, calls of tools with results, and an answer.
pub(crate) fn agentic(turns: usize) -> Vec<proto::ConversationMessage> {
    let mut messages = Vec::new();
    for turn in 0..turns {
        messages.push(user(&format!("u{turn}"), &format!("Question {turn}? {}", "word ".repeat(turn * 7 % 40))));
        for call in 0..turn % 4 {
            let id = format!("c{turn}-{call}");
            let tool_calls =
                vec![proto::ToolCall { id: id.clone(), name: "look".into(), arguments_json: "{\"a\":1}".into() }];
            messages
                .push(proto::ConversationMessage { tool_calls, ..said(proto::Role::Assistant, &format!("a{id}"), "") });
            let result = said(proto::Role::Tool, &format!("r{id}"), &"found ".repeat(turn * 13 % 90));
            messages.push(proto::ConversationMessage { tool_call_id: id, name: "look".into(), ..result });
        }
        messages.push(said(proto::Role::Assistant, &format!("e{turn}"), &format!("Answer {turn}.")));
    }
    // A result that answers nothing, as after a crash of the front end.
    let stray = said(proto::Role::Tool, "stray", &"lost ".repeat(300));
    messages.push(proto::ConversationMessage { tool_call_id: "none".into(), ..stray });
    messages.push(user("last", "And now?"));
    messages
}

/// A number as an input of a profile.
pub(crate) fn number(name: &str, value: f64) -> prost_types::Struct {
    let value = prost_types::Value { kind: Some(prost_types::value::Kind::NumberValue(value)) };
    prost_types::Struct { fields: [(name.to_owned(), value)].into() }
}

#[tokio::test]
async fn a_turn_that_names_a_session_has_the_prompt_of_one_that_brings_it() {
    let dir = TempDir::new().unwrap();
    let rig = start(&dir).await;
    let (mut sessions, mut prompts) = (rig.sessions().await, rig.prompts().await);
    let messages = agentic(120);
    sessions.append_messages(append("s", messages.clone())).await.unwrap();
    let ask = |profile: &str, inputs: Option<prost_types::Struct>, turn: proto::Turn| proto::AssemblePromptRequest {
        profile: profile.into(),
        turn: Some(proto::Turn { inputs, ..turn }),
        ..crate::rig::ask()
    };
    let profiles = [
        ("five-layer", None),
        ("airi", Some(number("window", 3.0))),
        ("kern", None),
        ("kern", Some(number("max_context_tokens", 700.0))),
        ("kern", Some(number("max_context_tokens", 3_000.0))),
    ];
    for (profile, inputs) in profiles {
        for position in [None, Some(1), Some(17), Some(100), Some(messages.len() as u64 - 2)] {
            let end = position.map_or(messages.len(), |position| usize::try_from(position).unwrap());
            let whole = proto::Conversation { messages: messages[..end].to_vec(), ..Default::default() };
            let brought = proto::Turn { conversation: Some(whole), ..Default::default() };
            let named = proto::Turn { session_id: "s".into(), session_position: position, ..Default::default() };
            let brought = prompts.assemble_prompt(ask(profile, inputs.clone(), brought)).await.unwrap().into_inner();
            let named = prompts.assemble_prompt(ask(profile, inputs.clone(), named)).await.unwrap().into_inner();
            let why = format!("{profile} at {position:?}");
            assert_eq!(named.session_position, Some(end as u64), "{why}");
            assert_eq!(brought.session_position, None, "{why}");
            assert_eq!(named.digest, brought.digest, "{why}");
            assert_eq!(named.conversation_window, brought.conversation_window, "{why}");
            let texts = |answer: &proto::AssemblePromptResponse| {
                answer.findings.iter().map(|finding| finding.message.clone()).collect::<Vec<_>>()
            };
            assert_eq!(texts(&named), texts(&brought), "{why}");
        }
    }
}

#[tokio::test]
async fn a_position_gives_the_same_bytes_whatever_follows() {
    let dir = TempDir::new().unwrap();
    let rig = start(&dir).await;
    let (mut sessions, mut prompts) = (rig.sessions().await, rig.prompts().await);
    sessions.append_messages(append("s", users(0..20))).await.unwrap();
    let now = Some(prost_types::Timestamp { seconds: 7, nanos: 0 });
    let named = |session_position| {
        crate::rig::ask_with(proto::Turn { session_id: "s".into(), session_position, now, ..Default::default() })
    };
    let first = prompts.assemble_prompt(named(None)).await.unwrap().into_inner();
    sessions.append_messages(append("s", users(20..30))).await.unwrap();
    let again = prompts.assemble_prompt(named(first.session_position)).await.unwrap().into_inner();
    assert_eq!(again, first);
    assert_ne!(prompts.assemble_prompt(named(None)).await.unwrap().into_inner().digest, first.digest);
    let cut = proto::TruncateSessionRequest {
        workspace_id: "harbor".into(),
        session_id: "s".into(),
        from_position: 10,
        expected_position: None,
    };
    sessions.truncate_session(cut).await.unwrap();
    sessions.append_messages(append("s", users(40..60))).await.unwrap();
    refused(prompts.assemble_prompt(named(Some(20))).await, Code::NotFound, "POSITION_NOT_FOUND");
    prompts.assemble_prompt(named(Some(10))).await.unwrap();
}

#[tokio::test]
async fn what_a_session_is_named_with_is_checked() {
    let dir = TempDir::new().unwrap();
    let rig = start(&dir).await;
    let mut prompts = rig.prompts().await;
    let named = || proto::Turn { session_id: "s".into(), ..Default::default() };
    let ask = crate::rig::ask_with;
    refused(prompts.assemble_prompt(ask(named())).await, Code::NotFound, "SESSION_NOT_FOUND");
    let both = proto::Turn { conversation: Some(proto::Conversation::default()), ..named() };
    refused(prompts.assemble_prompt(ask(both)).await, Code::InvalidArgument, "INVALID_REQUEST");
    let diff = proto::DiffPromptRequest { workspace_id: "harbor".into(), turn: Some(named()), ..Default::default() };
    refused(prompts.diff_prompt(diff).await, Code::InvalidArgument, "INVALID_REQUEST");
    let without = Rig::start().await;
    let refusal = without.prompts().await.assemble_prompt(ask(named())).await;
    let status = refused(refusal, Code::InvalidArgument, "INVALID_REQUEST");
    assert!(status.message().contains("`memory.store`"), "{status:?}");
}
