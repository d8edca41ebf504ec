//! Peers that do not read what they are sent, or read it late.

use std::{net::SocketAddr, time::Duration};

use promptd::grpc::{Ended, api::workspace_service_client::WorkspaceServiceClient};
use promptd_contract::proto;
use tokio::{
    io::{AsyncWriteExt as _, copy},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::watch,
};
use tonic::{Code, transport::Endpoint};

use crate::rig::{PATIENCE, Rig, Setup, harbor, refused};

/// HTTP/2's connection preface and empty settings.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const PING: &[u8] = b"\0\0\x08\x06\0\0\0\0\x0012345678";

#[tokio::test]
async fn a_peer_that_reads_nothing_is_disconnected() {
    let mut setup = Setup::default();
    setup.options.keepalive_interval = Duration::from_secs(1);
    setup.options.keepalive_timeout = Duration::from_secs(1);
    let rig = Rig::start_with(setup).await;
    let mut deaf = narrow(rig.addr).await;
    deaf.write_all(PREFACE).await.unwrap();
    // Each asks for an answer. Once those fill all there is between the two, the server reads no more.
    let pings = PING.repeat(1_000);
    let disconnected = async { while deaf.write_all(&pings).await.is_ok() {} };
    tokio::time::timeout(PATIENCE, disconnected).await.expect("the server must close the connection");
}

#[tokio::test]
async fn a_slow_reader_receives_all_answers_even_while_the_server_stops() {
    let rig = Rig::start().await;
    // Ten times what fits between the two.
    let large = "All of it. ".repeat(50_000);
    rig.publish("harbor", harbor().file("skills/git/large.md", large.as_str()));
    let file = proto::ReadSkillRequest {
        workspace_id: "harbor".into(),
        name: "git".into(),
        file: "large.md".into(),
        ..Default::default()
    };
    let gate = watch::Sender::new(false);
    let way = Endpoint::from_shared(format!("http://{}", gated(rig.addr, gate.subscribe()).await)).unwrap();
    let way = way.initial_stream_window_size(1 << 20).initial_connection_window_size(1 << 30).connect().await.unwrap();
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let (mut client, file) = (WorkspaceServiceClient::new(way.clone()), file.clone());
            tokio::spawn(async move { client.read_skill(file).await })
        })
        .collect();
    rig.seen.have_ended(10).await;
    rig.lifecycle.drain();
    gate.send_replace(true);
    let mut delivered = 0;
    for call in calls {
        match call.await.unwrap() {
            Ok(answer) => {
                assert!(answer.into_inner().content == large.as_bytes());
                delivered += 1;
            }
            late => drop(refused(late, Code::Unavailable, "DRAINING")),
        }
    }
    assert!(delivered >= 10);
    assert_eq!(delivered, rig.seen.calls().iter().filter(|(_, code)| *code == "OK").count());
    assert_eq!(rig.ended().await, Ended::Drained);
}

/// A connection with little room for what the server sends.
async fn narrow(to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    socket.connect(to).await.unwrap()
}

/// A way to the server for one connection, on which nothing comes back before the gate is open.
async fn gated(to: SocketAddr, mut gate: watch::Receiver<bool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut server = narrow(to).await;
        let ((mut from_client, mut to_client), (mut from_server, mut to_server)) = (client.split(), server.split());
        let back = async {
            gate.wait_for(|open| *open).await.unwrap();
            copy(&mut from_server, &mut to_client).await
        };
        let forth = async {
            // What the server has sent still arrives after it stopped reading.
            let _ = copy(&mut from_client, &mut to_server).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            _ = back => {}
            () = forth => {}
        }
    });
    address
}
