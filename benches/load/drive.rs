//! Driving a server: connections times streams, each calling as fast as it is answered.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use promptd::grpc::api::prompt_service_client::PromptServiceClient;
use promptd_contract::proto::AssemblePromptRequest;
use tonic::transport::{Channel, Endpoint};

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

/// The connections to one server.
pub struct Client {
    channels: Vec<Channel>,
    streams: usize,
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
    pub async fn connect(address: &str, shape: Shape) -> Self {
        let mut channels = Vec::new();
        for _ in 0..shape.connections {
            let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap().tcp_nodelay(true);
            channels.push(endpoint.connect().await.unwrap());
        }
        Self { channels, streams: shape.streams }
    }

    /// Makes so many calls, the requests in turn.
    pub async fn run(&self, requests: &[AssemblePromptRequest], calls: usize) -> Run {
        let next = Arc::new(AtomicUsize::new(0));
        let requests: Arc<[AssemblePromptRequest]> = requests.into();
        let began = Instant::now();
        let mut workers = Vec::new();
        for channel in &self.channels {
            for _ in 0..self.streams {
                let mut client = PromptServiceClient::new(channel.clone());
                let (next, requests) = (Arc::clone(&next), Arc::clone(&requests));
                workers.push(tokio::spawn(async move {
                    let mut latencies = Vec::new();
                    loop {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        if n >= calls {
                            return latencies;
                        }
                        let request = requests[n % requests.len()].clone();
                        let began = Instant::now();
                        client.assemble_prompt(request).await.unwrap();
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
