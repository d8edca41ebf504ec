//! One replica and two, called in turn by the same client, and one of two that is told to stop.

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use promptd::{grpc::api::prompt_service_client::PromptServiceClient, proto::AssemblePromptRequest};
use serde::{Deserialize, Serialize};
use tonic::{
    Code,
    transport::{Channel, Endpoint},
};

use crate::{
    middle,
    process::Served,
    requests::{self, Mode},
    site,
};

/// Callers at a time, over all replicas.
const CALLERS: usize = 32;
const CONNECTIONS: usize = 2;
/// As in the service config that the README gives to clients: so many tries, the first pause, and how it grows.
const TRIES: u32 = 4;
const BACKOFF: Duration = Duration::from_millis(100);

#[derive(Debug, Serialize, Deserialize)]
pub struct Figures {
    counts: Vec<Count>,
    drain: Drain,
}

/// Medians over the rounds, microseconds but for calls a second.
#[derive(Debug, Serialize, Deserialize)]
struct Count {
    replicas: usize,
    per_second: f64,
    /// Of all replicas together.
    cpu: f64,
    p50: f64,
    p99: f64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Drain {
    calls: usize,
    /// Calls that needed a second try.
    retried: usize,
    /// Calls that failed for good.
    failed: usize,
    /// From SIGTERM until the process had ended.
    exit_ms: f64,
    exit_code: Option<i32>,
    /// The longest call from SIGTERM on.
    slowest_ms: f64,
}

pub async fn measure(rounds: usize, bar: &ProgressBar) -> Figures {
    let folder = tempfile::tempdir().unwrap();
    site::typical(&folder.path().join("typical"));
    let mut servers = [Served::promptd(folder.path()), Served::promptd(folder.path())];
    let requests: Arc<[_]> = requests::rotating(&servers[0].address, Mode::Plain).await.into();
    bar.set_message("one replica and two");
    let clients = [RoundRobin::connect(&servers[..1]).await, RoundRobin::connect(&servers).await];
    let mut runs = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for (index, client) in clients.iter().enumerate() {
            let cpu = || servers.iter().map(Served::cpu).sum::<Duration>();
            let before = cpu();
            let run = client.run(&requests, 20_000).await;
            // The first round is to warm up.
            if round > 0 {
                runs[index].push((cpu().saturating_sub(before), run));
            }
        }
    }
    let counts = [1, 2].into_iter().zip(&runs).map(|(replicas, runs)| count(replicas, runs)).collect();
    bar.set_message("one of two stops");
    let drain = drain(&mut servers, &clients[1], &requests).await;
    Figures { counts, drain }
}

fn count(replicas: usize, runs: &[(Duration, Run)]) -> Count {
    let figure = |of: fn(&Run) -> f64| middle(runs.iter().map(|(_, run)| of(run)));
    Count {
        replicas,
        per_second: figure(|run| run.latencies.len() as f64 / run.wall.as_secs_f64()),
        cpu: middle(runs.iter().map(|(cpu, run)| cpu.as_secs_f64() * 1e6 / run.latencies.len() as f64)),
        p50: figure(|run| run.quantile(0.5)),
        p99: figure(|run| run.quantile(0.99)),
    }
}

async fn drain(servers: &mut [Served; 2], client: &RoundRobin, requests: &Arc<[AssemblePromptRequest]>) -> Drain {
    let running = {
        let (client, requests) = (client.clone(), Arc::clone(requests));
        tokio::spawn(async move { client.run(&requests, 40_000).await })
    };
    // Well under way, and far from done.
    while client.answered.load(Relaxed) < 5_000 {
        tokio::task::yield_now().await;
    }
    let leaving = &mut servers[1];
    let began = Instant::now();
    leaving.terminate();
    let status = leaving.ended().await;
    let exit = began.elapsed();
    let run = running.await.unwrap();
    Drain {
        calls: run.latencies.len() + run.failed,
        retried: run.retried,
        failed: run.failed,
        exit_ms: exit.as_secs_f64() * 1e3,
        exit_code: status.code(),
        slowest_ms: run.quantile(1.0) / 1e3,
    }
}

/// A client that spreads its calls evenly, and tries elsewhere what a replica did not take.
#[derive(Clone)]
struct RoundRobin {
    channels: Arc<[Channel]>,
    next: Arc<AtomicUsize>,
    /// Calls answered in the run that goes on.
    answered: Arc<AtomicUsize>,
}

struct Run {
    wall: Duration,
    /// Sorted.
    latencies: Vec<Duration>,
    retried: usize,
    failed: usize,
}

impl RoundRobin {
    async fn connect(servers: &[Served]) -> Self {
        let mut channels = Vec::new();
        for _ in 0..CONNECTIONS {
            for server in servers {
                let endpoint = Endpoint::from_shared(format!("http://{}", server.address)).unwrap().tcp_nodelay(true);
                channels.push(endpoint.connect().await.unwrap());
            }
        }
        Self { channels: channels.into(), next: Arc::default(), answered: Arc::default() }
    }

    async fn run(&self, requests: &Arc<[AssemblePromptRequest]>, calls: usize) -> Run {
        self.answered.store(0, Relaxed);
        let began = Instant::now();
        let left = Arc::new(AtomicUsize::new(calls));
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                let (client, requests, left) = (self.clone(), Arc::clone(requests), Arc::clone(&left));
                tokio::spawn(async move {
                    let (mut latencies, mut retried, mut failed) = (Vec::new(), 0, 0);
                    while let Ok(n) = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) {
                        let began = Instant::now();
                        match client.call(&requests[n % requests.len()]).await {
                            Ok(tries) => {
                                latencies.push(began.elapsed());
                                retried += usize::from(tries > 1);
                                client.answered.fetch_add(1, Relaxed);
                            }
                            Err(()) => failed += 1,
                        }
                    }
                    (latencies, retried, failed)
                })
            })
            .collect();
        let mut run = Run { wall: Duration::ZERO, latencies: Vec::with_capacity(calls), retried: 0, failed: 0 };
        for caller in callers {
            let (latencies, retried, failed) = caller.await.unwrap();
            run.latencies.extend(latencies);
            run.retried += retried;
            run.failed += failed;
        }
        run.wall = began.elapsed();
        run.latencies.sort_unstable();
        run
    }

    /// How many tries the call took; the error case is that none of them was answered.
    async fn call(&self, request: &AssemblePromptRequest) -> Result<u32, ()> {
        let mut pause = BACKOFF;
        for tries in 1..=TRIES {
            let channel = self.channels[self.next.fetch_add(1, Relaxed) % self.channels.len()].clone();
            match PromptServiceClient::new(channel).assemble_prompt(request.clone()).await {
                Ok(_) => return Ok(tries),
                Err(status) if status.code() == Code::Unavailable => {}
                Err(_) => return Err(()),
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        Err(())
    }
}

impl Run {
    /// Microseconds.
    fn quantile(&self, q: f64) -> f64 {
        let at = (self.latencies.len() - 1) as f64 * q;
        self.latencies[at.round() as usize].as_secs_f64() * 1e6
    }
}

impl Figures {
    /// The gates: a replica that stops fails no call.
    pub fn faults(&self) -> Vec<String> {
        let Drain { calls, failed, exit_code, .. } = &self.drain;
        let mut faults = Vec::new();
        if *failed > 0 {
            faults.push(format!("{failed} of {calls} calls failed while one of two replicas stopped"));
        }
        if *exit_code != Some(0) {
            faults.push(format!("the replica that was told to stop ended with {exit_code:?}"));
        }
        faults
    }

    pub fn markdown(&self) -> String {
        let mut text = String::from("| replicas | calls/s | CPU µs/call | p50 µs | p99 µs |\n|--:|--:|--:|--:|--:|\n");
        for Count { replicas, per_second, cpu, p50, p99 } in &self.counts {
            let _ = writeln!(text, "| {replicas} | {per_second:.0} | {cpu:.1} | {p50:.0} | {p99:.0} |");
        }
        let Drain { calls, retried, failed, exit_ms, slowest_ms, .. } = &self.drain;
        let _ = write!(
            text,
            "\nOne of two is told to stop under this load: it had ended after {exit_ms:.0} ms; of {calls} calls {failed} \
             failed, {retried} were tried again, and the slowest took {slowest_ms:.0} ms.\n"
        );
        text
    }
}
