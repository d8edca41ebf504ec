//! The worst requests for each RPC, eight at once, and how long a health check and a small call take beside them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{task::JoinSet, time::Instant};

use super::{client::Client, is_long, probe::Probe, served::Served, worst};

/// How many callers make the worst call, one after the other.
const CALLERS: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn the_worst_requests_hold_up_no_other_call() {
    let _alone = super::ALONE.lock().await;
    // A debug build takes twenty times as long, and a busy machine has no core to spare.
    let (length, longest) = if is_long() {
        (Duration::from_secs(4), Duration::from_millis(20))
    } else {
        (Duration::from_millis(400), Duration::from_secs(10))
    };
    let served = Served::start("grpc: {keepalive_interval: 1h}\n");
    let title = "| request | calls | each | health p50, p99, max | call p50, p99, max |\n|---|---|---|---|---|";
    println!("{title}");
    let mut table = vec![title.to_owned()];
    let mut faults = Vec::new();
    for request in worst::some() {
        let (health, plain) = (Probe::health(served.addr), Probe::plain(served.addr));
        let (stop, made, began) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)), Instant::now());
        let mut callers = JoinSet::new();
        for _ in 0..CALLERS {
            let (client, request) = (Client::connect(served.addr, 1 << 20).await, request.clone());
            let (stop, made) = (Arc::clone(&stop), Arc::clone(&made));
            callers.spawn(async move {
                loop {
                    client.send(request.path, request.content_type, request.body.clone()).await;
                    made.fetch_add(1, Ordering::Relaxed);
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        tokio::time::sleep(length).await;
        let (health, plain) = (health.stop(), plain.stop());
        stop.store(true, Ordering::Relaxed);
        callers.join_all().await;
        let calls = made.load(Ordering::Relaxed);
        let each = began.elapsed() * u32::try_from(CALLERS).unwrap() / u32::try_from(calls).unwrap();
        let name = request.name;
        let shown = [health, plain].map(|took| format!("{:.1?}, {:.1?}, {:.1?}", took.p50, took.p99, took.max));
        let row = format!("| {name} | {calls} | {each:.0?} | {} | {} |", shown[0], shown[1]);
        println!("{row}");
        table.push(row);
        for (what, took) in [("health", health), ("a small call", plain)] {
            if took.p99 > longest {
                faults.push(format!("{name}: the p99 of {what} is {:?} of {} calls", took.p99, took.calls));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}\n{}", table.join("\n"));
}
