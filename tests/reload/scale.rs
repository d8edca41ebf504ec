//! Many workspaces: how long the start takes, what they weigh, what idling costs, how fast a save is seen.

use std::{
    fmt, fs,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;

use crate::{
    many::make,
    service::{Service, options},
    soak::quantile,
};

/// How long it is left alone.
const IDLE: Duration = Duration::from_secs(30);
/// Saves made one after another.
const SAVES: usize = 60;

pub struct Figures {
    workspaces: usize,
    bytes: u64,
    start: Duration,
    /// How much the process has grown.
    memory: u64,
    /// Of one core, in percent.
    idle_cpu: f64,
    lags: Vec<Duration>,
}

/// Makes the workspaces below `folder`, about 30 KB each, and measures.
pub fn measure(folder: &Path, workspaces: usize, bar: &dyn Fn(usize) -> ProgressBar) -> Figures {
    let making = bar(workspaces).with_message("workspaces made");
    let bytes = (0..workspaces)
        .map(|i| {
            making.inc(1);
            make(&folder.join(format!("ws-{i:05}")), i)
        })
        .sum();
    making.finish_and_clear();

    let before = memory();
    let began = Instant::now();
    let service =
        Service::start(promptd_source::Options { sweep_interval: Duration::from_secs(10), ..options(folder) });
    let start = began.elapsed();
    assert_eq!(service.store.list().len(), workspaces);
    let memory = memory().saturating_sub(before);

    let (cpu, idled) = (cpu_time(), Instant::now());
    let idling = bar(30).with_message("seconds idle");
    for _ in 0..30 {
        sleep(IDLE / 30);
        idling.inc(1);
    }
    idling.finish_and_clear();
    let idle_cpu = cpu_time().saturating_sub(cpu).as_secs_f64() / idled.elapsed().as_secs_f64() * 100.0;

    let mut lags: Vec<Duration> = (0..SAVES)
        .map(|i| {
            let id = format!("ws-{:05}", i * 7_919 % workspaces);
            let text = format!("Saved, {i}.\n");
            fs::write(folder.join(&id).join("SOUL.md"), &text).unwrap();
            let hash = crate::site::sha256(text.as_bytes());
            let (_, lag) = service.wait(&id, "the save", |state| {
                crate::site::served(state).is_some_and(|inputs| inputs.get("SOUL.md").is_some_and(|h| **h == *hash))
            });
            lag
        })
        .collect();
    lags.sort();
    Figures { workspaces, bytes, start, memory, idle_cpu, lags }
}

/// Resident bytes of this process.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// What this process has used of all cores.
fn cpu_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/schedstat").ok();
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let nanos = |text: &str| text.split_whitespace().next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    let all: u64 = tasks.filter_map(|t| fs::read_to_string(t.path().join("schedstat")).ok()).map(|s| nanos(&s)).sum();
    Duration::from_nanos(all.max(stat.map_or(0, |s| nanos(&s))))
}

impl Figures {
    /// The gates.
    pub fn faults(&self) -> Vec<String> {
        let p99 = quantile(&self.lags, 0.99);
        let allowed = 2 * self.bytes + (150 << 20);
        [
            (self.start > Duration::from_secs(10), format!("the start took {:.1?}, over 10 s", self.start)),
            (self.memory > allowed, format!("{} MB of memory, over {}", self.memory >> 20, allowed >> 20)),
            (self.idle_cpu > 2.0, format!("{:.1} % CPU when idle, over 2 %", self.idle_cpu)),
            (p99 > Duration::from_millis(150), format!("save lag p99 {p99:.1?}, over 150 ms")),
        ]
        .into_iter()
        .filter_map(|(missed, what)| missed.then_some(what))
        .collect()
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99] = [0.5, 0.99].map(|q| quantile(&self.lags, q));
        writeln!(f, "workspaces  {} of {} KB each", self.workspaces, self.bytes / 1000 / self.workspaces as u64)?;
        writeln!(f, "start       {:.2?}", self.start)?;
        writeln!(f, "memory      {} MB for {} MB on disk", self.memory >> 20, self.bytes >> 20)?;
        writeln!(f, "idle CPU    {:.2} %", self.idle_cpu)?;
        write!(f, "save lag    p50 {p50:.1?}  p99 {p99:.1?}")
    }
}
