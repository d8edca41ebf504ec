//! A server of models that answers as it is told.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// What it answers, by the body of the request: bytes of HTTP, or nothing ever.
pub type Answer = dyn Fn(&str) -> Option<String> + Send + Sync;

pub struct ModelServer {
    pub addr: SocketAddr,
    /// Heads and bodies of the requests.
    pub asked: Arc<Mutex<Vec<(String, String)>>>,
    serving: JoinHandle<()>,
}

impl ModelServer {
    pub async fn start(answer: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (asked, answer) = (Arc::<Mutex<Vec<_>>>::default(), Arc::new(answer) as Arc<Answer>);
        let log = Arc::clone(&asked);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&answer), Arc::clone(&log)));
            }
        });
        Self { addr, asked, serving }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(mut stream: TcpStream, answer: Arc<Answer>, log: Arc<Mutex<Vec<(String, String)>>>) {
    let (mut bytes, mut part) = (Vec::new(), [0; 16 << 10]);
    let (head, body) = loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lower = head.to_lowercase();
            let length = lower.split_once("content-length: ").unwrap().1;
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if body.len() >= length {
                break (head.to_owned(), body.to_owned());
            }
        }
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => return,
            Ok(count) => bytes.extend_from_slice(&part[..count]),
        }
    };
    let answered = answer(&body);
    log.lock().unwrap().push((head, body));
    match answered {
        Some(answer) => {
            let _ = stream.write_all(answer.as_bytes()).await;
        }
        // It hangs until the caller goes.
        None => while stream.read(&mut part).await.is_ok_and(|count| count > 0) {},
    }
}

/// An answer with this status, these header lines and this body.
pub fn http(status: u16, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
}

/// The answer of a model that says `text`.
pub fn said(text: &str) -> String {
    let body = serde_json::json!({"choices": [{"message": {"role": "assistant", "content": text}}]});
    http(200, "content-type: application/json\r\n", &body.to_string())
}
