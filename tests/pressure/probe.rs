//! Calls that others make meanwhile, one after the other, and how long each took.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use bytes::Bytes;
use promptd_contract::proto::AssemblePromptRequest;
use prost::Message as _;

use super::client::{ASSEMBLE, Client, frame, framed};

/// How long to wait from one call to the next.
const PAUSE: Duration = Duration::from_millis(2);
/// Health checks before any pressure is put on: the connection is there, and the code is loaded.
const WARM_UP: usize = 20;

/// A caller with a thread and a connection of its own, so that what this process does delays it as little as can be.
pub struct Probe {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Duration>>,
}

/// How long calls took.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    pub calls: usize,
    pub p50: Duration,
    pub p99: Duration,
    pub max: Duration,
}

impl Probe {
    /// Checks health.
    pub fn health(addr: SocketAddr) -> Self {
        Self::start(addr, "grpc.health.v1.Health/Check", frame(&[]))
    }

    /// Assembles a small prompt.
    pub fn plain(addr: SocketAddr) -> Self {
        let request = AssemblePromptRequest { workspace_id: "harbor".into(), ..Default::default() };
        assert!(request.encoded_len() < 100);
        Self::start(addr, ASSEMBLE, framed(&request))
    }

    fn start(addr: SocketAddr, path: &'static str, body: Bytes) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let client = Client::connect(addr, 1 << 20).await;
                for _ in 0..WARM_UP {
                    client.send(path, "application/grpc", body.clone()).await;
                }
                ready.send(()).unwrap();
                let mut took = Vec::new();
                while took.is_empty() || !stopped.load(Ordering::Relaxed) {
                    let began = Instant::now();
                    assert!(client.send(path, "application/grpc", body.clone()).await > 0, "{path} is answered");
                    took.push(began.elapsed());
                    tokio::time::sleep(PAUSE).await;
                }
                took
            })
        });
        is_ready.recv().unwrap();
        Self { stop, thread }
    }

    pub fn stop(self) -> Took {
        self.stop.store(true, Ordering::Relaxed);
        let mut took = self.thread.join().unwrap();
        took.sort_unstable();
        let at = |part: usize| took[(took.len() * part / 100).min(took.len() - 1)];
        Took { calls: took.len(), p50: at(50), p99: at(99), max: at(100) }
    }
}
