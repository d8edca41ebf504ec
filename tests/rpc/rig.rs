//! A running server, what it serves, and what it reported to its observer.

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use jiff::Timestamp;
use promptd::grpc::{
    Access, Backend, Ended, FinishedCall, Lifecycle, Options, Server, ServerError, Telemetry, Tls,
    api::{
        health::health_client::HealthClient, profile_service_client::ProfileServiceClient,
        prompt_service_client::PromptServiceClient, workspace_service_client::WorkspaceServiceClient,
    },
};
use promptd_contract::proto;
use promptd_core::{
    canary::{Canary, Side},
    id::Id,
    profile::ProfileSet,
    settings::Settings,
    workspace::{self, Layer, Load, MemoryTree, Snapshot, Tree as _},
};
use promptd_source::store::{Candidate, Loaded, State, Store};
use tokio::{sync::watch, task::JoinHandle};
use tonic::{
    Code, Status,
    transport::{Channel, Endpoint},
};
use tonic_types::StatusExt as _;

/// What the server's clock says to turns that bring none: 2026-03-01T02:30:00Z.
pub const NOW: i64 = 1_772_332_200;
/// Longer than any of these tests waits for what must come.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Where the files of a canary's candidate are, of a workspace that is here.
fn candidate_root(root: &str) -> String {
    format!("{root} candidate")
}

/// Longer than any of these tests takes: one that hangs ends all of them, with its name.
const LIMIT: Duration = Duration::from_secs(180);

/// Ends the tests where it is not dropped in time.
struct Watchdog(#[allow(dead_code, reason = "it is only dropped")] mpsc::Sender<()>);

impl Watchdog {
    fn start() -> Self {
        let (alive, ended) = mpsc::channel::<()>();
        let test = thread::current().name().unwrap_or("a test").to_owned();
        thread::spawn(move || {
            if ended.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
                // Not `eprintln`, whose output tests hold back.
                let _ = writeln!(io::stderr(), "{test} has not ended after {LIMIT:?}");
                std::process::exit(101);
            }
        });
        Self(alive)
    }
}

pub struct Rig {
    pub addr: SocketAddr,
    /// Where its inspector listens.
    #[allow(dead_code, reason = "for the tests of the inspector")]
    pub inspector: Option<SocketAddr>,
    pub store: Arc<Store>,
    pub access: Arc<Access>,
    pub lifecycle: Arc<Lifecycle>,
    pub seen: Arc<Seen>,
    /// Makes the server's clock panic: the way for a test to have a call panic.
    pub broken_clock: Arc<AtomicBool>,
    pub disk: Arc<Disk>,
    pub serving: JoinHandle<Result<Ended, ServerError>>,
    trees: Arc<Mutex<BTreeMap<String, MemoryTree>>>,
    profiles: Arc<ProfileSet>,
    _watchdog: Watchdog,
}

/// Where files are read from.
#[derive(Default)]
pub struct Disk {
    /// How many reads have begun.
    pub reads: watch::Sender<usize>,
    /// Held, it makes every read wait.
    pub slow: Arc<tokio::sync::Mutex<()>>,
}

/// How a server is started.
pub struct Setup {
    pub options: Options,
    pub access: Access,
    pub tls: Option<Arc<Tls>>,
    pub ready: bool,
    /// With the inspector, at a free port.
    pub inspected: bool,
    /// Where conversations are stored.
    #[cfg(feature = "memory")]
    pub memory: Option<promptd::grpc::Memory>,
    /// What publishes.
    #[cfg(feature = "etcd")]
    pub publisher: Option<promptd::grpc::Publisher>,
}

impl Default for Setup {
    fn default() -> Self {
        let options = Options { listen: SocketAddr::from(([127, 0, 0, 1], 0)), ..Options::default() };
        Self {
            options,
            access: Access::open(),
            tls: None,
            ready: true,
            inspected: false,
            #[cfg(feature = "memory")]
            memory: None,
            #[cfg(feature = "etcd")]
            publisher: None,
        }
    }
}

impl Rig {
    /// With the workspace `harbor` and nothing special.
    pub async fn start() -> Self {
        Self::start_with(Setup::default()).await
    }

    pub async fn start_with(setup: Setup) -> Self {
        let (store, access) = (Arc::new(Store::default()), Arc::new(setup.access));
        let (seen, broken_clock) = (Arc::new(Seen::default()), Arc::new(AtomicBool::new(false)));
        let (trees, profiles) = (Arc::default(), Arc::new(ProfileSet::built_in()));
        let disk = Arc::default();
        let backend = backend(&store, &profiles, &trees, &access, &seen, &broken_clock, &disk);
        #[cfg(feature = "memory")]
        let backend = Backend { memory: setup.memory, ..backend };
        #[cfg(feature = "etcd")]
        let backend = Backend { publisher: setup.publisher, ..backend };
        let server = Server::bind(setup.options, backend, setup.tls).await.unwrap();
        let (server, inspector) = if setup.inspected { with_inspector(server).await } else { (server, None) };
        let (addr, lifecycle) = (server.local_addr(), server.lifecycle());
        let serving = tokio::spawn(server.serve());
        let rig = Self {
            addr,
            inspector,
            store,
            access,
            lifecycle,
            seen,
            broken_clock,
            disk,
            serving,
            trees,
            profiles,
            _watchdog: Watchdog::start(),
        };
        rig.publish("harbor", harbor());
        if setup.ready {
            rig.lifecycle.ready();
        }
        rig
    }

    /// Loads a workspace from a tree and publishes it, as a save would; over the layers that were published before it.
    pub fn publish(&self, name: &str, tree: MemoryTree) {
        let id = Id::parse(name).unwrap();
        let root = format!("/srv/{name}");
        let previous = match self.store.get(name).as_deref() {
            Some(State::Ready(loaded)) => Some(Arc::clone(loaded)),
            _ => None,
        };
        let loaded = workspace::load(&Load {
            id: &id,
            root: &root,
            tree: &tree,
            shared_skills: &[],
            profiles: Arc::clone(&self.profiles),
            settings: Arc::new(Settings::default()),
            previous: previous.as_deref().map(|loaded| loaded.snapshot.own.as_deref().unwrap_or(&loaded.snapshot)),
        });
        let last_good = previous.as_deref().map(|loaded| &*loaded.snapshot);
        let composed = loaded.map(Arc::new).and_then(|own| {
            if own.manifest.extends.is_empty() {
                return Ok(own);
            }
            workspace::compose(&own, last_good, &|id| self.layer(id)).map(Arc::new)
        });
        self.trees.lock().unwrap().insert(root, tree);
        let state = match composed {
            Ok(snapshot) => {
                let at = Timestamp::new(NOW, 0).unwrap();
                State::Ready(Arc::new(Loaded { snapshot: snapshot.into(), at, origin: None, candidate: None }))
            }
            Err(faults) => State::Invalid(faults.into()),
        };
        self.store.publish(&id, state);
    }

    /// Publishes a workspace of which some turns get something else.
    pub fn publish_canary(&self, name: &str, stable: MemoryTree, canary: Canary, candidate: &MemoryTree) {
        self.publish(name, stable);
        let Some(State::Ready(newest)) = self.store.get(name).as_deref().cloned() else {
            panic!("{name} is not valid")
        };
        let tried = workspace::load(&Load {
            id: &newest.snapshot.id,
            root: &newest.snapshot.root,
            tree: candidate,
            shared_skills: &[],
            profiles: Arc::clone(&self.profiles),
            settings: Arc::new(Settings::default()),
            previous: None,
        });
        self.trees.lock().unwrap().insert(candidate_root(&newest.snapshot.root), candidate.clone());
        let loaded = |snapshot: Arc<Snapshot>, candidate| {
            Arc::new(Loaded { snapshot: snapshot.into(), at: Timestamp::new(NOW, 0).unwrap(), origin: None, candidate })
        };
        let candidate = Candidate { canary, loaded: loaded(Arc::new(tried.unwrap()), None) };
        let both = loaded(Arc::clone(newest.snapshot.shared()), Some(candidate));
        self.store.publish(&newest.snapshot.id, State::Ready(both));
    }

    fn layer(&self, id: &Id) -> Option<Arc<Layer>> {
        let Some(State::Ready(loaded)) = self.store.get(id.as_str()).as_deref().cloned() else { return None };
        let own = loaded.snapshot.own.as_ref().unwrap_or(loaded.snapshot.shared());
        Some(Arc::new(Layer::new(Arc::clone(own))))
    }

    /// Changes what is on the disk, and nothing else: a save that is not loaded yet.
    pub fn save(&self, name: &str, tree: MemoryTree) {
        self.trees.lock().unwrap().insert(format!("/srv/{name}"), tree);
    }

    pub fn remove(&self, name: &str) {
        self.store.remove(&Id::parse(name).unwrap());
    }

    pub fn endpoint(&self) -> Endpoint {
        Endpoint::from_shared(format!("http://{}", self.addr)).unwrap()
    }

    pub async fn channel(&self) -> Channel {
        self.endpoint().connect().await.unwrap()
    }

    pub async fn prompts(&self) -> PromptServiceClient<Channel> {
        PromptServiceClient::new(self.channel().await)
    }

    pub async fn workspaces(&self) -> WorkspaceServiceClient<Channel> {
        WorkspaceServiceClient::new(self.channel().await)
    }

    pub async fn profiles(&self) -> ProfileServiceClient<Channel> {
        ProfileServiceClient::new(self.channel().await)
    }

    #[cfg(feature = "memory")]
    pub async fn sessions(&self) -> promptd::grpc::api::session_service_client::SessionServiceClient<Channel> {
        promptd::grpc::api::session_service_client::SessionServiceClient::new(self.channel().await)
    }

    pub async fn health(&self) -> HealthClient<Channel> {
        HealthClient::new(self.channel().await)
    }

    /// Waits for `serve` to return.
    pub async fn ended(self) -> Ended {
        tokio::time::timeout(PATIENCE, self.serving).await.expect("serve must return").unwrap().unwrap()
    }
}

#[cfg(feature = "inspector")]
async fn with_inspector(server: Server) -> (Server, Option<SocketAddr>) {
    let inspector = promptd::grpc::Inspector::bind(([127, 0, 0, 1], 0).into(), "{\"title\":\"a turn\"}").await.unwrap();
    let address = inspector.address();
    (server.with_inspector(Some(inspector)), Some(address))
}

#[cfg(not(feature = "inspector"))]
async fn with_inspector(_: Server) -> (Server, Option<SocketAddr>) {
    unreachable!("this build has no inspector")
}

fn backend(
    store: &Arc<Store>,
    profiles: &Arc<ProfileSet>,
    trees: &Arc<Mutex<BTreeMap<String, MemoryTree>>>,
    access: &Arc<Access>,
    seen: &Arc<Seen>,
    broken_clock: &Arc<AtomicBool>,
    disk: &Arc<Disk>,
) -> Backend {
    let (profiles, trees, broken) = (Arc::clone(profiles), Arc::clone(trees), Arc::clone(broken_clock));
    let disk = Arc::clone(disk);
    Backend {
        store: Arc::clone(store),
        profiles: Arc::new(move || Arc::clone(&profiles)),
        read_workspace_file: Arc::new(move |snapshot, side, path| {
            disk.reads.send_modify(|reads| *reads += 1);
            let _turn = disk.slow.blocking_lock();
            let root = snapshot.root.to_string();
            let of_side = if side == Side::Candidate { candidate_root(&root) } else { root };
            trees.lock().unwrap()[&of_side].read(path, 1 << 20)
        }),
        clock: Arc::new(move || {
            assert!(!broken.load(Ordering::SeqCst), "the clock is broken on purpose");
            Timestamp::new(NOW, 0).unwrap()
        }),
        #[cfg(feature = "memory")]
        memory: None,
        #[cfg(feature = "etcd")]
        publisher: None,
        record: None,
        access: Arc::clone(access),
        telemetry: Arc::<Seen>::clone(seen),
        tracer: None,
        notice: None,
    }
}

/// A workspace with a bit of everything.
pub fn harbor() -> MemoryTree {
    MemoryTree::new()
        .file("AGENTS.md", "# Rules\nAnswer in one sentence.\n")
        .file("SOUL.md", "Calm.\n")
        .file("skills/git/SKILL.md", "---\nname: git\ndescription: Uses git.\n---\nCommit often.\n")
        .file("skills/git/notes/branches.md", "main\n")
        .file("skills/xurl/SKILL.md", "---\nname: xurl\ndescription: Fetches pages.\n---\n")
        .file("skills/internal-x/SKILL.md", "---\nname: internal-x\ndescription: Not for models.\n---\n")
        .file("workspace.yaml", "skills:\n  blocklist: [\"internal-*\"]\n")
}

/// A request for `harbor`.
pub fn ask() -> proto::AssemblePromptRequest {
    proto::AssemblePromptRequest { workspace_id: "harbor".into(), ..Default::default() }
}

/// The same with a turn.
pub fn ask_with(turn: proto::Turn) -> proto::AssemblePromptRequest {
    proto::AssemblePromptRequest { turn: Some(turn), ..ask() }
}

/// That a call failed with this code and this reason; the status for more.
#[track_caller]
pub fn refused<T: std::fmt::Debug>(result: Result<T, Status>, code: Code, reason: &str) -> Status {
    let status = result.expect_err("the call must fail");
    assert_eq!(status.code(), code, "{status:?}");
    let info = status.get_details_error_info().expect("every error has ErrorInfo");
    assert_eq!((info.domain.as_str(), info.reason.as_str()), ("promptd", reason), "{status:?}");
    assert!(!status.message().contains("/srv/"), "{status:?}");
    status
}

/// The telemetry: counts that tests can wait for.
#[derive(Debug)]
pub struct Seen {
    began: watch::Sender<usize>,
    ended: watch::Sender<Vec<FinishedCall>>,
    panics: watch::Sender<usize>,
}

impl Default for Seen {
    fn default() -> Self {
        Self { began: watch::Sender::new(0), ended: watch::Sender::default(), panics: watch::Sender::new(0) }
    }
}

impl Seen {
    pub async fn has_begun(&self, calls: usize) {
        let mut began = self.began.subscribe();
        tokio::time::timeout(PATIENCE, began.wait_for(|count| *count >= calls)).await.unwrap().unwrap();
    }

    pub async fn have_ended(&self, calls: usize) {
        let mut ended = self.ended.subscribe();
        tokio::time::timeout(PATIENCE, ended.wait_for(|all| all.len() >= calls)).await.unwrap().unwrap();
    }

    /// Waits for a call of that method to end, and gives its code.
    pub async fn has_ended(&self, method: &str) -> &'static str {
        let mut ended = self.ended.subscribe();
        let found = |calls: &Vec<FinishedCall>| calls.iter().any(|call| call.method.ends_with(method));
        let calls = tokio::time::timeout(PATIENCE, ended.wait_for(found)).await.unwrap().unwrap();
        calls.iter().find(|call| call.method.ends_with(method)).unwrap().code
    }

    pub fn calls(&self) -> Vec<(&'static str, &'static str)> {
        self.ended.borrow().iter().map(|call| (call.method, call.code)).collect()
    }

    pub fn panics(&self) -> usize {
        *self.panics.borrow()
    }
}

impl Telemetry for Seen {
    fn call_started(&self, _: &'static str) {
        self.began.send_modify(|count| *count += 1);
    }

    fn call_finished(&self, call: FinishedCall) {
        self.ended.send_modify(|calls| calls.push(call));
    }

    fn call_panicked(&self, _: &'static str) {
        self.panics.send_modify(|count| *count += 1);
    }
}
