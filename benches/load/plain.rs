//! A client of HTTP/2 and nothing more: how much a server spends on a call depends on how its client reads. This one lets a
//! server send a whole answer at once.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use h2::client::{Builder, SendRequest};
use promptd_contract::proto::AssemblePromptRequest;
use prost::Message as _;
use tokio::net::TcpStream;
use tonic::codegen::http::Request;

const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// A connection.
#[derive(Clone)]
pub struct Plain {
    requests: SendRequest<Bytes>,
    address: String,
}

impl Plain {
    pub async fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut builder = Builder::new();
        builder.initial_window_size(STREAM_WINDOW).initial_connection_window_size(CONNECTION_WINDOW);
        let (requests, connection) = builder.handshake(stream).await.unwrap();
        tokio::spawn(async { connection.await.unwrap() });
        Self { requests, address: format!("http://{address}/promptd.v1.PromptService/AssemblePrompt") }
    }

    pub async fn call(&mut self, message: Bytes) {
        let request = Request::post(&self.address).header("content-type", "application/grpc").header("te", "trailers");
        let mut requests = self.requests.clone().ready().await.unwrap();
        let (answer, mut body) = requests.send_request(request.body(()).unwrap(), false).unwrap();
        body.send_data(message, true).unwrap();
        let mut answer = answer.await.unwrap().into_body();
        let mut bytes = BytesMut::new();
        while let Some(data) = answer.data().await {
            let data = data.unwrap();
            answer.flow_control().release_capacity(data.len()).unwrap();
            bytes.put(data);
        }
        let trailers = answer.trailers().await.unwrap().unwrap();
        assert_eq!(trailers["grpc-status"], "0");
        assert!(bytes.get_u8() == 0 && bytes.get_u32() as usize == bytes.len());
    }
}

/// A request, as it is sent.
pub fn framed(request: &AssemblePromptRequest) -> Bytes {
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(u32::try_from(request.encoded_len()).unwrap());
    request.encode(&mut framed).unwrap();
    framed.freeze()
}
