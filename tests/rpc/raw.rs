//! HTTP/2 by hand, for clients that no library would be.

use bytes::Bytes;
use h2::{
    RecvStream, SendStream,
    client::{Builder, ResponseFuture, SendRequest},
};
use prost::Message;
use tokio::net::TcpStream;
use tonic::{Status, codegen::http::StatusCode};

use crate::rig::{PATIENCE, Rig};

/// A connection.
pub struct Raw {
    requests: SendRequest<Bytes>,
}

impl Raw {
    /// With so much room for the answers of each call.
    pub async fn connect(rig: &Rig, window: u32) -> Self {
        Self::with(rig, Builder::new().initial_window_size(window)).await
    }

    pub async fn with(rig: &Rig, builder: &Builder) -> Self {
        let stream = TcpStream::connect(rig.addr).await.unwrap();
        let (requests, connection) = builder.handshake(stream).await.unwrap();
        tokio::spawn(connection);
        Self { requests }
    }

    /// How many streams the server lets it have open, once it has said so.
    pub fn max_streams(&self) -> usize {
        self.requests.current_max_send_streams()
    }

    /// Starts a call: its headers, and nothing after them.
    pub async fn start(&self, method: &str, headers: &[(&str, &str)]) -> Call {
        let mut requests = self.requests.clone().ready().await.unwrap();
        let mut request = http::Request::post(format!("http://promptd/{method}")).header("te", "trailers");
        for (name, value) in [("content-type", "application/grpc")].iter().chain(headers) {
            request = request.header(*name, *value);
        }
        let (answer, body) = requests.send_request(request.body(()).unwrap(), false).unwrap();
        Call { answer, body }
    }

    /// Starts a call with its message.
    pub async fn call(&self, method: &str, message: &impl Message) -> Call {
        let mut call = self.start(method, &[]).await;
        call.send(frame(message), true);
        call
    }
}

pub struct Call {
    answer: ResponseFuture,
    body: SendStream<Bytes>,
}

impl Call {
    pub fn send(&mut self, bytes: Bytes, end: bool) {
        self.body.send_data(bytes, end).unwrap();
    }

    /// Waits for the headers of the answer.
    pub async fn begun(self) -> RecvStream {
        tokio::time::timeout(PATIENCE, self.answer).await.expect("an answer").unwrap().into_body()
    }

    /// Waits for an answer that has no message, and gives its status.
    pub async fn status(self) -> Status {
        let answer = tokio::time::timeout(PATIENCE, self.answer).await.expect("an answer").unwrap();
        Status::from_header_map(answer.headers()).expect("a status without a message")
    }

    /// Waits for the headers of an answer, and gives its status where it has no message.
    pub async fn status_if_refused(self) -> Option<Status> {
        let answer = tokio::time::timeout(PATIENCE, self.answer).await.expect("an answer").unwrap();
        Status::from_header_map(answer.headers())
    }

    /// Waits for an answer, and gives its status of HTTP.
    pub async fn http_status(self) -> StatusCode {
        tokio::time::timeout(PATIENCE, self.answer).await.expect("an answer").unwrap().status()
    }

    /// Whether it ends without an answer.
    pub async fn fails(self) -> bool {
        tokio::time::timeout(PATIENCE, self.answer).await.expect("an end").is_err()
    }
}

/// A message as it is sent.
pub fn frame(message: &impl Message) -> Bytes {
    let bytes = message.encode_to_vec();
    [&prefix(bytes.len())[..], &bytes].concat().into()
}

/// The bytes before a message of that length.
pub fn prefix(length: usize) -> [u8; 5] {
    let [a, b, c, d] = u32::try_from(length).unwrap().to_be_bytes();
    [0, a, b, c, d]
}
