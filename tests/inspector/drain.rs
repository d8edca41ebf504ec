//! The end: the address is closed with the server's, and open pages are told.

use std::time::Duration;

use http_body_util::BodyExt as _;
use promptd::grpc::Ended;
use tokio::net::TcpStream;

use crate::{ASSEMBLE, HARBOR, WATCH, address, browser, rig::PATIENCE, start_with};

#[tokio::test]
async fn a_drain_ends_watches_and_closes_the_address() {
    let rig = start_with(false, |setup| setup.options.drain_limit = PATIENCE).await;
    let address = address(&rig);
    let caller = browser(&rig);
    assert_eq!(caller.json(ASSEMBLE, HARBOR).await.status, 200);
    let message = format!("\0\0\0\0{}{HARBOR}", char::from(u8::try_from(HARBOR.len()).unwrap()));
    let headers = ["content-type: application/connect+json"];
    let mut watch = caller.begin("POST", WATCH, &headers, message).await.unwrap().into_body();
    let first = tokio::time::timeout(PATIENCE, watch.frame()).await.unwrap().unwrap().unwrap().into_data().unwrap();
    assert!(String::from_utf8_lossy(&first).contains("harbor"));
    rig.lifecycle.drain();
    let rest = tokio::time::timeout(PATIENCE, watch.collect()).await.unwrap().unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&rest).contains("DRAINING"), "{rest:?}");
    drop(caller);
    assert_eq!(rig.ended().await, Ended::Drained);
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn connections_to_both_addresses_count_together() {
    let rig = start_with(false, |setup| setup.options.max_connections = 2).await;
    let (one, two) = (browser(&rig), browser(&rig));
    assert_eq!(one.json(ASSEMBLE, HARBOR).await.status, 200);
    assert_eq!(two.json(ASSEMBLE, HARBOR).await.status, 200);
    // Both are of callers that were let in, so that no room is made.
    let refused = crate::http::Caller::new(rig.addr, tonic::codegen::http::Version::HTTP_11);
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
