//! Stored conversations under faults: the server is killed while many write, and what was acknowledged must be there; every
//! acknowledgement waits for the disk; and each message has one vector in the end. `PROMPTD_KILLS` sets how often it is killed; `just memory` is the long form.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod model;
mod served;
mod trees;

use std::{
    env, fs,
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use promptd::grpc::api::session_service_client::SessionServiceClient;
use promptd_contract::proto;
use tonic::transport::{Channel, Endpoint};

use served::Served;

/// How many write at once.
const WRITERS: u64 = 8;
/// How often the server is killed, unless the environment says.
const KILLS: u64 = 5;

async fn client(served: &Served) -> SessionServiceClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{}", served.addr)).unwrap();
    SessionServiceClient::new(endpoint.connect().await.unwrap())
}

fn request(session: u64, ids: std::ops::Range<u64>) -> proto::AppendMessagesRequest {
    let message = |id: u64| proto::ConversationMessage {
        id: format!("m{id}"),
        role: proto::Role::User.into(),
        content: format!("text of {id} {}", "word ".repeat(usize::try_from(id % 50).unwrap())),
        ..Default::default()
    };
    proto::AppendMessagesRequest {
        workspace_id: "harbor".into(),
        session_id: format!("s{session}"),
        messages: ids.map(message).collect(),
        expected_position: None,
    }
}

/// Appends to a session until the server is gone; `next` is the first message that is not acknowledged.
async fn write(mut client: SessionServiceClient<Channel>, session: u64, next: Arc<AtomicU64>) {
    for size in (1..=4).cycle() {
        let first = next.load(Ordering::SeqCst);
        match client.append_messages(request(session, first..first + size)).await {
            Ok(_) => next.store(first + size, Ordering::SeqCst),
            Err(_) => return,
        }
    }
}

async fn stored(client: &mut SessionServiceClient<Channel>, session: u64) -> Vec<proto::StoredMessage> {
    let (mut all, mut from_position) = (Vec::new(), Some(0));
    while let Some(from) = from_position {
        let request = proto::ListMessagesRequest {
            workspace_id: "harbor".into(),
            session_id: format!("s{session}"),
            from_position: from,
            page_size: 1_000,
            ..Default::default()
        };
        let page = client.list_messages(request).await.unwrap().into_inner();
        all.extend(page.messages);
        from_position = page.next_position;
    }
    all
}

/// A number between 0 and a bound, of a sequence that `seed` begins.
fn next_random(seed: &mut u64, bound: u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed % bound
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_message_is_lost_or_doubled_by_a_kill() {
    let kills = env::var("PROMPTD_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let home = tempfile::tempdir().unwrap();
    let acknowledged: Vec<_> = (0..WRITERS).map(|_| Arc::new(AtomicU64::new(0))).collect();
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    for kill in 0..kills {
        let served = Served::start(home.path(), &[]);
        let client = client(&served).await;
        let writing: Vec<_> = (0..WRITERS)
            .zip(&acknowledged)
            .map(|(session, next)| tokio::spawn(write(client.clone(), session, Arc::clone(next))))
            .collect();
        tokio::time::sleep(Duration::from_millis(20 + next_random(&mut seed, 400))).await;
        served.kill();
        for writer in writing {
            writer.await.unwrap();
        }
        let checked = check(home.path());
        assert!(checked.0, "after kill {kill}: {}", checked.1);
    }
    let served = Served::start(home.path(), &[]);
    let mut client = client(&served).await;
    let mut count = 0;
    for (session, next) in (0..WRITERS).zip(&acknowledged) {
        let all = stored(&mut client, session).await;
        let acknowledged = next.load(Ordering::SeqCst);
        // What was sent last may be stored though its answer was lost.
        assert!((acknowledged..=acknowledged + 4).contains(&(all.len() as u64)), "{acknowledged} {}", all.len());
        for (at, stored) in (0..).zip(&all) {
            assert_eq!((stored.position, stored.index), (at, at));
            assert_eq!(stored.message.as_ref().unwrap(), &request(session, at..at + 1).messages[0]);
        }
        count += all.len();
    }
    println!("{kills} kills, {count} messages");
    let vectors = vectorised(&mut client).await;
    assert_eq!(vectors, count as u64);
    let checked = check(home.path());
    assert!(checked.0, "{}", checked.1);
    assert!(count as u64 > kills * WRITERS, "too few to say anything: {count}");
}

/// How many messages have their vector, once none waits any more.
async fn vectorised(client: &mut SessionServiceClient<Channel>) -> u64 {
    loop {
        let request = proto::GetRecallStatsRequest { workspace_id: "harbor".into() };
        let stats = client.get_recall_stats(request).await.unwrap().into_inner();
        if stats.vectors_waiting == 0 {
            return stats.vectors;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Whether `promptd memory check` finds no fault, and what it prints.
fn check(home: &Path) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_promptd"));
    let output = command.args(["memory", "check", "--dir", "memory"]).current_dir(home).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.success(), text)
}

#[tokio::test]
async fn an_append_is_acknowledged_after_the_disk_has_it() {
    const APPENDS: u64 = 50;
    if Command::new("strace").arg("-V").output().is_err() {
        println!("strace is not installed: what is synced is not counted");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let trace = home.path().join("trace");
    let served = Served::start(home.path(), &["strace", "-f", "-y", "-e", "trace=fsync,fdatasync", "-o", "trace"]);
    let mut client = client(&served).await;
    // The first makes the session, and its files.
    client.append_messages(request(0, 0..1)).await.unwrap();
    let syncs = || {
        let trace = fs::read_to_string(&trace).unwrap();
        trace.lines().filter(|line| line.contains("conversations.db-wal")).count() as u64
    };
    let before = syncs();
    for id in 1..=APPENDS {
        client.append_messages(request(0, id..id + 1)).await.unwrap();
    }
    let after = syncs();
    assert!(after - before >= APPENDS, "{} syncs for {APPENDS} appends", after - before);
    // Many at once share them.
    let many: Vec<_> = (1..=64)
        .map(|session| {
            let mut client = client.clone();
            tokio::spawn(async move {
                for id in 0..10 {
                    client.append_messages(request(session, id..id + 1)).await.unwrap();
                }
            })
        })
        .collect();
    for writer in many {
        writer.await.unwrap();
    }
    let shared = syncs() - after;
    assert!(shared < 640 / 2, "{shared} syncs for 640 appends of 64 writers");
    served.kill();
}
