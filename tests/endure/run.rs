//! Many calls, edits among them, and what the service's memory does meanwhile.

use std::{collections::BTreeMap, path::Path};

use tokio::task::JoinSet;

use super::{
    calls::{Clients, Random},
    site::{Site, WORKSPACES, resident, write},
};

/// How many calls are open at a time, each on a connection of its own.
const CALLERS: usize = 8;
/// How many calls one caller makes between two looks at the memory.
const STRETCH: usize = 250;
/// The part of the calls, in percent, after which memory must not grow any more: by then every buffer, thread and
/// revision that is kept is there.
const WARM_UP: usize = 30;
/// How much the memory may differ after that, in bytes: what an allocator keeps to itself goes up and down by as much.
const NOISE: u64 = 12 << 20;

/// How it was after so many calls.
#[derive(Debug, Clone, Copy)]
pub struct Point {
    pub calls: usize,
    pub resident: u64,
    pub series: usize,
}

#[derive(Debug)]
pub struct Report {
    pub points: Vec<Point>,
    /// How many calls ended how.
    pub codes: BTreeMap<String, usize>,
}

/// Makes at least so many calls over the workspaces in `folder`; `told` gets each point as it is reached.
pub async fn run(folder: &Path, calls: usize, seed: u64, told: &dyn Fn(&Point)) -> Report {
    let site = Site::start(folder).await;
    let mut callers = Vec::new();
    for caller in 0..CALLERS {
        callers.push((Clients::connect(&site.address).await, Random(seed ^ ((caller as u64) << 32))));
    }
    let (mut points, mut codes) = (Vec::new(), BTreeMap::new());
    let mut made = 0;
    while made < calls {
        let edited = WORKSPACES[points.len() % WORKSPACES.len()];
        write(&folder.join(edited).join("SOUL.md"), &format!("Calm, after {made} calls.\n"));
        let mut stretch = JoinSet::new();
        for (mut clients, mut random) in callers.drain(..) {
            stretch.spawn(async move {
                let mut codes = Vec::with_capacity(STRETCH);
                for _ in 0..STRETCH {
                    codes.push(clients.call(&mut random).await);
                }
                ((clients, random), codes)
            });
        }
        for (caller, ended) in stretch.join_all().await {
            callers.push(caller);
            made += ended.len();
            for code in ended {
                *codes.entry(format!("{code:?}")).or_default() += 1;
            }
        }
        let point = Point { calls: made, resident: resident(), series: site.series() };
        told(&point);
        points.push(point);
    }
    Report { points, codes }
}

impl Report {
    /// What did not hold; empty: all is well.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let last = self.points[self.points.len() - 1];
        let warm = self.points.iter().find(|point| point.calls * 100 >= last.calls * WARM_UP).unwrap();
        if last.resident > warm.resident + NOISE {
            let grown = (last.resident - warm.resident) >> 20;
            faults.push(format!("memory grew by {grown} MiB from call {} to call {}", warm.calls, last.calls));
        }
        if last.series != warm.series {
            faults.push(format!("the metrics grew from {} to {} series", warm.series, last.series));
        }
        let known = ["Ok", "NotFound", "InvalidArgument"];
        let others = self.codes.iter().filter(|(code, _)| !known.contains(&code.as_str()));
        faults.extend(others.map(|(code, count)| format!("{count} calls ended {code}")));
        for code in known.iter().filter(|code| !self.codes.contains_key(**code)) {
            faults.push(format!("no call ended {code}"));
        }
        faults
    }
}
