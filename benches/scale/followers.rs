//! As many `WatchWorkspace` streams as one process takes: what each takes, and how soon a save reaches the last of those that follow
//! one workspace.

use std::{path::Path, time::Duration, time::Instant};

use indicatif::ProgressBar;
use promptd::grpc::api::workspace_service_client::WorkspaceServiceClient;
use promptd_contract::proto::{WatchWorkspaceRequest, WatchWorkspaceResponse};
use serde::{Deserialize, Serialize};
use tokio::{sync::mpsc, time::timeout};
use tonic::Streaming;

use crate::{
    many, middle,
    process::Served,
    watches::{PATIENCE, connect, save},
};

const STREAMS: usize = 10_000;
const CONNECTIONS: usize = 20;
/// How many of the streams follow the workspace that is saved.
const FOLLOWERS: usize = 1_000;
/// What the other streams follow.
const OTHERS: usize = 9;
const SAVES: usize = 9;

/// The gates.
const MAX_MS: f64 = 150.0;
const MAX_STREAM_BYTES: u64 = 20 << 10;

#[derive(Debug, Serialize, Deserialize)]
pub struct Figures {
    /// Bytes of the server's memory for each stream.
    stream_bytes: u64,
    /// Milliseconds from a save until the last follower had it: the median, and the longest.
    last_ms: [f64; 2],
}

pub async fn measure(bar: &ProgressBar) -> Figures {
    bar.set_message("opening streams");
    let folder = tempfile::tempdir().unwrap();
    for i in 0..=OTHERS {
        many::make(&folder.path().join(id(i)), i);
    }
    let server = Served::quiet(folder.path());
    let before = server.resident();
    let (tell, mut told) = mpsc::unbounded_channel();
    for connection in 0..CONNECTIONS {
        let channel = connect(&server.address).await;
        for stream in (connection..STREAMS).step_by(CONNECTIONS) {
            let followed = if stream < FOLLOWERS { 0 } else { 1 + stream % OTHERS };
            let request = WatchWorkspaceRequest { workspace_id: id(followed), ..WatchWorkspaceRequest::default() };
            let mut client = WorkspaceServiceClient::new(channel.clone());
            let mut states = client.watch_workspace(request).await.unwrap().into_inner();
            states.message().await.unwrap().expect("the state at the start");
            tokio::spawn(follow(states, tell.clone()));
        }
    }
    let stream_bytes = server.resident().saturating_sub(before) / STREAMS as u64;
    bar.set_message("saves to a thousand followers");
    let mut took = Vec::new();
    for n in 0..SAVES {
        took.push(reach(&folder.path().join(id(0)), n, &mut told).await);
    }
    let longest = took.iter().copied().fold(0.0, f64::max);
    Figures { stream_bytes, last_ms: [middle(took.into_iter()), longest] }
}

/// Saves, and waits until every follower has it; milliseconds.
async fn reach(workspace: &Path, n: usize, told: &mut mpsc::UnboundedReceiver<Instant>) -> f64 {
    let saved = Instant::now();
    save(workspace, n);
    let mut last = Duration::ZERO;
    for _ in 0..FOLLOWERS {
        let at = timeout(PATIENCE, told.recv()).await.expect("every follower gets it").expect("streams are open");
        last = last.max(at.duration_since(saved));
    }
    last.as_secs_f64() * 1e3
}

/// Tells when each state came.
pub async fn follow(mut states: Streaming<WatchWorkspaceResponse>, tell: mpsc::UnboundedSender<Instant>) {
    while let Ok(Some(_)) = states.message().await {
        if tell.send(Instant::now()).is_err() {
            return;
        }
    }
}

fn id(i: usize) -> String {
    format!("followed-{i}")
}

impl Figures {
    /// The gates; `slack` widens that of the time.
    pub fn faults(&self, slack: f64) -> Vec<String> {
        let [median, _] = self.last_ms;
        [
            (median > MAX_MS * slack, format!("a save reached the last of {FOLLOWERS} followers after {median:.0} ms")),
            (self.stream_bytes > MAX_STREAM_BYTES, format!("a stream takes {} bytes", self.stream_bytes)),
        ]
        .into_iter()
        .filter_map(|(missed, what)| missed.then_some(what))
        .collect()
    }

    pub fn markdown(&self) -> String {
        let [median, longest] = self.last_ms;
        format!(
            "{STREAMS} `WatchWorkspace` streams over {CONNECTIONS} connections, {FOLLOWERS} of them of one workspace, which is saved {SAVES} \
             times.\n\n\
             | memory of a stream | save to last follower: median | longest |\n|--:|--:|--:|\n\
             | {:.1} KB | {median:.0} ms | {longest:.0} ms |\n",
            self.stream_bytes as f64 / 1024.0
        )
    }
}
