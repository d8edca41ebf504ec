//! Stored conversations.

use std::{fs, path::Path, time::SystemTime};

use promptd_client::{ConversationMessage, LastGood, Promptd, Role, proto};
use serde_json::Value;

use crate::{
    calls::{said, talk},
    server::Server,
};

fn stored(id: &str, role: Role, content: &str) -> ConversationMessage {
    ConversationMessage { id: id.into(), ..said(role, content) }
}

fn users(range: std::ops::Range<usize>) -> Vec<ConversationMessage> {
    range.map(|n| stored(&n.to_string(), Role::User, &format!("Berth {n} is free."))).collect()
}

fn page(session: &str, from_position: u64) -> proto::ListMessagesRequest {
    proto::ListMessagesRequest {
        workspace_id: "example".into(),
        session_id: session.into(),
        from_position,
        page_size: 1_000,
        ..Default::default()
    }
}

fn recall(query: &str, session: &str) -> proto::RecallRequest {
    let (workspace_id, session_id) = ("example".into(), session.into());
    proto::RecallRequest { workspace_id, query: query.into(), session_id, ..Default::default() }
}

#[test]
fn there_is_a_method_for_every_rpc() {
    let proto = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto/promptd/v1/session.proto");
    let proto = fs::read_to_string(proto).unwrap();
    let (_, service) = proto.split_once("service SessionService {").unwrap();
    let (service, _) = service.split_once("\n}").unwrap();
    let rpcs: Vec<_> = service.lines().filter_map(|line| line.trim().strip_prefix("rpc ")?.split('(').next()).collect();
    let called = [include_str!("../../src/conversations.rs"), include_str!("../../src/watch.rs")].concat();
    for rpc in &rpcs {
        assert!(called.contains(&format!("\"SessionService\", \"{rpc}\"")), "{rpc}");
    }
    assert!(rpcs.len() >= 11, "{rpcs:?}");
}

#[tokio::test]
async fn each_message_is_sent_once_and_the_prompt_has_them_all() {
    let server = Server::start();
    let client = Promptd::connect(&server.address).await.unwrap();
    let conversations = client.conversations();
    let question = stored("1", Role::User, "Any berth free?");
    let first = conversations.append("example", "s", vec![question.clone()], Some(0)).await.unwrap();
    assert_eq!((first.stored, first.session.unwrap().position), (1, 1));
    let answer = stored("2", Role::Assistant, "Berth 4.");
    let again = conversations.append("example", "s", vec![question.clone(), answer.clone()], None).await.unwrap();
    assert_eq!((again.stored, again.session.unwrap().message_count), (1, 2));
    let call = client.assemble("example").now(SystemTime::UNIX_EPOCH);
    let prompt = call.clone().session_id("s").send().await.unwrap();
    let brought = call.clone().conversation(talk(vec![question, answer])).send().await.unwrap();
    assert_eq!((&prompt.digest, prompt.session_position), (&brought.digest, Some(2)));
    let before = call.clone().session_id("s").session_position(1).send().await.unwrap();
    assert_ne!(before.digest, prompt.digest);
    // There are no messages here to put in their place.
    let referenced = call.session_id("s").reference_conversation(true).send().await.unwrap();
    assert_eq!(referenced.messages, prompt.messages);
    let moved = conversations.append("example", "s", users(5..6), Some(0)).await.unwrap_err();
    assert_eq!(moved.reason, "SESSION_MOVED");
    assert_eq!(conversations.get("example", "nonesuch").await.unwrap_err().reason, "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn a_session_is_read_forked_cut_searched_and_removed() {
    let server = Server::start();
    let client = Promptd::connect(&server.address).await.unwrap();
    let conversations = client.conversations();
    for first in (0..2_500).step_by(500) {
        conversations.append("example", "long", users(first..first + 500), None).await.unwrap();
    }
    let (mut texts, mut next) = (Vec::new(), Some(0));
    while let Some(from) = next {
        let page = conversations.messages(page("long", from)).await.unwrap();
        texts.extend(page.messages.into_iter().map(|one| one.message.unwrap().content));
        next = page.next_position;
    }
    let expected: Vec<_> = users(0..2_500).into_iter().map(|one| one.content).collect();
    assert_eq!(texts, expected);
    let mut export = conversations.export("example", "long").await.unwrap();
    let mut lines = Vec::new();
    while let Some(some) = export.next().await {
        lines.extend(some.unwrap());
    }
    let exported = String::from_utf8(lines).unwrap();
    let exported = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["content"].clone());
    assert_eq!(exported.collect::<Vec<_>>(), expected);

    let kept = conversations.fork("example", "long", "kept", Some(3)).await.unwrap();
    assert_eq!((kept.position, kept.message_count), (3, 3));
    let left = conversations.truncate("example", "kept", 2, Some(3)).await.unwrap();
    assert_eq!((left.position, left.message_count), (4, 2));
    let mut ids: Vec<_> = conversations.list("example").await.unwrap().into_iter().map(|one| one.id).collect();
    ids.sort();
    assert_eq!(ids, ["kept", "long"]);
    let found = conversations.recall(recall("berth", "kept")).await.unwrap().messages;
    assert_eq!(found.len(), 2);
    let stats = conversations.stats("example").await.unwrap();
    assert_eq!((stats.sessions, stats.messages), (2, 2_502));
    let notes = conversations.notes("example").await.unwrap();
    assert!(notes.summaries.is_empty() && notes.fault.contains("memory.models.summarise"), "{notes:?}");
    assert_eq!(conversations.delete("example", "kept").await.unwrap(), 2);
    assert!(conversations.recall(recall("berth", "kept")).await.unwrap().messages.is_empty());
}

#[tokio::test]
async fn a_watch_goes_on_over_a_restart_and_ends_with_the_session() {
    let mut server = Server::start();
    let client = Promptd::connect(&server.address).await.unwrap();
    let conversations = client.conversations();
    conversations.append("example", "s", users(0..1), None).await.unwrap();
    let mut watch = conversations.watch("example", "s");
    assert_eq!(watch.next().await.unwrap().unwrap().session.unwrap().position, 1);
    server.kill();
    server.again();
    conversations.append("example", "s", users(0..2), None).await.unwrap();
    assert_eq!(watch.next().await.unwrap().unwrap().session.unwrap().position, 2);
    conversations.delete("example", "s").await.unwrap();
    assert!(watch.next().await.unwrap().unwrap().deleted);
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn a_session_is_never_answered_from_before() {
    let mut server = Server::start();
    let client = Promptd::builder(&server.address).last_good(LastGood::memory()).build().await.unwrap();
    client.conversations().append("example", "s", users(0..1), None).await.unwrap();
    client.assemble("example").session_id("s").send().await.unwrap();
    server.kill();
    assert!(client.assemble("example").session_id("s").send().await.unwrap_err().is_unreachable());
}
