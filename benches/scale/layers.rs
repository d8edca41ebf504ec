//! Many workspaces that extend one: what each weighs beside it, and how soon an edit of it is served by all.

use std::{collections::BTreeMap, fs, path::Path, time::Instant};

use indicatif::ProgressBar;
use promptd::grpc::api::workspace_service_client::WorkspaceServiceClient;
use promptd_contract::proto::{ListWorkspacesRequest, WatchWorkspaceRequest};
use serde::{Deserialize, Serialize};
use tokio::{sync::mpsc, time::timeout};
use tonic::transport::Channel;

use crate::{
    followers::follow,
    many, middle,
    process::Served,
    watches::{PATIENCE, connect},
};

const LAYER: &str = "org";
/// How many of the heirs are followed: the last of them is seen by a stream, the others by their revisions.
const FOLLOWED: usize = 100;

/// The gates.
const MAX_MS: f64 = 1_000.0;
const MAX_HEIR_BYTES: u64 = 16 << 10;

#[derive(Debug, Serialize, Deserialize)]
pub struct Figures {
    heirs: usize,
    /// Bytes of the layer's files.
    layer_bytes: u64,
    /// Bytes of the server's memory for each heir, whose own files have 60.
    heir_bytes: u64,
    start_seconds: f64,
    /// Milliseconds from an edit of the layer until the last heir was served with it: the median, and the longest.
    last_ms: [f64; 2],
}

pub async fn measure(heirs: usize, edits: usize, bar: &ProgressBar) -> Figures {
    bar.set_message("making heirs");
    let folder = tempfile::tempdir().unwrap();
    let layer = folder.path().join(LAYER);
    let layer_bytes = many::make(&layer, 0);
    fs::write(layer.join("workspace.yaml"), "extendable_by: ['heir-*']\nskills: {blocklist: [secret]}\n").unwrap();
    let alone = Served::quiet(folder.path()).resident();
    for i in 0..heirs {
        let heir = folder.path().join(id(i));
        fs::create_dir(&heir).unwrap();
        fs::write(heir.join("workspace.yaml"), format!("extends: [{LAYER}]\nagent: {{name: Heir {i}}}\n")).unwrap();
        fs::write(heir.join("IDENTITY.md"), format!("You are heir {i}.\n")).unwrap();
    }
    bar.set_message("starting over all heirs");
    let began = Instant::now();
    let server = Served::quiet(folder.path());
    let start_seconds = began.elapsed().as_secs_f64();
    let heir_bytes = server.resident().saturating_sub(alone) / heirs as u64;

    let channel = connect(&server.address).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    for i in (0..FOLLOWED).map(|n| n * (heirs - 1) / (FOLLOWED - 1)) {
        let request = WatchWorkspaceRequest { workspace_id: id(i), ..WatchWorkspaceRequest::default() };
        let mut client = WorkspaceServiceClient::new(channel.clone());
        let mut states = client.watch_workspace(request).await.unwrap().into_inner();
        states.message().await.unwrap().expect("the state at the start");
        tokio::spawn(follow(states, tell.clone()));
    }
    bar.set_message("edits of the layer");
    let mut took = Vec::new();
    for n in 0..edits {
        took.push(reach(&layer, n, &channel, &mut told).await);
    }
    let longest = took.iter().copied().fold(0.0, f64::max);
    Figures { heirs, layer_bytes, heir_bytes, start_seconds, last_ms: [middle(took.into_iter()), longest] }
}

/// Edits the layer, and waits until every heir is served with it; milliseconds.
async fn reach(layer: &Path, n: usize, channel: &Channel, told: &mut mpsc::UnboundedReceiver<Instant>) -> f64 {
    let before = revisions(channel).await;
    let text = format!("SOUL.md, edit {n}.\n").repeat(200);
    let aside = layer.join(".SOUL.md");
    fs::write(&aside, text).unwrap();
    let edited = Instant::now();
    fs::rename(aside, layer.join("SOUL.md")).unwrap();
    for _ in 0..FOLLOWED {
        timeout(PATIENCE, told.recv()).await.expect("every heir gets it").expect("streams are open");
    }
    let mut took = edited.elapsed();
    loop {
        let now = revisions(channel).await;
        if before.iter().all(|(id, revision)| now[id] != *revision) {
            return took.as_secs_f64() * 1e3;
        }
        took = edited.elapsed();
        assert!(took < PATIENCE, "an heir never got it");
    }
}

/// The revision of every workspace.
async fn revisions(channel: &Channel) -> BTreeMap<String, String> {
    let mut client = WorkspaceServiceClient::new(channel.clone());
    let (mut all, mut page_token) = (BTreeMap::new(), String::new());
    loop {
        let request = ListWorkspacesRequest { page_size: 1_000, page_token, ..Default::default() };
        let page = client.list_workspaces(request).await.unwrap().into_inner();
        all.extend(page.workspaces.into_iter().map(|workspace| (workspace.id, workspace.revision)));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return all;
        }
    }
}

fn id(i: usize) -> String {
    format!("heir-{i:05}")
}

impl Figures {
    /// The gates; `slack` widens that of the time.
    pub fn faults(&self, slack: f64) -> Vec<String> {
        let [median, _] = self.last_ms;
        [
            (
                median > MAX_MS * slack,
                format!("an edit of a layer reached the last of {} heirs after {median:.0} ms", self.heirs),
            ),
            (self.heir_bytes > MAX_HEIR_BYTES, format!("an heir takes {} bytes", self.heir_bytes)),
        ]
        .into_iter()
        .filter_map(|(missed, what)| missed.then_some(what))
        .collect()
    }

    pub fn markdown(&self) -> String {
        let [median, longest] = self.last_ms;
        format!(
            "{} workspaces that extend one of {} KB, each with 60 bytes of its own: start {:.1} s.\n\n\
             | memory of an heir | edit of the layer to last heir: median | longest |\n|--:|--:|--:|\n\
             | {:.1} KB | {median:.0} ms | {longest:.0} ms |\n",
            self.heirs,
            self.layer_bytes / 1_000,
            self.start_seconds,
            self.heir_bytes as f64 / 1024.0
        )
    }
}
