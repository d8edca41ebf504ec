//! Plain HTTP requests, over either version.

use std::{io, net::SocketAddr};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client, ResponseFuture},
    rt::{TokioExecutor, TokioIo},
};
use serde_json::Value;
use tokio::net::TcpStream;
use tonic::codegen::http::{HeaderMap, Request, StatusCode, Uri, Version};
use tower::util::BoxCloneSyncService;

use crate::rig::PATIENCE;

/// A caller of one server.
pub struct Caller {
    client: Client<Connector, Full<Bytes>>,
    version: Version,
    /// What it calls the server by.
    pub host: String,
}

/// Leads to the server, whatever it is called by.
type Connector = BoxCloneSyncService<Uri, TokioIo<TcpStream>, io::Error>;

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Caller {
    /// One of each version.
    pub fn both(addr: SocketAddr) -> [Self; 2] {
        [Version::HTTP_11, Version::HTTP_2].map(|version| Self::new(addr, version))
    }

    pub fn new(addr: SocketAddr, version: Version) -> Self {
        let connect = move |_| async move { TcpStream::connect(addr).await.map(TokioIo::new) };
        let connector = Connector::new(tower::service_fn(connect));
        let client = Client::builder(TokioExecutor::new()).http2_only(version == Version::HTTP_2).build(connector);
        Self { client, version, host: addr.to_string() }
    }

    /// Sends a request with these headers, each `name: value`.
    pub fn begin(&self, verb: &str, path: &str, headers: &[&str], body: impl Into<Bytes>) -> ResponseFuture {
        let mut request =
            Request::builder().method(verb).uri(format!("http://{}{path}", self.host)).version(self.version);
        for header in headers {
            let (name, value) = header.split_once(": ").unwrap();
            request = request.header(name, value);
        }
        self.client.request(request.body(Full::from(body.into())).unwrap())
    }

    pub async fn send(&self, verb: &str, path: &str, headers: &[&str], body: impl Into<Bytes>) -> Answer {
        let answer = async {
            let (head, body) = self.begin(verb, path, headers, body).await.unwrap().into_parts();
            Answer { status: head.status, headers: head.headers, body: body.collect().await.unwrap().to_bytes() }
        };
        tokio::time::timeout(PATIENCE, answer).await.unwrap()
    }

    /// A call with JSON.
    pub async fn json(&self, path: &str, body: &str) -> Answer {
        self.send("POST", path, &["content-type: application/json"], body.to_owned()).await
    }
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// That it is an error with this HTTP status, code and reason; the error for more.
    #[track_caller]
    pub fn refused(&self, status: u16, code: &str, reason: &str) -> Value {
        let error = self.json();
        assert_eq!((self.status.as_u16(), error["code"].as_str()), (status, Some(code)), "{error}");
        assert_eq!(
            *detail(&error, "ErrorInfo"),
            serde_json::json!({ "reason": reason, "domain": "promptd" }),
            "{error}"
        );
        assert_eq!(self.header("content-type"), "application/json");
        assert!(self.headers.keys().all(|name| !name.as_str().starts_with("grpc-")), "{self:?}");
        error
    }
}

/// An error's only detail of this type.
#[track_caller]
pub fn detail<'e>(error: &'e Value, name: &str) -> &'e Value {
    let all = error["details"].as_array().unwrap_or_else(|| panic!("no details: {error}"));
    let mut found = all.iter().filter(|detail| detail["type"] == format!("google.rpc.{name}"));
    let (Some(detail), None) = (found.next(), found.next()) else { panic!("not one {name}: {error}") };
    &detail["debug"]
}
