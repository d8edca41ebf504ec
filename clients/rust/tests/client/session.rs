//! Sessions: what travels, and what is heard of edits.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use promptd_client::{Promptd, Role, User};
use tokio::{sync::mpsc, time::timeout};

use crate::{
    calls::{said, talk},
    server::{Server, WAIT},
};

#[tokio::test]
async fn only_what_changed_is_sent_and_the_prompt_is_whole() {
    let server = Server::start();
    let client = Promptd::connect(&server.address).await.unwrap();
    let user = User { name: "Dana".into(), ..User::default() };
    let mut session = client.session("example", |call| call.user(user).now(SystemTime::UNIX_EPOCH));
    let first = session.assemble(|turn| turn.ephemeral_system_prompt("One.")).await.unwrap();
    assert!(first.messages.iter().all(|message| !message.not_modified));
    let history = talk(vec![said(Role::User, "Hello.")]);
    let second =
        session.assemble(|turn| turn.ephemeral_system_prompt("Two.").conversation(history.clone())).await.unwrap();
    let alone = client.assemble("example").user(User { name: "Dana".into(), ..User::default() });
    let alone =
        alone.now(SystemTime::UNIX_EPOCH).ephemeral_system_prompt("Two.").conversation(history).send().await.unwrap();
    let texts = |prompt: &promptd_client::Prompt| {
        prompt.messages.iter().map(|one| (one.name.clone(), one.content.clone())).collect::<Vec<_>>()
    };
    assert_eq!(texts(&second), texts(&alone));
    let new: Vec<_> = second.messages.iter().filter(|message| !message.not_modified).map(|one| &*one.content).collect();
    assert!(
        new.len() < second.messages.len()
            && ["Hello.", "Two."].iter().all(|part| new.iter().any(|text| text.contains(part)))
    );
}

#[tokio::test]
async fn edits_are_told_also_after_the_server_was_away() {
    let mut server = Server::start();
    let client = Promptd::connect(&server.address).await.unwrap();
    let session = client.session("example", |call| call);
    let (tell, mut told) = mpsc::unbounded_channel();
    let followed = session.on_change(move |state| tell.send(state.unwrap()).unwrap());
    // The first state is not told: it is there once an edit is.
    let mut edits = 0;
    let mut edit = |server: &Server| {
        edits += 1;
        fs::write(server.path("SOUL.md"), format!("Edit {edits}.\n")).unwrap();
    };
    let heard = loop {
        edit(&server);
        if let Ok(heard) = timeout(Duration::from_millis(300), told.recv()).await {
            break heard.unwrap();
        }
    };
    assert_eq!(heard.changed_paths, ["SOUL.md"]);
    server.kill();
    server.again();
    let before = client.get_workspace("example").await.unwrap().revision;
    edit(&server);
    // Of the edits before, some may not have been taken yet.
    loop {
        let revision = timeout(WAIT, told.recv()).await.unwrap().unwrap().workspace.unwrap().revision;
        if revision != before && revision == client.get_workspace("example").await.unwrap().revision {
            break;
        }
    }
    drop(followed);
    while timeout(WAIT, told.recv()).await.unwrap().is_some() {}
}

#[tokio::test]
async fn a_watch_that_cannot_go_on_says_why_and_ends() {
    let server = Server::start();
    let client = Promptd::connect(&server.address).await.unwrap();
    let mut watch = client.watch("nonesuch");
    let error = timeout(WAIT, watch.next()).await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.reason, "WORKSPACE_NOT_FOUND");
    assert!(watch.next().await.is_none());
    let mut watch = client.watch("example");
    assert_eq!(watch.next().await.unwrap().unwrap().workspace.unwrap().id, "example");
    fs::remove_dir_all(server.path("")).unwrap();
    let gone = timeout(WAIT, async {
        loop {
            match watch.next().await {
                Some(state) if state.as_ref().unwrap().deleted => break true,
                Some(_) => {}
                None => break false,
            }
        }
    });
    assert!(gone.await.unwrap());
    assert!(watch.next().await.is_none());
}
