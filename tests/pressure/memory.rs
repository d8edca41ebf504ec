//! The formula of docs/operating.md for the most memory that callers can make the server take: each term is driven to its limit,
//! and the peak of the process is compared with it.

use std::{future::Future, pin::Pin, time::Duration};

use promptd_contract::proto;
use prost::Message as _;
use tokio::{task::JoinSet, time::timeout};

use super::{
    client::{ASSEMBLE, Client, LIST, Open, Wire, framed, prefix, reason},
    is_long,
    probe::Probe,
    served::{FILE_BYTES, Served},
    worst,
};

const DOCUMENT: &str = include_str!("../../docs/operating.md");
const MIB: usize = 1 << 20;
const KIB: usize = 1 << 10;

/// The settings that the formula has.
struct Limits {
    unread: usize,
    unsent: usize,
    connections: usize,
    calls: usize,
    streams: usize,
    message: usize,
}

impl Limits {
    /// Small ones, which a debug build reaches in seconds.
    const SHORT: Self =
        Self { unread: 32 * MIB, unsent: 32 * MIB, connections: 300, calls: 100, streams: 300, message: 4 * MIB };
    /// The defaults.
    const LONG: Self = Self {
        unread: 256 * MIB,
        unsent: 256 * MIB,
        connections: 10_000,
        calls: 1_024,
        streams: 10_000,
        message: 4 * MIB,
    };

    fn yaml(&self) -> String {
        let Self { unread, unsent, connections, calls, streams, message } = self;
        format!(
            "limits: {{max_unread_bytes: {unread}, max_unsent_bytes: {unsent}, max_connections: {connections}, max_in_flight: {calls}, \
             max_streams: {streams}, max_message_bytes: {message}, max_streams_per_connection: 2000}}\ngrpc: {{keepalive_interval: 1h}}\n"
        )
    }

    /// The threads that work on calls: one a core, and those of `max_heavy`, by default one less.
    fn threads() -> usize {
        let cores = std::thread::available_parallelism().unwrap().get();
        cores + (cores - 1).max(1)
    }
}

/// What a driver keeps open.
type Held = Vec<Box<dyn std::any::Any + Send>>;
type Driving<'a> = Pin<Box<dyn Future<Output = Held> + 'a>>;

type Driver = for<'a> fn(&'a Served, &'a Limits) -> Driving<'a>;

/// A term of the formula.
struct Term {
    name: &'static str,
    /// As the document has it.
    formula: &'static str,
    bytes: fn(&Limits) -> usize,
    /// What its drivers take of other terms meanwhile.
    beside: fn(&Limits) -> usize,
    /// Brings it to its limit by each way there is.
    drivers: &'static [(&'static str, Driver)],
}

const TERMS: [Term; 5] = [
    Term {
        name: "requests",
        formula: "4 × `limits.max_unread_bytes`",
        bytes: |limits| 4 * limits.unread,
        beside: |_| 0,
        drivers: &[
            ("partial messages", |served, limits| Box::pin(partial_messages(served, limits))),
            ("as many values as are allowed", |served, limits| Box::pin(values(served, limits))),
        ],
    },
    Term {
        name: "answers",
        formula: "2 × `limits.max_unsent_bytes` + 64 MiB",
        bytes: |limits| 2 * limits.unsent + 64 * MIB,
        beside: |_| 0,
        drivers: &[
            ("large answers to closed windows", |served, limits| Box::pin(large_answers(served, limits))),
            ("refusals that nobody reads", |served, _| Box::pin(refusals(served))),
        ],
    },
    Term {
        name: "connections",
        formula: "512 KiB × `limits.max_connections`",
        bytes: |limits| 512 * KIB * limits.connections,
        beside: |_| 0,
        drivers: &[
            ("idle", |served, limits| Box::pin(idle(served, limits))),
            ("unfinished headers", |served, limits| Box::pin(unfinished_headers(served, limits))),
        ],
    },
    Term {
        name: "calls and streams",
        formula: "64 KiB × (`limits.max_in_flight` + `limits.max_streams`)",
        bytes: |limits| 64 * KIB * (limits.calls + limits.streams),
        beside: |_| 0,
        drivers: &[("both, with all the metadata there may be", |served, limits| {
            Box::pin(calls_and_streams(served, limits))
        })],
    },
    Term {
        name: "work",
        formula: "16 × `limits.max_message_bytes` × (cores + `limits.max_heavy`)",
        bytes: |limits| 16 * limits.message * Limits::threads(),
        // Its requests wait for their turn, and its answers are sent.
        beside: |limits| 4 * limits.unread + 2 * limits.unsent,
        drivers: &[("the worst requests, eight at once", |served, _| Box::pin(work(served)))],
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn callers_cannot_make_the_server_take_more_memory_than_the_formula_says() {
    let _alone = super::ALONE.lock().await;
    let limits = if is_long() { Limits::LONG } else { Limits::SHORT };
    // A debug build on a busy machine only shows that health is answered at all.
    let longest = if is_long() { Duration::from_millis(100) } else { Duration::from_secs(10) };
    let title = "| term | formula | MiB | driven by | measured, MiB | health p99, max |
|---|---|---|---|---|---|";
    println!("{title}");
    let mut table = vec![title.to_owned()];
    let mut faults = Vec::new();
    for Term { name, formula, bytes, beside, drivers } in &TERMS {
        let row = format!("| {name} | {formula} |");
        assert!(DOCUMENT.contains(&row), "docs/operating.md must have the row {row}");
        for (how, drive) in *drivers {
            let served = Served::start(&limits.yaml());
            let probe = Probe::health(served.addr);
            let base = served.resident();
            let held = drive(&served, &limits).await;
            let (grown, took) = (served.peak().saturating_sub(base), probe.stop());
            drop(held);
            let allowed = bytes(&limits) + beside(&limits);
            let row =
                format!("{row} {} | {how} | {} | {:.1?}, {:.1?} |", allowed / MIB, grown / MIB, took.p99, took.max);
            println!("{row}");
            table.push(row);
            if grown > allowed {
                faults.push(format!("{name}, {how}: {} MiB of {}", grown / MIB, allowed / MIB));
            }
            if took.max > longest {
                faults.push(format!("{name}, {how}: health took {:?}", took.max));
            }
        }
    }
    let sum: usize = TERMS.iter().map(|term| (term.bytes)(&limits)).sum();
    println!("in all {} MiB, and what the process takes without callers", sum / MIB);
    assert!(faults.is_empty(), "{faults:#?}\n{}", table.join("\n"));
}

/// Connections that together have all bytes of a budget, an eighth each.
const SHARES: usize = 8;

/// Requests whose last byte never comes. They are given up after half a minute.
async fn partial_messages(served: &Served, limits: &Limits) -> Held {
    let mut clients = JoinSet::new();
    for _ in 0..SHARES {
        let client = Client::connect(served.addr, 1 << 20).await;
        let (mut left, message) = (limits.unread / SHARES - 64 * KIB, limits.message);
        clients.spawn(async move {
            let mut held = Vec::new();
            while left > 0 {
                let mut open = client.begin(ASSEMBLE, "application/grpc", &[]).await;
                let bytes = left.min(message - KIB);
                open.send_all([&prefix(message)[..], &vec![b'x'; bytes]].concat().into()).await;
                left -= bytes;
                held.push(open);
            }
            (client, held)
        });
    }
    let held = clients.join_all().await;
    served.settles().await;
    vec![Box::new(held)]
}

/// Requests of a million empty objects are refused before they are decoded; those of as many as may be are decoded, many at
/// once.
async fn values(served: &Served, limits: &Limits) -> Held {
    /// What a value of these counts for, with its bytes.
    const VALUE: usize = 280;
    let most = (limits.unread / SHARES / VALUE).min(98_000);
    let refused = worst::objects(1_000_000);
    let client = Client::connect(served.addr, 1 << 20).await;
    let status = client.call(ASSEMBLE, &refused.encode_to_vec()).await.expect_err("too many");
    assert_eq!(reason(&status), "INVALID_REQUEST");
    for shape in [worst::objects(most / 2), worst::nested(most / worst::DEPTH)] {
        let (message, mut calls) = (shape.encode_to_vec(), JoinSet::new());
        for _ in 0..2 * SHARES {
            let client = Client::connect(served.addr, 1 << 20).await;
            let message = message.clone();
            calls.spawn(async move {
                for _ in 0..2 {
                    // It may be refused, where others have all there is.
                    let _ = client.call(ASSEMBLE, &message).await;
                }
            });
        }
        calls.join_all().await;
    }
    Vec::new()
}

/// Answers to clients that take none.
async fn large_answers(served: &Served, limits: &Limits) -> Held {
    let request = worst::read_skill().encode_to_vec();
    let (mut held, mut answers): (Held, usize) = (Vec::new(), 0);
    for _ in 0..SHARES {
        let deaf = Client::connect(served.addr, 0).await;
        loop {
            match deaf.call("promptd.v1.WorkspaceService/ReadSkill", &request).await {
                Ok(body) => held.push(Box::new(body)),
                Err(status) => {
                    assert!(["CONNECTION_FULL", "OVERLOADED"].contains(&reason(&status).as_str()), "{status:?}");
                    break;
                }
            }
            answers += 1;
        }
        held.push(Box::new(deaf));
    }
    assert!(answers * FILE_BYTES > limits.unsent * 7 / 10, "{answers} answers are held");
    held
}

/// Calls that are refused, on connections that nobody reads from.
async fn refusals(served: &Served) -> Held {
    /// How long a write may be blocked before the server counts as reading no more.
    const BLOCKED: Duration = Duration::from_millis(500);
    let mut wires = JoinSet::new();
    for _ in 0..if is_long() { 500 } else { 40 } {
        let mut wire = Wire::connect(served.addr).await;
        wires.spawn(async move {
            for call in 0..400 {
                // The server may have closed the connection, too.
                match timeout(BLOCKED, wire.call(2 * call + 1, "/no.such.Service/Call")).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) | Err(_) => break,
                }
            }
            wire
        });
    }
    let wires = wires.join_all().await;
    served.settles().await;
    vec![Box::new(wires)]
}

/// Connections that made one call, and no other.
async fn idle(served: &Served, limits: &Limits) -> Held {
    let mut held: Held = Vec::new();
    for _ in 0..descriptors(limits.connections) {
        let mut wire = Wire::connect(served.addr).await;
        wire.call(1, &format!("/{LIST}")).await.unwrap();
        wire.answered().await;
        held.push(Box::new(wire));
    }
    held
}

/// Such connections, each in the middle of the headers of its next call: of one value, or of many fields.
async fn unfinished_headers(served: &Served, limits: &Limits) -> Held {
    // A new name, a value of so many bytes, most of which do not come.
    let long = [&b"\x00\x01x\x7f"[..], b"\x81\xff\x04", &vec![b'v'; 15 << 10]].concat();
    let many: Vec<u8> = (0..2_500).flat_map(|_| *b"\x00\x01x\x01v").collect();
    let mut held: Held = Vec::new();
    for connection in 0..descriptors(limits.connections) {
        let mut wire = Wire::connect(served.addr).await;
        wire.call(1, &format!("/{LIST}")).await.unwrap();
        wire.answered().await;
        let block = if connection % 8 == 0 { &long } else { &many };
        wire.head(3, "/x", false, block).await.unwrap();
        if connection % 8 == 0 {
            for _ in 0..4 {
                wire.frame(9, 0, 3, &vec![b'v'; 16 << 10]).await.unwrap();
            }
        }
        held.push(Box::new(wire));
    }
    served.settles().await;
    held
}

/// So many connections, or as many as this process and the server can have.
fn descriptors(connections: usize) -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(500);
    if most < connections {
        println!("only {most} connections: the limit on open files is {limit}");
    }
    // Some are kept for callers, and the health check has one.
    most.min(connections * 7 / 8 - 2)
}

async fn calls_and_streams(served: &Served, limits: &Limits) -> Held {
    let names: Vec<_> = (0..280).map(|n| format!("x-{n}")).collect();
    let headers: Vec<_> = names.iter().map(|name| (name.as_str(), "a value of a header")).collect();
    let mut held: Held = Vec::new();
    let mut client = Client::connect(served.addr, 1 << 20).await;
    let watch = framed(&proto::WatchWorkspaceRequest { workspace_id: "harbor".into(), ..Default::default() });
    for stream in 0..limits.streams {
        if stream % 500 == 499 {
            held.push(Box::new(std::mem::replace(&mut client, Client::connect(served.addr, 1 << 20).await)));
        }
        let mut open: Open =
            client.begin("promptd.v1.WorkspaceService/WatchWorkspace", "application/grpc", &headers).await;
        open.body.send_data(watch.clone(), true).unwrap();
        held.push(Box::new(open.begun().await.expect("a stream")));
    }
    // Last, since a call that never ends is given up after a while.
    for call in 0..limits.calls {
        if call % 100 == 99 {
            held.push(Box::new(std::mem::replace(&mut client, Client::connect(served.addr, 1 << 20).await)));
        }
        held.push(Box::new(client.begin(ASSEMBLE, "application/grpc", &headers).await));
    }
    // Another call finds that all are taken, once the server has them all. It may have had the place of one of them, so it leaves
    // one more.
    let taken = async {
        let is_full = |refused: tonic::Status| reason(&refused) == "OVERLOADED";
        while !client.call(ASSEMBLE, &[]).await.is_err_and(is_full) {
            held.push(Box::new(client.begin(ASSEMBLE, "application/grpc", &headers).await));
        }
    };
    timeout(Duration::from_secs(20), taken).await.expect("all calls are taken");
    held
}

/// Each of the worst requests, eight at once.
async fn work(served: &Served) -> Held {
    for request in worst::some() {
        let mut calls = JoinSet::new();
        for _ in 0..8 {
            let client = Client::connect(served.addr, 1 << 20).await;
            let request = request.clone();
            calls.spawn(async move { client.send(request.path, request.content_type, request.body).await });
        }
        calls.join_all().await;
    }
    Vec::new()
}
