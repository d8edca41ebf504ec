//! One replica and two, called in turn by the same client, and one of two that is told to stop.

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use promptd::grpc::api::prompt_service_client::PromptServiceClient;
use promptd_contract::proto::AssemblePromptRequest;
use serde::{Deserialize, Serialize};
use tonic::{
    Code, Status,
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
/// As in the service config that docs/calling.md gives to clients: so many tries, the first pause, and how it grows.
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
    /// How one of them failed.
    failure: Option<String>,
    /// From SIGTERM until the process had ended.
    exit_ms: f64,
    exit_code: Option<i32>,
    /// The longest call from SIGTERM on.
    slowest_ms: f64,
}

pub async fn measure(rounds: usize, bar: &ProgressBar) -> Figures {
    let folder = tempfile::tempdir().unwrap();
    site::typical(&folder.path().join("typical"));
    let mut servers = [Served::quiet(folder.path()), Served::quiet(folder.path())];
    let requests: Arc<[_]> = requests::rotating(&servers[0].address, Mode::Plain).await.into();
    bar.set_message("one replica and two");
    let clients = [RoundRobin::connect(&servers[..1]).await, RoundRobin::connect(&servers).await];
    let mut runs = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for (index, client) in clients.iter().enumerate() {
            let cpu = || servers.iter().map(Served::cpu).sum::<Duration>();
            let before = cpu();
            let run = client.run(&requests, 10_000).await;
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
        calls: run.latencies.len() + run.failures.len(),
        retried: run.retried,
        failed: run.failures.len(),
        failure: run.failures.first().map(|status| format!("{:?}: {}", status.code(), status.message())),
        exit_ms: exit.as_secs_f64() * 1e3,
        exit_code: status.code(),
        slowest_ms: run.quantile(1.0) / 1e3,
    }
}

/// A client that spreads its calls evenly, and tries elsewhere what a replica did not take.
#[derive(Clone)]
struct RoundRobin {
    backends: Arc<[Backend]>,
    next: Arc<AtomicUsize>,
    /// Calls answered in the run that goes on.
    answered: Arc<AtomicUsize>,
}

/// A connection, and whether it has failed: `round_robin` passes such a one over.
struct Backend {
    channel: Channel,
    is_down: AtomicBool,
}

struct Run {
    wall: Duration,
    /// Sorted.
    latencies: Vec<Duration>,
    retried: usize,
    failures: Vec<Status>,
}

impl RoundRobin {
    async fn connect(servers: &[Served]) -> Self {
        let mut backends = Vec::new();
        for _ in 0..CONNECTIONS {
            for server in servers {
                let endpoint = Endpoint::from_shared(format!("http://{}", server.address)).unwrap().tcp_nodelay(true);
                backends.push(Backend { channel: endpoint.connect().await.unwrap(), is_down: AtomicBool::new(false) });
            }
        }
        Self { backends: backends.into(), next: Arc::default(), answered: Arc::default() }
    }

    async fn run(&self, requests: &Arc<[AssemblePromptRequest]>, calls: usize) -> Run {
        self.answered.store(0, Relaxed);
        let began = Instant::now();
        let left = Arc::new(AtomicUsize::new(calls));
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                let (client, requests, left) = (self.clone(), Arc::clone(requests), Arc::clone(&left));
                tokio::spawn(async move {
                    let (mut latencies, mut retried, mut failures) = (Vec::new(), 0, Vec::new());
                    while let Ok(n) = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) {
                        let began = Instant::now();
                        match client.call(&requests[n % requests.len()]).await {
                            Ok(tries) => {
                                latencies.push(began.elapsed());
                                retried += usize::from(tries > 1);
                                client.answered.fetch_add(1, Relaxed);
                            }
                            Err(status) => failures.push(status),
                        }
                    }
                    (latencies, retried, failures)
                })
            })
            .collect();
        let mut run =
            Run { wall: Duration::ZERO, latencies: Vec::with_capacity(calls), retried: 0, failures: Vec::new() };
        for caller in callers {
            let (latencies, retried, failures) = caller.await.unwrap();
            run.latencies.extend(latencies);
            run.retried += retried;
            run.failures.extend(failures);
        }
        run.wall = began.elapsed();
        run.latencies.sort_unstable();
        run
    }

    /// How many tries the call took; the error case is that none of them was answered.
    async fn call(&self, request: &AssemblePromptRequest) -> Result<u32, Status> {
        let mut pause = BACKOFF;
        for tries in 1.. {
            let backend = self.pick();
            match PromptServiceClient::new(backend.channel.clone()).assemble_prompt(request.clone()).await {
                Ok(_) => return Ok(tries),
                Err(status) if was_not_taken(&status) && tries < TRIES => backend.is_down.store(true, Relaxed),
                Err(status) => return Err(status),
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        unreachable!("the last try returns")
    }

    /// The next connection that has not failed; if all have, the next.
    fn pick(&self) -> &Backend {
        let (next, count) = (self.next.fetch_add(1, Relaxed), self.backends.len());
        let in_turn = || (next..next + count).map(|n| &self.backends[n % count]);
        in_turn().find(|backend| !backend.is_down.load(Relaxed)).unwrap_or(&self.backends[next % count])
    }
}

/// Whether the server has not begun the call. Other clients say UNAVAILABLE in each of these cases, or try again by
/// themselves; tonic's says CANCELLED where the connection went before the call was sent, and INTERNAL where it crossed
/// the GOAWAY on its way.
fn was_not_taken(status: &Status) -> bool {
    let source = std::error::Error::source(status);
    let mut causes = std::iter::successors(source, |error| error.source());
    matches!(status.code(), Code::Unavailable | Code::Cancelled)
        || status.code() == Code::Internal && causes.any(|error| error.to_string().contains(NO_ERROR))
}

/// What HTTP/2's NO_ERROR, the reason of a GOAWAY in good order, reads as.
const NO_ERROR: &str = "not a result of an error";

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
        let Drain { calls, failed, failure, exit_code, .. } = &self.drain;
        let mut faults = Vec::new();
        if *failed > 0 {
            let how = failure.as_deref().unwrap_or_default();
            faults.push(format!("{failed} of {calls} calls failed while one of two replicas stopped: {how}"));
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
