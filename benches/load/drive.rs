//! Driving a server: connections times streams, each calling as fast as it is answered.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::{
    client::legacy::{Client as HttpClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use promptd::grpc::api::prompt_service_client::PromptServiceClient;
use promptd_contract::{json, proto::AssemblePromptRequest};
use prost::Message as _;
use tonic::{
    codegen::http::{Request, Uri},
    transport::{Channel, Endpoint},
};

use crate::plain::{Plain, framed};

/// How many connections, and how many calls at a time on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub connections: usize,
    pub streams: usize,
}

impl Shape {
    pub const ALL: [Self; 3] = [
        Self { connections: 1, streams: 1 },
        Self { connections: 1, streams: 64 },
        Self { connections: 4, streams: 16 },
    ];

    pub fn workers(self) -> usize {
        self.connections * self.streams
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}", self.connections, self.streams)
    }
}

/// What a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Grpc,
    /// The same, by a client that has large windows and decodes nothing.
    GrpcPlain,
    /// Over HTTP/2.
    ConnectJson,
}

/// The connections to one server.
pub struct Client {
    connections: Vec<Connection>,
    streams: usize,
}

#[derive(Clone)]
enum Connection {
    Grpc(PromptServiceClient<Channel>),
    GrpcPlain(Plain),
    ConnectJson { http: Box<HttpClient<HttpConnector, Full<Bytes>>>, address: Uri },
}

/// A request, as a connection sends it.
#[derive(Clone)]
enum Sent {
    Message(Box<AssemblePromptRequest>),
    Framed(Bytes),
    Json(Bytes),
}

impl Connection {
    async fn open(address: &str, protocol: Protocol) -> Self {
        match protocol {
            Protocol::Grpc => {
                let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap().tcp_nodelay(true);
                Self::Grpc(PromptServiceClient::new(endpoint.connect().await.unwrap()))
            }
            Protocol::GrpcPlain => Self::GrpcPlain(Plain::open(address).await),
            Protocol::ConnectJson => {
                let mut connector = HttpConnector::new();
                connector.set_nodelay(true);
                let http = HttpClient::builder(TokioExecutor::new()).http2_only(true).build(connector);
                let address = format!("http://{address}/promptd.v1.PromptService/AssemblePrompt").parse().unwrap();
                Self::ConnectJson { http: http.into(), address }
            }
        }
    }

    fn sends(&self, request: &AssemblePromptRequest) -> Sent {
        match self {
            Self::Grpc(_) => Sent::Message(request.clone().into()),
            Self::GrpcPlain(_) => Sent::Framed(framed(request)),
            Self::ConnectJson { .. } => {
                let message = json::descriptors().get_message_by_name("promptd.v1.AssemblePromptRequest").unwrap();
                Sent::Json(json::write(&message, &request.encode_to_vec()).unwrap().into())
            }
        }
    }

    async fn call(&mut self, request: Sent) {
        match (self, request) {
            (Self::Grpc(client), Sent::Message(request)) => drop(client.assemble_prompt(*request).await.unwrap()),
            (Self::GrpcPlain(client), Sent::Framed(request)) => client.call(request).await,
            (Self::ConnectJson { http, address }, Sent::Json(request)) => {
                let post = Request::post(address.clone()).header("content-type", "application/json");
                let answer = http.request(post.body(Full::from(request)).unwrap()).await.unwrap();
                assert_eq!(answer.status(), 200);
                answer.into_body().collect().await.unwrap();
            }
            _ => unreachable!("a connection sends what it made"),
        }
    }
}

/// What one round measured.
#[derive(Debug, Clone)]
pub struct Run {
    pub calls: usize,
    pub wall: Duration,
    pub cpu: Duration,
    /// Sorted.
    pub latencies: Vec<Duration>,
}

impl Client {
    pub async fn connect(address: &str, protocol: Protocol, shape: Shape) -> Self {
        let mut connections = Vec::new();
        for _ in 0..shape.connections {
            connections.push(Connection::open(address, protocol).await);
        }
        Self { connections, streams: shape.streams }
    }

    /// Makes so many calls, the requests in turn.
    pub async fn run(&self, requests: &[AssemblePromptRequest], calls: usize) -> Run {
        let next = Arc::new(AtomicUsize::new(0));
        let requests: Arc<[Sent]> = requests.iter().map(|request| self.connections[0].sends(request)).collect();
        let began = Instant::now();
        let mut workers = Vec::new();
        for connection in &self.connections {
            for _ in 0..self.streams {
                let (next, requests) = (Arc::clone(&next), Arc::clone(&requests));
                let mut connection = connection.clone();
                workers.push(tokio::spawn(async move {
                    let mut latencies = Vec::new();
                    loop {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        if n >= calls {
                            return latencies;
                        }
                        let request = requests[n % requests.len()].clone();
                        let began = Instant::now();
                        connection.call(request).await;
                        latencies.push(began.elapsed());
                    }
                }));
            }
        }
        let mut latencies = Vec::with_capacity(calls);
        for worker in workers {
            latencies.extend(worker.await.unwrap());
        }
        let wall = began.elapsed();
        latencies.sort_unstable();
        Run { calls, wall, cpu: Duration::ZERO, latencies }
    }
}

/// The figure at a quantile from 0 to 1.
pub fn quantile(q: f64, mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[((figures.len() - 1) as f64 * q).round() as usize]
}

impl Run {
    pub fn with_cpu(self, cpu: Duration) -> Self {
        Self { cpu, ..self }
    }

    /// Microseconds of server processor time a call.
    pub fn cpu_per_call(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.calls as f64
    }

    pub fn per_second(&self) -> f64 {
        self.calls as f64 / self.wall.as_secs_f64()
    }

    /// Microseconds.
    pub fn quantile(&self, q: f64) -> f64 {
        let at = ((self.latencies.len() - 1) as f64 * q).round() as usize;
        self.latencies[at].as_secs_f64() * 1e6
    }
}
