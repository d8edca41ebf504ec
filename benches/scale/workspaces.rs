//! A company's workspaces in one process: how long the start takes, what they weigh, and what they cost a call.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use promptd_contract::proto::AssemblePromptRequest;
use serde::{Deserialize, Serialize};

use crate::{
    drive::{Client, Protocol, Shape},
    many, middle,
    process::Served,
    requests::{self, Mode},
};

/// The longest that a start may take.
const START: Duration = Duration::from_secs(4);
/// Memory may be 1.3 times the bytes on disk, and so much more.
pub const MEMORY: u64 = 60_000_000;
/// p99 over all workspaces may be so many times that of one.
const P99: f64 = 1.2;

#[derive(Debug, Serialize, Deserialize)]
pub struct Figures {
    workspaces: usize,
    bytes: u64,
    start_seconds: f64,
    memory: u64,
    calls: Vec<Calls>,
}

/// Calls of one shape: medians over the rounds, microseconds; the ratio is the median of the rounds' own.
#[derive(Debug, Serialize, Deserialize)]
struct Calls {
    shape: String,
    one: Latency,
    many: Latency,
    p50_ratio: f64,
    p99_ratio: f64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Latency {
    p50: f64,
    p99: f64,
    cpu: f64,
}

/// Makes the workspaces, starts a server over them and one over a single one, and calls both in turn.
pub async fn measure(workspaces: usize, rounds: usize, bar: &ProgressBar) -> Figures {
    let folder = tempfile::tempdir().unwrap();
    let (all, single) = (folder.path().join("all"), folder.path().join("single"));
    bar.set_message("making workspaces");
    let bytes = (0..workspaces).map(|i| many::make(&all.join(id(i)), i)).sum();
    many::make(&single.join(id(0)), 0);

    bar.set_message("starting over all of them");
    let began = Instant::now();
    let many = Served::quiet(&all);
    let start = began.elapsed();
    let one = Served::quiet(&single);
    let scattered = over(&many.address, workspaces).await;
    let memory = many.resident();
    let alone = over(&one.address, 1).await;
    let mut calls = Vec::new();
    for shape in [Shape { connections: 1, streams: 1 }, Shape { connections: 4, streams: 16 }] {
        bar.set_message(format!("calling, {shape}"));
        calls.push(compare(shape, rounds, [(&one, &alone), (&many, &scattered)]).await);
    }
    Figures { workspaces, bytes, start_seconds: start.as_secs_f64(), memory, calls }
}

pub fn id(i: usize) -> String {
    format!("ws-{i:05}")
}

/// Requests that go to so many workspaces, each to another than the one before, in no order that helps a cache.
async fn over(address: &str, workspaces: usize) -> Vec<AssemblePromptRequest> {
    /// A prime, so that every workspace comes to its turn.
    const STRIDE: usize = 7_919;
    let requests = requests::rotating(address, Mode::Plain).await;
    let mut requests: Vec<_> = requests.into_iter().cycle().take(workspaces.max(1_000)).collect();
    for (n, request) in requests.iter_mut().enumerate() {
        request.workspace_id = id(n * STRIDE % workspaces);
    }
    requests
}

async fn compare(shape: Shape, rounds: usize, servers: [(&Served, &[AssemblePromptRequest]); 2]) -> Calls {
    let calls = if shape.workers() == 1 { 3_000 } else { 10_000 };
    let mut clients = Vec::new();
    for (server, requests) in servers {
        let client = Client::connect(&server.address, Protocol::Grpc, shape).await;
        client.run(requests, calls / 2).await;
        clients.push(client);
    }
    let mut runs = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        // Who goes first changes, so that a drift of the machine favours neither.
        for index in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let (server, requests) = servers[index];
            let before = server.cpu();
            let run = clients[index].run(requests, calls).await;
            runs[index].push(run.with_cpu(server.cpu().saturating_sub(before)));
        }
    }
    let latency = |index: usize| Latency {
        p50: middle(runs[index].iter().map(|run| run.quantile(0.5))),
        p99: middle(runs[index].iter().map(|run| run.quantile(0.99))),
        cpu: middle(runs[index].iter().map(crate::drive::Run::cpu_per_call)),
    };
    let ratio = |q| middle(runs[1].iter().zip(&runs[0]).map(|(many, one)| many.quantile(q) / one.quantile(q)));
    Calls { shape: shape.to_string(), one: latency(0), many: latency(1), p50_ratio: ratio(0.5), p99_ratio: ratio(0.99) }
}

impl Figures {
    /// The gates. `slack`: what a p99 may be over its gate, for a machine that does other things as well.
    pub fn faults(&self, slack: f64) -> Vec<String> {
        let allowed = self.bytes * 13 / 10 + MEMORY;
        let mut faults = Vec::new();
        if self.start_seconds > START.as_secs_f64() {
            faults.push(format!("the start took {:.1} s, over {START:?}", self.start_seconds));
        }
        if self.memory > allowed {
            faults.push(format!("{} MB of memory, over {}", self.memory / 1_000_000, allowed / 1_000_000));
        }
        for Calls { shape, p99_ratio, .. } in &self.calls {
            if *p99_ratio > P99 * slack {
                faults.push(format!("{shape}: p99 is {p99_ratio:.2} times that of one workspace, over {P99}"));
            }
        }
        faults
    }

    pub fn markdown(&self) -> String {
        let mut text = format!(
            "{} workspaces of {} KB: start {:.1} s, memory {} MB for {} MB on disk.\n\n\
             | shape | workspaces | p50 µs | p99 µs | CPU µs/call | p50 ratio | p99 ratio |\n|---|--:|--:|--:|--:|--:|--:|\n",
            self.workspaces,
            self.bytes / 1_000 / self.workspaces as u64,
            self.start_seconds,
            self.memory / 1_000_000,
            self.bytes / 1_000_000,
        );
        for Calls { shape, one, many, p50_ratio, p99_ratio } in &self.calls {
            let row = |n: usize, l: &Latency| format!("| {shape} | {n} | {:.0} | {:.0} | {:.1} |", l.p50, l.p99, l.cpu);
            let _ = writeln!(text, "{} | |", row(1, one));
            let _ = writeln!(text, "{} {p50_ratio:.2} | **{p99_ratio:.2}** |", row(self.workspaces, many));
        }
        text
    }
}
