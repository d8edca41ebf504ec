//! A thousand open `WatchWorkspace` streams through a storm of saves.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use promptd::grpc::api::{
    prompt_service_client::PromptServiceClient, workspace_service_client::WorkspaceServiceClient,
};
use promptd_contract::proto::{WatchWorkspaceRequest, WatchWorkspaceResponse};
use serde::{Deserialize, Serialize};
use tokio::{sync::watch, task::JoinHandle, time::timeout};
use tonic::{
    Streaming,
    transport::{Channel, Endpoint},
};

use crate::{
    many,
    process::Served,
    requests::{self, Mode},
};

const STREAMS: usize = 1_000;
const CONNECTIONS: usize = 10;
const WORKSPACES: usize = 50;
/// Between one save and the next, over all workspaces.
const PACE: Duration = Duration::from_millis(5);
/// Longer than any stream may lag behind at the end.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// How many times what it was halfway memory may be at the end of the storm: by then every workspace holds as many
/// revisions as it ever will, and only the allocator is not still.
const GROWTH: f64 = 1.25;

#[derive(Debug, Serialize, Deserialize)]
pub struct Figures {
    seconds: u64,
    streams: usize,
    /// Streams that ended with another revision than the newest, or broke.
    behind: usize,
    saves: usize,
    messages: usize,
    /// From the last save until the last stream had it.
    settled_ms: f64,
    /// Once the streams were open, halfway, at the end.
    memory: [u64; 3],
    calls: usize,
    calls_failed: usize,
    /// Microseconds.
    call_p50: f64,
    call_p99: f64,
}

/// The newest revisions by workspace, once the storm is over.
type Newest = watch::Receiver<Option<Arc<BTreeMap<String, String>>>>;

pub async fn measure(seconds: u64, bar: &ProgressBar) -> Figures {
    let folder = tempfile::tempdir().unwrap();
    for i in 0..WORKSPACES {
        many::make(&folder.path().join(id(i)), i);
    }
    let server = Served::quiet(folder.path());
    bar.set_message("opening streams");
    let (tell, newest) = watch::channel(None);
    let messages = Arc::new(AtomicUsize::new(0));
    let readers = open(&server.address, &newest, &messages).await;
    let opened = server.resident();

    let done = Arc::new(AtomicBool::new(false));
    let calls: Vec<_> = (0..4).map(|_| tokio::spawn(call(server.address.clone(), Arc::clone(&done)))).collect();
    bar.set_message("storm of saves");
    let half = Duration::from_secs(seconds) / 2;
    let first_saves = storm(folder.path(), half, 0).await;
    let halfway = server.resident();
    let saves = storm(folder.path(), half, first_saves).await;
    done.store(true, Relaxed);

    bar.set_message("waiting for every stream");
    let stormed = Instant::now();
    tell.send_replace(Some(Arc::new(settle(&server.address, saves).await)));
    let mut behind = 0;
    for reader in readers {
        behind += usize::from(!matches!(timeout(PATIENCE, reader).await, Ok(Ok(true))));
    }
    let settled = stormed.elapsed();
    let (mut latencies, mut calls_failed) = (Vec::new(), 0);
    for call in calls {
        let (times, failed) = call.await.unwrap();
        latencies.extend(times);
        calls_failed += failed;
    }
    latencies.sort_unstable();
    let quantile = |q: f64| latencies[((latencies.len() - 1) as f64 * q) as usize].as_secs_f64() * 1e6;
    Figures {
        seconds,
        streams: STREAMS,
        behind,
        saves,
        messages: messages.load(Relaxed),
        settled_ms: settled.as_secs_f64() * 1e3,
        memory: [opened, halfway, server.resident()],
        calls: latencies.len() + calls_failed,
        calls_failed,
        call_p50: quantile(0.5),
        call_p99: quantile(0.99),
    }
}

fn id(i: usize) -> String {
    format!("ws-{i:02}")
}

pub async fn connect(address: &str) -> Channel {
    Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap()
}

/// Opens the streams, and has each read to the end. Those of the last connection read nothing until the storm is
/// over: they must not hold up the others, nor miss the newest.
async fn open(address: &str, newest: &Newest, messages: &Arc<AtomicUsize>) -> Vec<JoinHandle<bool>> {
    let mut readers = Vec::new();
    for connection in 0..CONNECTIONS {
        let channel = connect(address).await;
        for stream in 0..STREAMS / CONNECTIONS {
            let id = id(stream % WORKSPACES);
            let request = WatchWorkspaceRequest { workspace_id: id.clone(), ..WatchWorkspaceRequest::default() };
            let mut client = WorkspaceServiceClient::new(channel.clone());
            let mut stream = client.watch_workspace(request).await.unwrap().into_inner();
            stream.message().await.unwrap().expect("the state at the start");
            let (newest, messages) = (newest.clone(), Arc::clone(messages));
            let is_idle = connection + 1 == CONNECTIONS;
            readers.push(tokio::spawn(read(stream, id, newest, messages, is_idle)));
        }
    }
    readers
}

/// Reads until the stream has reported the newest revision; false if it breaks before.
async fn read(
    mut stream: Streaming<WatchWorkspaceResponse>,
    id: String,
    mut newest: Newest,
    messages: Arc<AtomicUsize>,
    is_idle: bool,
) -> bool {
    if is_idle && newest.wait_for(Option::is_some).await.is_err() {
        return false;
    }
    let mut held = String::new();
    loop {
        if newest.borrow().as_ref().is_some_and(|newest| newest[&id] == held) {
            return true;
        }
        tokio::select! {
            message = stream.message() => match message {
                Ok(Some(message)) => {
                    messages.fetch_add(1, Relaxed);
                    held = message.workspace.unwrap_or_default().revision;
                }
                Ok(None) | Err(_) => return false,
            },
            changed = newest.changed() => if changed.is_err() { return false },
        }
    }
}

/// Saves one workspace after another by rename, at an even pace; gives how many saves there were so far.
async fn storm(folder: &Path, length: Duration, mut saves: usize) -> usize {
    let began = Instant::now();
    let mut pace = tokio::time::interval(PACE);
    while began.elapsed() < length {
        pace.tick().await;
        save(&folder.join(id(saves % WORKSPACES)), saves);
        saves += 1;
    }
    saves
}

pub fn save(workspace: &Path, n: usize) {
    let incoming = workspace.join("incoming.tmp");
    fs::write(&incoming, persona(n)).unwrap();
    fs::rename(incoming, workspace.join("SOUL.md")).unwrap();
}

fn persona(n: usize) -> String {
    format!("Save {n}.\n").repeat(300)
}

/// Waits until every workspace serves what was saved last, and gives their revisions.
async fn settle(address: &str, saves: usize) -> BTreeMap<String, String> {
    let channel = connect(address).await;
    let mut newest = BTreeMap::new();
    for i in 0..WORKSPACES {
        // The last save whose number falls on this workspace.
        let last = (saves - 1) - (saves - 1 - i) % WORKSPACES;
        let sha256 = crate::sha256(persona(last).as_bytes());
        let mut client = WorkspaceServiceClient::new(channel.clone());
        let watched = client.watch_workspace(WatchWorkspaceRequest { workspace_id: id(i), ..Default::default() }).await;
        let mut states = watched.unwrap().into_inner();
        let reached = async {
            loop {
                let state = states.message().await.unwrap().expect("the workspace stays").workspace.unwrap();
                if state.context_files.iter().any(|file| file.path == "SOUL.md" && file.sha256 == sha256) {
                    return state.revision;
                }
            }
        };
        newest.insert(id(i), timeout(PATIENCE, reached).await.expect("the last save is served"));
    }
    newest
}

/// Calls one workspace after another until it is done; gives the times, and how many calls failed.
async fn call(address: String, done: Arc<AtomicBool>) -> (Vec<Duration>, usize) {
    let mut client = PromptServiceClient::new(connect(&address).await);
    let requests = requests::rotating(&address, Mode::Plain).await;
    let (mut times, mut failed) = (Vec::new(), 0);
    for (n, mut request) in requests.into_iter().cycle().enumerate() {
        if done.load(Relaxed) {
            break;
        }
        request.workspace_id = id(n % WORKSPACES);
        let began = Instant::now();
        match client.assemble_prompt(request).await {
            Ok(_) => times.push(began.elapsed()),
            Err(_) => failed += 1,
        }
    }
    (times, failed)
}

impl Figures {
    /// The gates.
    pub fn faults(&self) -> Vec<String> {
        let [_, halfway, end] = self.memory;
        let grown = end as f64 / halfway as f64;
        [
            (
                self.behind > 0,
                format!("{} of {} streams did not end with the newest revision", self.behind, self.streams),
            ),
            (self.calls_failed > 0, format!("{} of {} calls failed during the storm", self.calls_failed, self.calls)),
            (self.calls == 0, "no call was answered during the storm".into()),
            (grown > GROWTH, format!("memory grew {grown:.2} times in the second half of the storm, over {GROWTH}")),
        ]
        .into_iter()
        .filter_map(|(missed, what)| missed.then_some(what))
        .collect()
    }

    pub fn markdown(&self) -> String {
        let [opened, halfway, end] = self.memory.map(|bytes| bytes / 1_000_000);
        format!(
            "{} `WatchWorkspace` streams over {WORKSPACES} workspaces, a tenth of them not read until the end; {} saves in \
             {} s.\n\n\
             | streams that ended with the newest revision | messages | last save to last stream | memory: opened, halfway, end | calls meanwhile | failed | p50 µs | p99 µs |\n\
             |--:|--:|--:|--:|--:|--:|--:|--:|\n\
             | {} | {} | {:.0} ms | {opened}, {halfway}, {end} MB | {} | {} | {:.0} | {:.0} |\n",
            self.streams,
            self.saves,
            self.seconds,
            self.streams - self.behind,
            self.messages,
            self.settled_ms,
            self.calls,
            self.calls_failed,
            self.call_p50,
            self.call_p99,
        )
    }
}
