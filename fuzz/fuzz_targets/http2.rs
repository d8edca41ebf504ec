#![no_main]
//! Whatever a connection sends, in frames that are whole, cut or out of order: no call panics, every call that began ends,
//! and the calls of another connection are answered.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use jiff::Timestamp;
use libfuzzer_sys::{arbitrary, fuzz_target};
use promptd::grpc::{
    Access, Backend, FinishedCall, Options, Server, Telemetry, api::prompt_service_client::PromptServiceClient,
};
use promptd_contract::proto;
use promptd_core::{
    id::Id,
    profile::ProfileSet,
    settings::Settings,
    workspace::{self, Load, MemoryTree, ReadError},
};
use promptd_source::store::{Loaded, State, Store};
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
};
use tonic::transport::Channel;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How long another connection's call may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, arbitrary::Arbitrary)]
enum Step {
    /// A frame of any kind on one of a few streams.
    Frame {
        kind: u8,
        flags: u8,
        stream: u8,
        payload: Vec<u8>,
    },
    /// The headers of a call, with another field.
    Call {
        stream: u8,
        method: u8,
        end: bool,
        name: u8,
        value: Vec<u8>,
    },
    /// A part of a message, which says how long the whole is.
    Message {
        stream: u8,
        end: bool,
        claims: u32,
        bytes: Vec<u8>,
    },
    Settings {
        id: u8,
        value: u32,
    },
    WindowUpdate {
        stream: u8,
        by: u32,
    },
    Reset {
        stream: u8,
    },
    Ping,
    /// Bytes that are not a frame.
    Raw(Vec<u8>),
}

const METHODS: [&str; 6] = [
    "/promptd.v1.PromptService/AssemblePrompt",
    "/promptd.v1.PromptService/ParseReply",
    "/promptd.v1.WorkspaceService/WatchWorkspace",
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch",
    "/no.such/Method",
];

impl Step {
    fn write(&self, to: &mut Vec<u8>) {
        match self {
            Self::Frame { kind, flags, stream, payload } => {
                frame(to, kind % 11, *flags, u32::from(*stream % 32), payload)
            }
            Self::Call { stream, method, end, name, value } => {
                // HPACK: `:method: POST` and `:scheme: http` from its table, all others as literals.
                let mut block = vec![0x83, 0x86];
                literal(&mut block, b":path", METHODS[usize::from(*method) % METHODS.len()].as_bytes());
                literal(&mut block, b":authority", b"localhost");
                literal(&mut block, b"content-type", b"application/grpc");
                literal(&mut block, b"te", b"trailers");
                let names: [&[u8]; 4] = [b"grpc-timeout", b"authorization", b"grpc-encoding", b"x-request-id"];
                literal(&mut block, names[usize::from(*name) % names.len()], &value[..value.len().min(100)]);
                frame(to, 1, 4 | u8::from(*end), client_stream(*stream), &block);
            }
            Self::Message { stream, end, claims, bytes } => {
                let mut payload = vec![0];
                payload.extend(claims.to_be_bytes());
                payload.extend(bytes);
                frame(to, 0, u8::from(*end), client_stream(*stream), &payload);
            }
            Self::Settings { id, value } => {
                let mut payload = vec![0, id % 10];
                payload.extend(value.to_be_bytes());
                frame(to, 4, 0, 0, &payload);
            }
            Self::WindowUpdate { stream, by } => frame(to, 8, 0, client_stream(*stream), &by.to_be_bytes()),
            Self::Reset { stream } => frame(to, 3, 0, client_stream(*stream), &8_u32.to_be_bytes()),
            Self::Ping => frame(to, 6, 0, 0, &[0; 8]),
            Self::Raw(bytes) => to.extend(bytes),
        }
    }
}

fn client_stream(stream: u8) -> u32 {
    u32::from(stream % 16) * 2 + 1
}

fn frame(to: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap();
    to.extend(&length.to_be_bytes()[1..]);
    to.extend([kind, flags]);
    to.extend(stream.to_be_bytes());
    to.extend(payload);
}

fn literal(to: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    to.push(0);
    for text in [name, value] {
        to.push(u8::try_from(text.len()).unwrap());
        to.extend(text);
    }
}

/// How many calls have begun and not ended.
#[derive(Default)]
struct Open(AtomicI64);

impl Telemetry for Open {
    fn call_started(&self, _: &'static str) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn call_finished(&self, _: FinishedCall) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    fn call_panicked(&self, method: &'static str) {
        eprintln!("{method} panicked");
        std::process::abort();
    }
}

/// A server with one workspace, and a connection that behaves.
struct Service {
    runtime: Runtime,
    address: SocketAddr,
    open: Arc<Open>,
    other: PromptServiceClient<Channel>,
}

fn service() -> &'static Service {
    static SERVICE: OnceLock<Service> = OnceLock::new();
    SERVICE.get_or_init(|| {
        let runtime = Runtime::new().unwrap();
        let open = Arc::new(Open::default());
        let options = Options { listen: SocketAddr::from(([127, 0, 0, 1], 0)), ..Options::default() };
        let (address, other) = runtime.block_on(async {
            // The fuzzer's own `main` leaves the signal on, which Rust's ignores.
            drop(signal(SignalKind::pipe()).unwrap());
            let server = Server::bind(options, backend(&open), None).await.unwrap();
            let address = server.local_addr();
            server.lifecycle().ready();
            tokio::spawn(server.serve());
            (address, PromptServiceClient::connect(format!("http://{address}")).await.unwrap())
        });
        Service { runtime, address, open, other }
    })
}

fn backend(open: &Arc<Open>) -> Backend {
    let (store, profiles) = (Arc::new(Store::default()), Arc::new(ProfileSet::built_in()));
    let id = Id::parse("harbor").unwrap();
    let snapshot = workspace::load(&Load {
        id: &id,
        root: "/srv/harbor",
        tree: &MemoryTree::default(),
        shared_skills: &[],
        profiles: Arc::clone(&profiles),
        settings: Arc::new(Settings::default()),
        previous: None,
    });
    let loaded =
        Loaded { snapshot: snapshot.unwrap().into(), at: Timestamp::UNIX_EPOCH, origin: None, candidate: None };
    store.publish(&id, State::Ready(Arc::new(loaded)));
    Backend {
        store,
        profiles: Arc::new(move || Arc::clone(&profiles)),
        read_workspace_file: Arc::new(|_, _, _| Err(ReadError::Missing)),
        clock: Arc::new(|| Timestamp::UNIX_EPOCH),
        record: None,
        access: Arc::new(Access::open()),
        telemetry: Arc::clone(open) as Arc<dyn Telemetry>,
        tracer: None,
        notice: None,
    }
}

fuzz_target!(|steps: Vec<Step>| {
    let service = service();
    let mut bytes = PREFACE.to_vec();
    frame(&mut bytes, 4, 0, 0, &[]);
    steps.iter().take(64).for_each(|step| step.write(&mut bytes));

    let mut hostile = TcpStream::connect(service.address).unwrap();
    hostile.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    // The server may have closed it before it has read all.
    _ = hostile.write_all(&bytes);
    let request = proto::AssemblePromptRequest { workspace_id: "harbor".into(), ..Default::default() };
    let mut other = service.other.clone();
    let answer = async { tokio::time::timeout(PATIENCE, other.assemble_prompt(request)).await };
    service.runtime.block_on(answer).expect("another connection's call is answered in time").unwrap();
    _ = hostile.shutdown(Shutdown::Write);
    _ = hostile.read(&mut [0; 1 << 12]);
    drop(hostile);

    let closed = Instant::now();
    while service.open.0.load(Ordering::SeqCst) != 0 {
        assert!(closed.elapsed() < PATIENCE, "a call goes on after its connection was closed");
        std::thread::yield_now();
    }
});
