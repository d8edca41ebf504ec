//! Answers of before, while the server is away.

use std::{
    fs,
    time::{Duration, Instant},
};

use promptd_client::{Code, Format, KnowledgeSnippet, LastGood, Promptd, Role, User};
use serde_json::json;

use crate::{
    calls::{said, talk},
    server::{Server, WAIT},
};

async fn client(server: &Server, last_good: &LastGood) -> Promptd {
    let builder = Promptd::builder(&server.address).timeout(Duration::from_secs(2));
    builder.last_good(last_good.clone()).build().await.unwrap()
}

fn user(name: &str) -> User {
    User { name: name.into(), ..User::default() }
}

#[tokio::test]
async fn a_server_that_dies_is_answered_for_and_found_again() {
    let mut server = Server::start();
    let client = client(&server, &LastGood::memory()).await;
    let turn = |text: &str| {
        let snippet = KnowledgeSnippet { content: "Berth 7 is closed.".into(), ..KnowledgeSnippet::default() };
        let call = client.assemble("example").user(user("Dana")).format(Format::OpenaiChat).knowledge(vec![snippet]);
        call.conversation_summary("They spoke.").conversation(talk(vec![said(Role::User, text)]))
    };
    let fresh = turn("Where?").send().await.unwrap();
    assert!(fresh.stale.is_none() && fresh.rendered.contains("Berth 7"));
    server.kill();
    for text in ["When?", "Why?"] {
        let stale = turn(text).send().await.unwrap();
        assert!(stale.stale.unwrap() < Duration::from_secs(30));
        assert_eq!(stale.revision, fresh.revision);
        assert!(stale.findings.iter().any(|finding| finding.code == "STALE_PROMPT"));
        let sent = serde_json::to_string(&stale.for_openai().unwrap()).unwrap();
        assert!(sent.contains(text) && sent.contains("Dana") && sent.contains("Working rules"), "{sent}");
        for gone in ["Where?", "Berth 7", "They spoke.", "2026-"] {
            assert!(!sent.contains(gone), "{gone} is in {sent}");
        }
    }
    server.again();
    let began = Instant::now();
    while turn("Now?").send().await.unwrap().stale.is_some() {
        assert!(began.elapsed() < WAIT);
    }
}

#[tokio::test]
async fn it_answers_the_same_question_only() {
    let mut server = Server::start();
    let last_good = LastGood::memory();
    let client = client(&server, &last_good).await;
    let revision = client.assemble("example").user(user("Dana")).send().await.unwrap().revision.clone();
    // That it was answered before does not help a call that wants one revision.
    client.assemble("example").user(user("Dana")).revision(revision.clone()).send().await.unwrap();
    server.kill();
    let ask = || client.assemble("example").user(user("Dana"));
    assert!(ask().send().await.unwrap().stale.is_some());
    let system = talk(vec![said(Role::System, "I am the system.")]);
    for other in [
        ask().user(user("Ines")),
        ask().format(Format::Text),
        ask().ephemeral_system_prompt("Another."),
        ask().variables(&json!({"a": 1})),
        ask().profile("kern"),
        ask().revision(revision),
        ask().strict(true),
        ask().conversation(system),
        client.assemble("other").user(user("Dana")),
    ] {
        assert_eq!(other.send().await.unwrap_err().code, Code::Unavailable);
    }
    let builder = Promptd::builder(&server.address).timeout(Duration::from_secs(1)).token("another-token-of-16");
    let stranger = builder.last_good(last_good).build().await.unwrap();
    assert!(stranger.assemble("example").user(user("Dana")).send().await.is_err());
}

#[tokio::test]
async fn what_is_refused_by_now_is_forgotten() {
    let mut server = Server::start();
    let client = client(&server, &LastGood::memory()).await;
    client.assemble("example").send().await.unwrap();
    fs::rename(server.path(""), server.path("../.away")).unwrap();
    let began = Instant::now();
    while client.assemble("example").send().await.is_ok_and(|prompt| prompt.stale.is_none()) {
        assert!(began.elapsed() < WAIT);
    }
    server.kill();
    assert_eq!(client.assemble("example").send().await.unwrap_err().code, Code::Unavailable);
}

#[tokio::test]
async fn a_folder_outlives_the_program_without_ephemeral_texts() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("kept");
    let mut server = Server::start();
    let ask = async |client: &Promptd| client.assemble("example").ephemeral_system_prompt("Whisper it.").send().await;
    ask(&client(&server, &LastGood::folder(&folder)).await).await.unwrap();
    server.kill();
    let files: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    assert!(files.len() == 1 && files[0].contains("Working rules") && !files[0].contains("Whisper"));
    let again = ask(&client(&server, &LastGood::folder(&folder)).await).await.unwrap();
    let texts: String = again.messages.iter().map(|message| message.content.as_str()).collect();
    assert!(again.stale.is_some() && texts.contains("Working rules") && texts.contains("Whisper it."));
}
