//! `promptd memory`, and what a service with a store keeps and prints.

use std::{fs, path::Path};

use promptd::grpc::api::session_service_client::SessionServiceClient;
use promptd_contract::proto;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::support::{Service, folder, run, write};

const LINES: &str =
    "{\"role\":\"user\",\"content\":\"Is it open?\"}\n{\"role\":\"assistant\",\"content\":\"It is.\"}\n";

fn site() -> TempDir {
    folder(&[
        ("promptd.yaml", "listen: 127.0.0.1:0\nworkspaces: {root: all}\nmemory: {store: data/memory}\n"),
        ("all/harbor/AGENTS.md", "Answer in one sentence.\n"),
        ("chat.jsonl", LINES),
    ])
}

fn memory(home: &Path, arguments: &[&str]) -> (i32, String) {
    let ran = run(home, &[&["memory"], arguments, &["--config", "promptd.yaml"]].concat());
    (ran.code, format!("{}{}", ran.out, ran.err))
}

fn import(home: &Path, file: &str) -> (i32, String) {
    memory(home, &["import", file, "--workspace", "harbor"])
}

#[test]
fn a_file_is_imported_once_and_can_be_resumed() {
    let home = site();
    let home = home.path();
    assert_eq!(import(home, "chat.jsonl"), (0, "stored 2 messages in `harbor/chat`\n".into()));
    let again = "stored 0 messages in `harbor/chat`, 2 had been before\n".to_owned();
    assert_eq!(import(home, "chat.jsonl"), (0, again));
    write(&home.join("chat.jsonl"), &format!("{LINES}{}", "{\"role\":\"user\",\"content\":\"Thanks.\"}\n"));
    assert_eq!(import(home, "chat.jsonl").1, "stored 1 message in `harbor/chat`, 2 had been before\n");
    assert_eq!(memory(home, &["check"]), (0, "1 session, 3 messages\n".into()));
    write(&home.join("chat.jsonl"), "{\"role\":\"user\",\"content\":\"Other.\"}\n");
    let (code, text) = import(home, "chat.jsonl");
    assert!(
        code == 1
            && text.contains(
                "session `chat` has another message with the id `line-1`: import the file to another session"
            ),
        "{text}"
    );
    write(&home.join("bad.jsonl"), &format!("{LINES}{{\"role\":\"robot\"}}\n"));
    let (code, text) = import(home, "bad.jsonl");
    assert!(code == 1 && text.starts_with("error: bad.jsonl:3: `role` must be one of"), "{text}");
    let (code, text) = import(home, "none.jsonl");
    assert!(code == 2 && text.starts_with("error: cannot import none.jsonl: "), "{text}");
}

#[test]
fn a_backup_is_made_while_the_service_runs_and_put_back_when_it_does_not() {
    let home = site();
    let home = home.path();
    import(home, "chat.jsonl");
    let service = Service::start(home, &["serve", "--config", "promptd.yaml"]);
    assert_eq!(memory(home, &["backup", "copy.db"]), (0, "copied to copy.db\n".into()));
    assert_eq!(memory(home, &["check"]).0, 0);
    for command in [&["vacuum"][..], &["restore", "copy.db", "--replace"]] {
        let (code, text) = memory(home, command);
        assert!(code == 2 && text.contains("another process uses the folder"), "{text}");
    }
    service.stop();
    let (code, text) = memory(home, &["restore", "copy.db"]);
    assert!(code == 2 && text.contains("give --replace"), "{text}");
    let restored = memory(home, &["restore", "copy.db", "--replace"]);
    assert_eq!(restored, (0, "restored 1 session, 2 messages\n".into()));
    assert!(memory(home, &["vacuum"]).1.contains(" bytes became "));
    let (code, text) = memory(home, &["check", "--dir", "nowhere"]);
    assert!(code == 2 && text.contains("there is no store in nowhere"), "{text}");
    fs::write(home.join("data/memory/conversations.db"), "not a database, but a text of some length").unwrap();
    let (code, text) = memory(home, &["check"]);
    assert!(code == 1 && text.contains("the store is damaged"), "{text}");
}

#[test]
fn a_store_that_cannot_be_used_is_logged_and_the_rest_is_served() {
    let home = site();
    write(&home.path().join("data/memory/conversations.db"), "not a database, but a text of some length");
    let service = Service::start(home.path(), &["serve", "--config", "promptd.yaml"]);
    let prompt = super::serve::assemble(
        &service.address(),
        proto::AssemblePromptRequest { workspace_id: "harbor".into(), ..Default::default() },
    );
    prompt.unwrap();
    let log = service.stop();
    assert!(log.contains("conversations cannot be stored until the next start: the store is damaged"), "{log}");
}

#[cfg(feature = "record")]
#[test]
fn records_have_the_conversation_of_a_session() {
    let home = site();
    let config = fs::read_to_string(home.path().join("promptd.yaml")).unwrap();
    write(&home.path().join("promptd.yaml"), &format!("{config}record: {{dir: records}}\n"));
    import(home.path(), "chat.jsonl");
    let service = Service::start(home.path(), &["serve", "--config", "promptd.yaml"]);
    let turn = proto::Turn { session_id: "chat".into(), ..Default::default() };
    let request = proto::AssemblePromptRequest {
        workspace_id: "harbor".into(),
        turn: Some(turn),
        profile: "kern".into(),
        ..Default::default()
    };
    let answer = super::serve::assemble(&service.address(), request).unwrap();
    assert!(answer.messages.iter().any(|message| message.content == "Is it open?"));
    service.stop();
    fs::remove_dir_all(home.path().join("data")).unwrap();
    let replayed = run(home.path(), &["replay", "records"]);
    assert_eq!(replayed.out, "1 request: 1 the same, 0 differ, 0 could not be replayed\n", "{replayed:?}");
}

#[test]
fn no_content_is_in_the_log() {
    let home = site();
    let arguments = ["serve", "--config", "promptd.yaml", "--log", "debug"];
    let service = Service::start(home.path(), &arguments);
    Runtime::new().unwrap().block_on(async {
        let mut client = SessionServiceClient::connect(format!("http://{}", service.address())).await.unwrap();
        let message = |id: &str, content: &str| proto::ConversationMessage {
            id: id.into(),
            role: proto::Role::User.into(),
            content: content.into(),
            ..Default::default()
        };
        let append = |messages| proto::AppendMessagesRequest {
            workspace_id: "harbor".into(),
            session_id: "s".into(),
            messages,
            expected_position: None,
        };
        client.append_messages(append(vec![message("m", "secretseal")])).await.unwrap();
        client.append_messages(append(vec![message("m", "otherseal")])).await.unwrap_err();
        let recall = |query: &str| proto::RecallRequest {
            workspace_id: "harbor".into(),
            query: query.into(),
            ..Default::default()
        };
        client.recall(recall("secretseal")).await.unwrap();
        client.recall(recall(&"secretseal ".repeat(500))).await.unwrap_err();
    });
    let log = service.stop();
    assert!(log.contains("promptd.v1.SessionService/AppendMessages"), "{log}");
    assert!(!log.contains("seal"), "{log}");
}
