//! The end: the address is closed with the server's, and open pages are told.

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
