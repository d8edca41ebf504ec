//! A server that keeps few of many workspaces loaded, beside one that keeps all: how many calls find theirs, and what it costs.

use std::{fmt::Write as _, path::Path};

use indicatif::ProgressBar;
use promptd_contract::proto::AssemblePromptRequest;
use serde::{Deserialize, Serialize};

use crate::{
    drive::{Client, Protocol, Run, Shape},
    middle,
    pages::Pages,
    process::Served,
    requests,
    workspaces::id,
    zipf::Zipf,
};

/// The bytes that stay loaded, where there are so many workspaces of 28 KB; of fewer the same share.
const RESIDENT: usize = 200_000_000;
const WORKSPACES: usize = 50_000;

/// Calls a second, compared with those of the server that keeps all loaded, are at least so many.
const RATIO: f64 = 0.6;
/// A call that waits for its workspace does so for at most so many milliseconds, 99 times of 100, where calls come one by one.
const WAIT_MS: f64 = 10.0;

#[derive(Debug, Serialize, Deserialize)]
pub struct Figures {
    workspaces: usize,
    resident: usize,
    /// Bytes of memory of the two: all loaded, and not.
    memory: [u64; 2],
    calls: Vec<Calls>,
}

/// Calls of one shape: medians over the rounds.
#[derive(Debug, Serialize, Deserialize)]
struct Calls {
    shape: String,
    hit_rate: f64,
    /// Calls a second: all loaded, and not.
    per_second: [f64; 2],
    /// The median of the rounds' own.
    ratio: f64,
    /// Microseconds: all loaded, and not.
    p99: [f64; 2],
    /// The bound, in milliseconds, that 99 of 100 waits kept.
    wait_ms: f64,
}

/// Over `workspaces` of a folder.
pub async fn measure(folder: &Path, workspaces: usize, rounds: usize, bar: &ProgressBar) -> Figures {
    let resident = RESIDENT * workspaces / WORKSPACES;
    bar.set_message("starting two servers");
    let all = Served::with(folder, &[]);
    let admin = Pages::free();
    let few = Served::with(folder, &["--resident", &resident.to_string(), "--admin", &admin.address]);
    let mut draws = Draws(Zipf::new(workspaces));
    let mut calls = Vec::new();
    for shape in [Shape { connections: 1, streams: 1 }, Shape { connections: 4, streams: 16 }] {
        bar.set_message(format!("calling by Zipf's law, {shape}"));
        calls.push(compare(shape, rounds, [&all, &few], &admin, &mut draws).await);
    }
    Figures { workspaces, resident, memory: [all.resident(), few.resident()], calls }
}

async fn compare(shape: Shape, rounds: usize, servers: [&Served; 2], admin: &Pages, draws: &mut Draws) -> Calls {
    let calls = if shape.workers() == 1 { 3_000 } else { 20_000 };
    let mut clients = Vec::new();
    for server in servers {
        let client = Client::connect(&server.address, Protocol::Grpc, shape).await;
        // Until what is called often is loaded.
        client.run(&draws.requests(4 * calls), 4 * calls).await;
        clients.push(client);
    }
    let before = Counts::of(admin);
    let mut runs: [Vec<Run>; 2] = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        let requests = draws.requests(calls);
        for index in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            runs[index].push(clients[index].run(&requests, calls).await);
        }
    }
    let since = Counts::of(admin).since(&before);
    let of = |figure: fn(&Run) -> f64| [0, 1].map(|index| middle(runs[index].iter().map(figure)));
    Calls {
        shape: shape.to_string(),
        hit_rate: since.hits / (since.hits + since.misses),
        per_second: of(Run::per_second),
        ratio: middle(runs[1].iter().zip(&runs[0]).map(|(few, all)| few.per_second() / all.per_second())),
        p99: of(|run| run.quantile(0.99)),
        wait_ms: since.wait_bound() * 1e3,
    }
}

/// Requests to workspaces drawn by Zipf's law.
struct Draws(Zipf);

impl Draws {
    fn requests(&mut self, calls: usize) -> Vec<AssemblePromptRequest> {
        (0..calls)
            .map(|n| AssemblePromptRequest { workspace_id: id(self.draw()), ..requests::request(n % 1_000) })
            .collect()
    }

    fn draw(&mut self) -> usize {
        /// A prime, so that what is called often is not side by side.
        const STRIDE: usize = 7_919;
        self.0.draw() * STRIDE % self.0.ranks()
    }
}

/// What the metrics count.
struct Counts {
    hits: f64,
    misses: f64,
    /// By the bounds of the buckets, in seconds.
    waits: Vec<(f64, f64)>,
}

impl Counts {
    fn of(admin: &Pages) -> Self {
        let metrics = admin.metrics();
        let waits = metrics.buckets("promptd_resident_wait_seconds");
        Self {
            hits: metrics.value("promptd_resident_hits_total"),
            misses: metrics.value("promptd_resident_misses_total"),
            waits,
        }
    }

    fn since(&self, before: &Self) -> Self {
        let waits = self.waits.iter().zip(&before.waits).map(|((bound, now), (_, then))| (*bound, now - then));
        Self { hits: self.hits - before.hits, misses: self.misses - before.misses, waits: waits.collect() }
    }

    /// The least bound that 99 of 100 waits kept.
    fn wait_bound(&self) -> f64 {
        let all = self.waits.last().map_or(0.0, |(_, count)| *count);
        self.waits.iter().find(|(_, count)| *count >= all * 0.99).map_or(f64::INFINITY, |(bound, _)| *bound)
    }
}

impl Figures {
    /// The gates; `slack` widens that of the wait.
    pub fn faults(&self, slack: f64) -> Vec<String> {
        let mut faults = Vec::new();
        for Calls { shape, ratio, wait_ms, .. } in &self.calls {
            if *ratio < RATIO {
                faults.push(format!("{shape}: {ratio:.2} times the calls a second of all loaded, under {RATIO}"));
            }
            if shape == "1×1" && *wait_ms > WAIT_MS * slack {
                faults.push(format!("{shape}: a call waits {wait_ms} ms for its workspace, over {WAIT_MS}"));
            }
        }
        faults
    }

    pub fn markdown(&self) -> String {
        let [all, few] = self.memory.map(|bytes| bytes / 1_000_000);
        let mut text = format!(
            "{} workspaces, called by Zipf's law with the exponent 1.0: all loaded ({all} MB of memory) beside \
             `workspaces.resident` of {} MB ({few} MB of memory).\n\n\
             | shape | found loaded | calls/s, all | calls/s | ratio | p99 µs, all | p99 µs | 99 of 100 waits, at most |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|\n",
            self.workspaces,
            self.resident / 1_000_000
        );
        for Calls { shape, hit_rate, per_second, ratio, p99, wait_ms } in &self.calls {
            let _ = writeln!(
                text,
                "| {shape} | {:.0} % | {:.0} | {:.0} | **{ratio:.2}** | {:.0} | {:.0} | {wait_ms} ms |",
                hit_rate * 100.0,
                per_second[0],
                per_second[1],
                p99[0],
                p99[1],
            );
        }
        text
    }
}
