//! As many workspaces as a small machine is to serve: the start, memory, what idling costs, how soon a save is served, and what
//! the rest has to wait that cannot be watched.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use promptd::grpc::api::workspace_service_client::WorkspaceServiceClient;
use promptd_contract::proto::WatchWorkspaceRequest;
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

use crate::{
    pages::Pages,
    process::Served,
    watches::{PATIENCE, connect, save},
    workspaces::{MEMORY, id},
};

/// Saves, one after another, each of another workspace.
const SAVES: usize = 100;

/// The gates: seconds of 50,000, of one core in percent, milliseconds.
const START_OF_50_000: f64 = 25.0;
const IDLE_PERCENT: f64 = 2.0;
const SAVE_MS: f64 = 100.0;

#[derive(Debug, Serialize, Deserialize)]
pub struct Figures {
    workspaces: usize,
    bytes: u64,
    start_seconds: f64,
    memory: u64,
    idle_percent: f64,
    /// Workspaces that could not be watched; seconds that their edits take at most; what the limit of watches must be.
    polled: f64,
    poll_seconds: f64,
    limit_needed: f64,
    /// Of how many, each watched, the saves are.
    watched: usize,
    /// Milliseconds from a save until it is served: half of them, 99 of 100.
    save_ms: [f64; 2],
}

/// Over `workspaces` of a folder, in bytes together; then over the first `watched` of them: the others are removed.
pub async fn measure(
    folder: &Path,
    workspaces: usize,
    bytes: u64,
    watched: usize,
    idle: Duration,
    bar: &ProgressBar,
) -> Figures {
    bar.set_message("starting over all of them");
    let admin = Pages::free();
    let began = Instant::now();
    let server = Served::with(folder, &["--admin", &admin.address]);
    let start = began.elapsed();
    let memory = server.resident();
    bar.set_message("a round of polling");
    let limited = |name: &str| admin.metrics().value(name);
    while limited("promptd_watch_polled") > 0.0 && limited("promptd_watch_poll_round_seconds") == 0.0 {
        sleep(Duration::from_millis(200)).await;
    }
    bar.set_message("idling");
    let (cpu, since) = (server.cpu(), Instant::now());
    sleep(idle).await;
    let idle_percent = server.cpu().saturating_sub(cpu).as_secs_f64() / since.elapsed().as_secs_f64() * 100.0;
    let (polled, poll_seconds) = (limited("promptd_watch_polled"), limited("promptd_watch_poll_round_seconds"));
    let limit_needed = limited("promptd_watch_limit_needed");
    drop(server);

    for i in watched..workspaces {
        fs::remove_dir_all(folder.join(id(i))).unwrap();
    }
    bar.set_message("starting over what can be watched");
    let server = Served::with(folder, &[]);
    bar.set_message("saves");
    let mut took = Vec::new();
    for n in 0..SAVES {
        took.push(served(&server, folder, n * 7_919 % watched, n).await);
    }
    took.sort_by(f64::total_cmp);
    let save_ms = [took[SAVES / 2], took[SAVES * 99 / 100]];
    Figures {
        workspaces,
        bytes,
        start_seconds: start.as_secs_f64(),
        memory,
        idle_percent,
        polled,
        poll_seconds,
        limit_needed,
        watched,
        save_ms,
    }
}

/// Milliseconds from a save until it is served.
async fn served(server: &Served, folder: &Path, i: usize, n: usize) -> f64 {
    let mut client = WorkspaceServiceClient::new(connect(&server.address).await);
    let request = WatchWorkspaceRequest { workspace_id: id(i), ..WatchWorkspaceRequest::default() };
    let mut states = client.watch_workspace(request).await.unwrap().into_inner();
    states.message().await.unwrap().expect("the state at the start");
    let saved = Instant::now();
    save(&folder.join(id(i)), n);
    timeout(PATIENCE, states.message()).await.expect("it is served").unwrap().expect("the stream is open");
    saved.elapsed().as_secs_f64() * 1e3
}

impl Figures {
    /// The gates; `slack` widens those of time.
    pub fn faults(&self, slack: f64) -> Vec<String> {
        let allowed = self.bytes * 13 / 10 + MEMORY;
        let start = START_OF_50_000 * self.workspaces as f64 / 50_000.0 + 1.0;
        let [_, p99] = self.save_ms;
        [
            (
                self.start_seconds > start * slack,
                format!("the start took {:.1} s, over {start:.0}", self.start_seconds),
            ),
            (self.memory > allowed, format!("{} MB of memory, over {}", self.memory / 1_000_000, allowed / 1_000_000)),
            (self.idle_percent > IDLE_PERCENT * slack, format!("{:.1} % of a core when idle", self.idle_percent)),
            (p99 > SAVE_MS * slack, format!("a save is served after {p99:.0} ms, over {SAVE_MS}")),
            (
                self.polled > 0.0 && self.limit_needed == 0.0,
                "nothing says what the limit of watches must be".to_owned(),
            ),
        ]
        .into_iter()
        .filter_map(|(missed, what)| missed.then_some(what))
        .collect()
    }

    pub fn markdown(&self) -> String {
        let [p50, p99] = self.save_ms;
        format!(
            "{} workspaces, {} MB on disk, on a machine whose limit of watches leaves {} of them to be polled.\n\n\
             | start | memory | idle CPU | edits of what is polled | limit needed | save to served, {} all watched: p50 | p99 |\n\
             |--:|--:|--:|--:|--:|--:|--:|\n\
             | {:.1} s | {} MB | {:.1} % | {:.0} s at most | {} | {p50:.0} ms | {p99:.0} ms |\n",
            self.workspaces,
            self.bytes / 1_000_000,
            self.polled,
            self.watched,
            self.start_seconds,
            self.memory / 1_000_000,
            self.idle_percent,
            self.poll_seconds,
            self.limit_needed,
        )
    }
}
