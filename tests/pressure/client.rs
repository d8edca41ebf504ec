//! HTTP/2 by hand: requests that are made once and sent often, and clients that no library would be.

use std::{future::poll_fn, net::SocketAddr, time::Duration};

use bytes::Bytes;
use h2::{
    RecvStream, SendStream,
    client::{Builder, ResponseFuture, SendRequest},
};
use prost::Message;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::timeout,
};
use tonic::{Status, codegen::http};
use tonic_types::StatusExt as _;

pub const ASSEMBLE: &str = "promptd.v1.PromptService/AssemblePrompt";
pub const LIST: &str = "promptd.v1.WorkspaceService/ListWorkspaces";
/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// A connection.
pub struct Client(SendRequest<Bytes>);

/// A call whose request is not complete.
pub struct Open {
    pub answer: ResponseFuture,
    pub body: SendStream<Bytes>,
}

impl Client {
    /// With so much room for the answer of each call; 0: none is ever taken.
    pub async fn connect(addr: SocketAddr, window: u32) -> Self {
        let stream = TcpStream::connect(addr).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut builder = Builder::new();
        builder.initial_window_size(window).initial_connection_window_size(window.max(1 << 20));
        let (requests, connection) = builder.max_send_buffer_size(64 << 20).handshake(stream).await.unwrap();
        tokio::spawn(connection);
        Self(requests)
    }

    pub async fn begin(&self, path: &str, content_type: &str, headers: &[(&str, &str)]) -> Open {
        let mut requests = self.0.clone().ready().await.unwrap();
        let request = http::Request::post(format!("http://localhost/{path}")).header("te", "trailers");
        let mut request = request.header("content-type", content_type);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (answer, body) = requests.send_request(request.body(()).unwrap(), false).unwrap();
        Open { answer, body }
    }

    /// Makes a gRPC call, and waits for the headers of its answer: a status, or a body to come.
    pub async fn call(&self, path: &str, message: &[u8]) -> Result<RecvStream, Status> {
        let mut open = self.begin(path, "application/grpc", &[]).await;
        open.body.send_data(frame(message), true).unwrap();
        open.begun().await
    }

    /// Makes a call and takes the whole answer; its bytes.
    pub async fn send(&self, path: &str, content_type: &str, body: Bytes) -> usize {
        let mut open = self.begin(path, content_type, &[]).await;
        open.body.send_data(body, true).unwrap();
        let mut answer = timeout(PATIENCE, open.answer).await.expect("an answer").unwrap().into_body();
        let mut bytes = 0;
        while let Some(data) = timeout(PATIENCE, answer.data()).await.expect("all of the answer") {
            let data = data.unwrap();
            bytes += data.len();
            answer.flow_control().release_capacity(data.len()).unwrap();
        }
        bytes
    }
}

impl Open {
    /// Sends as much as the server takes, then the rest.
    pub async fn send_all(&mut self, mut bytes: Bytes) {
        while !bytes.is_empty() {
            self.body.reserve_capacity(bytes.len());
            let room = timeout(PATIENCE, poll_fn(|cx| self.body.poll_capacity(cx))).await.expect("room");
            let part = bytes.split_to(room.expect("an open stream").unwrap().min(bytes.len()));
            self.body.send_data(part, false).unwrap();
        }
    }

    pub async fn begun(self) -> Result<RecvStream, Status> {
        let answer = timeout(PATIENCE, self.answer).await.expect("an answer").unwrap();
        match Status::from_header_map(answer.headers()) {
            Some(status) => Err(status),
            None => Ok(answer.into_body()),
        }
    }
}

/// The reason of a status.
pub fn reason(status: &Status) -> String {
    status.get_details_error_info().map(|info| info.reason).unwrap_or_default()
}

/// A message as gRPC sends it.
pub fn frame(message: &[u8]) -> Bytes {
    [&prefix(message.len())[..], message].concat().into()
}

pub fn framed(message: &impl Message) -> Bytes {
    frame(&message.encode_to_vec())
}

/// The bytes before a message of that length.
pub fn prefix(length: usize) -> [u8; 5] {
    let [a, b, c, d] = u32::try_from(length).unwrap().to_be_bytes();
    [0, a, b, c, d]
}

/// A connection as bytes.
pub struct Wire(pub TcpStream);

impl Wire {
    /// With HTTP/2 begun.
    pub async fn connect(addr: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        // What the system holds for a client that reads nothing is not the server's.
        socket.set_recv_buffer_size(4 << 10).unwrap();
        let mut stream = socket.connect(addr).await.unwrap();
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
        Self(stream)
    }

    /// A whole call without fields.
    pub async fn call(&mut self, stream: u32, path: &str) -> std::io::Result<()> {
        self.head(stream, path, true, &[]).await?;
        self.frame(0, 1, stream, &[0; 5]).await
    }

    /// A request's headers, to their end or not; `more` are added as they are.
    pub async fn head(&mut self, stream: u32, path: &str, ends: bool, more: &[u8]) -> std::io::Result<()> {
        // `:method: POST` and `:scheme: http` of the static table; then literals, which are not indexed.
        let mut block = vec![0x83, 0x86];
        for (name, value) in [(&[0x04][..], path), (&[0x01], "localhost"), (&[0x0f, 0x10], "application/grpc")] {
            block.extend_from_slice(name);
            block.push(u8::try_from(value.len()).unwrap());
            block.extend_from_slice(value.as_bytes());
        }
        block.extend_from_slice(more);
        self.frame(1, if ends { 4 } else { 0 }, stream, &block).await
    }

    pub async fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> std::io::Result<()> {
        let [_, a, b, c] = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [&[a, b, c, kind, flags][..], &stream.to_be_bytes()].concat();
        self.0.write_all(&[&head, payload].concat()).await
    }

    /// Waits for the headers of an answer.
    pub async fn answered(&mut self) {
        let answered = async {
            loop {
                let mut head = [0; 9];
                self.0.read_exact(&mut head).await.unwrap();
                let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
                let mut payload = vec![0; usize::try_from(length).unwrap()];
                self.0.read_exact(&mut payload).await.unwrap();
                if head[3] == 1 {
                    return;
                }
            }
        };
        timeout(PATIENCE, answered).await.expect("an answer");
    }
}
