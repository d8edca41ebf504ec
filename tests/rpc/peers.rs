//! Peers that do not take what they are sent.

use std::time::Duration;

use tokio::{io::AsyncWriteExt as _, net::TcpSocket};

use crate::rig::{PATIENCE, Rig, Setup};

/// HTTP/2's greeting and empty settings.
const GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const PING: &[u8] = b"\0\0\x08\x06\0\0\0\0\x0012345678";

#[tokio::test]
async fn a_peer_that_takes_nothing_is_given_up() {
    let mut setup = Setup::default();
    setup.options.keepalive_interval = Duration::from_secs(1);
    setup.options.keepalive_timeout = Duration::from_secs(1);
    let rig = Rig::start_with(setup).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let mut deaf = socket.connect(rig.addr).await.unwrap();
    deaf.write_all(GREETING).await.unwrap();
    // Each asks for an answer. Once those fill all there is between the two, the server reads no more.
    let pings = PING.repeat(1_000);
    let given_up = async { while deaf.write_all(&pings).await.is_ok() {} };
    tokio::time::timeout(PATIENCE, given_up).await.expect("the server must close the connection");
}
