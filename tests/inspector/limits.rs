//! What callers can make the server hold, with both addresses.

use std::time::Duration;

use bytes::Bytes;
use h2::client::Builder;
use promptd::grpc::Options;
use tokio::net::TcpStream;
use tonic::codegen::http::{Request, Version};

use crate::{
    ALL, ASSEMBLE, HARBOR, JSON, address, browser,
    http::Caller,
    rig::{PATIENCE, Rig},
    start_with,
};

#[tokio::test]
async fn connections_to_both_addresses_count_together() {
    let rig = start_with(false, |setup| setup.options.max_connections = 2).await;
    let (one, two) = (browser(&rig), browser(&rig));
    assert_eq!(one.json(ASSEMBLE, HARBOR).await.status, 200);
    assert_eq!(two.json(ASSEMBLE, HARBOR).await.status, 200);
    // Both are of callers that were let in, so that no room is made.
    let refused = Caller::new(rig.addr, Version::HTTP_11);
    let answer = tokio::time::timeout(PATIENCE, refused.begin("GET", "/", &[], "")).await.unwrap();
    assert!(answer.is_err(), "{answer:?}");
    drop(one);
    let let_in = async {
        while refused.begin("GET", "/", &[], "").await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, let_in).await.unwrap();
}

#[tokio::test]
async fn strangers_at_both_addresses_leave_room_for_those_who_are_let_in() {
    let rig = start_with(false, |setup| setup.options.max_connections = 16).await;
    let mut strangers = Vec::new();
    for _ in 0..10 {
        for address in [rig.addr, address(&rig)] {
            strangers.push(TcpStream::connect(address).await.unwrap());
        }
    }
    let let_in = async {
        while browser(&rig).begin("POST", ASSEMBLE, &[JSON], HARBOR).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    // Sooner than they would be closed for their silence.
    tokio::time::timeout(Duration::from_secs(5), let_in).await.unwrap();
}

/// Asks for so many files, of which it takes nothing, until the server ends the connection or has answered them all.
async fn leave(rig: &Rig, files: usize) {
    let stream = TcpStream::connect(address(rig)).await.unwrap();
    let (requests, connection) = Builder::new().initial_window_size(0).handshake::<_, Bytes>(stream).await.unwrap();
    let connection = tokio::spawn(connection);
    let ask = async |requests: h2::client::SendRequest<Bytes>| {
        let mut requests = requests.ready().await?;
        let request = Request::get(format!("http://{}/js/main.js", address(rig))).body(()).unwrap();
        requests.send_request(request, true)?.0.await
    };
    let mut left = Vec::new();
    for _ in 0..files {
        match ask(requests.clone()).await {
            Ok(answer) => left.push(answer),
            Err(_) => break,
        }
    }
    tokio::spawn(async move {
        let _ = connection.await;
        drop(left);
    });
}

#[tokio::test]
async fn files_that_nobody_takes_leave_room_for_the_answers_of_calls() {
    let bytes = promptd_inspector::assets()["/js/main.js"].content.len();
    let unsent = 512 << 10;
    let rig = start_with(true, |setup| {
        setup.options = Options { max_unsent_bytes: unsent, ..setup.options.clone() };
    })
    .await;
    // Of strangers, more bytes than all answers together may have.
    for _ in 0..16 {
        leave(&rig, unsent / bytes / 8).await;
    }
    let answer = browser(&rig).send("POST", ASSEMBLE, &[JSON, ALL], HARBOR).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}
