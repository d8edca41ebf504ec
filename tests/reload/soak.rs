//! Random saves of every kind over many workspaces, while readers read.
//!
//! Nothing may be stale once a save has had its time, nothing mixed where a folder is swapped, nothing half anywhere.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use promptd_core::finding::Finding;
use tokio::time::timeout;

use promptd_source::{
    faults::Faults,
    store::{State, Store},
};

use crate::{
    saves::{SAVES, Save},
    service::{Service, Sets, options, wait_within, waiting},
    site::{Allowed, Hashes, Shape, Site, served, sha256},
};

/// How long a save may take to be served before it counts as stale: so many waits of that length. A machine that
/// stalls for ten seconds makes one wait long, and no save stale.
const STALE_AFTER: (u32, Duration) = (50, Duration::from_millis(100));

pub struct Plan {
    pub saves: usize,
    pub workspaces: usize,
    pub seed: u64,
    /// One call of the file system in so many fails.
    pub fail_one_in: Option<u64>,
    /// So many bytes of text stay loaded; `None`: all.
    pub resident: Option<usize>,
}

/// What a soak has found.
#[derive(Default)]
pub struct Report {
    pub saves: usize,
    /// Saves that were not served in time, by the save's name.
    pub stale: Vec<String>,
    /// States served that never were on the disk, of workspaces that are swapped as a whole.
    pub mixed: usize,
    /// Texts served that never were complete, by workspace and file.
    pub half: Vec<String>,
    /// States that readers saw.
    pub reads: usize,
    /// From the end of a save until it was served; sorted.
    pub lags: Vec<Duration>,
    /// The same for swaps of `..data`.
    pub swap_lags: Vec<Duration>,
    /// The same for removals, which are believed only after a while.
    pub removal_lags: Vec<Duration>,
    /// The longest lag of each kind of save.
    pub slowest: BTreeMap<&'static str, Duration>,
    /// Calls that failed.
    pub failed_calls: usize,
    /// Reads of a workspace that was not loaded in time.
    pub never_loaded: usize,
    /// Workspaces that were unloaded.
    pub evictions: u64,
    pub sweep_hits: u64,
    pub published: u64,
}

impl Report {
    /// The gates: nothing stale, mixed or half; lag p99 under 150 ms, under 60 ms for a swap (at the median, since a
    /// file's own rest of 50 ms is most of it where the folder was only just written).
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut gate = |fault: bool, what: String| faults.extend(fault.then_some(what));
        gate(!self.stale.is_empty(), format!("{} stale: {:?}", self.stale.len(), self.stale));
        gate(self.mixed > 0, format!("{} mixed", self.mixed));
        gate(self.never_loaded > 0, format!("{} reads of what was never loaded", self.never_loaded));
        gate(!self.half.is_empty(), format!("{} half: {:?}", self.half.len(), self.half));
        faults
    }

    /// The lag gates, for a machine that is not busy with other things.
    #[allow(dead_code, reason = "for the soak alone")]
    pub fn slowness(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (what, lags, limit) in [("lag", &self.lags, 150), ("lag of a swap", &self.swap_lags, 60)] {
            let p99 = quantile(lags, 0.99);
            if p99 > Duration::from_millis(limit) {
                faults.push(format!("{what}: p99 {p99:.1?} is over {limit} ms"));
            }
        }
        faults
    }
}

#[allow(dead_code, reason = "for the soak alone")]
pub fn quantile(sorted: &[Duration], q: f64) -> Duration {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index into a list in memory; `q` is not negative"
    )]
    let index = ((sorted.len() as f64 * q) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or_default()
}

/// A small random generator (xorshift); the same seed gives the same saves.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).unwrap()
    }
}

/// Runs the plan below `folder`; `progress` is called after every save.
pub fn run(folder: &Path, plan: &Plan, progress: &(dyn Fn() + Sync)) -> Report {
    let (root, aside) = (folder.join("workspaces"), folder.join("aside"));
    std::fs::create_dir_all(&root).unwrap();
    // Two thirds plain, the rest half ConfigMaps and half links.
    let shape = |i: usize| match i % 6 {
        4 => Shape::ConfigMap,
        5 => Shape::Symlinked,
        _ => Shape::Plain,
    };
    let sites: Vec<Site> =
        (0..plan.workspaces).map(|i| Site::new(&root, &aside, &format!("ws-{i:02}"), shape(i))).collect();
    let service = Service::with_resident(options(&root), plan.resident);
    let failed_calls = Arc::new(AtomicUsize::new(0));
    let faults = plan.fail_one_in.map(|one_in| fail(folder, one_in, plan.seed, Arc::clone(&failed_calls)));
    let looked_at: Vec<_> = sites.iter().map(|site| (site.id.to_string(), Arc::clone(&site.seen))).collect();

    let report = Mutex::new(Report::default());
    let (left, done) = (AtomicUsize::new(plan.saves), AtomicBool::new(false));
    thread::scope(|scope| {
        let is_done = Sets(&done);
        let reader = scope.spawn(|| read_on(&service.store, &looked_at, &done));
        let mut shares: Vec<Vec<Site>> = (0..WRITERS).map(|_| Vec::new()).collect();
        for (i, site) in sites.into_iter().enumerate() {
            shares[i % WRITERS].push(site);
        }
        let writers: Vec<_> = shares
            .into_iter()
            .enumerate()
            .filter(|(_, share)| !share.is_empty())
            .map(|(i, mut share)| {
                let (store, left, report) = (&service.store, &left, &report);
                let mut random = Random(plan.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + i as u64 + 1);
                scope.spawn(move || write(&mut share, store, left, &mut random, report, progress))
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        drop(is_done);
        let read = reader.join().unwrap();
        let mut report = report.lock().unwrap();
        let Report { reads, mixed, half, never_loaded, .. } = read;
        (report.reads, report.mixed, report.half, report.never_loaded) = (reads, mixed, half, never_loaded);
    });
    drop(faults);
    let mut report = report.into_inner().unwrap();
    report.failed_calls = failed_calls.load(Relaxed);
    report.lags.sort();
    report.swap_lags.sort();
    report.removal_lags.sort();
    report.evictions = service.store.resident().evictions.get();
    report.sweep_hits = service.source.status().sweep_hits.get();
    report.published = service.source.status().published.get();
    report
}

/// Lets one call in so many fail, each by itself.
fn fail(folder: &Path, one_in: u64, seed: u64, failed: Arc<AtomicUsize>) -> Faults {
    /// EIO, EACCES, ENFILE and EMFILE.
    const ERRORS: [i32; 4] = [5, 13, 23, 24];
    let random = Mutex::new(Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1));
    Faults::below(&std::fs::canonicalize(folder).unwrap(), move |_, _| {
        let mut random = random.lock().unwrap();
        if random.below(usize::try_from(one_in).unwrap()) > 0 {
            return None;
        }
        failed.fetch_add(1, Relaxed);
        Some(std::io::Error::from_raw_os_error(ERRORS[random.below(ERRORS.len())]))
    })
}

/// Threads that save, each in its own workspaces.
const WRITERS: usize = 4;

fn write(
    sites: &mut [Site],
    store: &Store,
    left: &AtomicUsize,
    random: &mut Random,
    report: &Mutex<Report>,
    progress: &(dyn Fn() + Sync),
) {
    let waiting = waiting();
    while left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
        let index = random.below(sites.len());
        let site = &mut sites[index];
        let fitting: Vec<&Save> = SAVES.iter().filter(|save| save.on.contains(&site.shape)).collect();
        let save = fitting[random.below(fitting.len())];
        (save.act)(site);
        let ended = Instant::now();
        let (waits, length) = STALE_AFTER;
        let found = (0..waits)
            .find_map(|_| wait_within(&waiting, store, length, site.id.as_str(), |state| site.is_served(state)));
        let lag = ended.elapsed();
        let mut report = report.lock().unwrap();
        report.saves += 1;
        let slowest = report.slowest.entry(save.name).or_default();
        *slowest = lag.max(*slowest);
        match found {
            None => report.stale.push(format!("{} ({:?})", save.name, site.shape)),
            Some(_) if save.removes => report.removal_lags.push(lag),
            Some(_) if save.name.contains("..data") => report.swap_lags.push(lag),
            Some(_) => report.lags.push(lag),
        }
        progress();
    }
}

/// Reads every workspace over and over, and counts the states seen, those mixed and those half-written.
fn read_on(store: &Store, sites: &[(String, Arc<Mutex<Allowed>>)], done: &AtomicBool) -> Report {
    let mut report = Report::default();
    let (waiting, empty) = (waiting(), sha256(b""));
    let mut last: BTreeMap<&str, Hashes> = BTreeMap::new();
    while !done.load(Relaxed) {
        for (id, allowed) in sites {
            let (waits, length) = STALE_AFTER;
            // Many short waits: a machine that stalls for long ends only one of them.
            let wait = || waiting.block_on(async { timeout(length, store.loaded(id)).await.ok() });
            let Some(state) = (0..waits).find_map(|_| wait()) else {
                report.never_loaded += 1;
                continue;
            };
            let Some(inputs) = state.as_deref().and_then(served) else { continue };
            report.reads += 1;
            // Parts that could not be read are of an older version, and the state says so.
            let is_partial = matches!(state.as_deref(), Some(State::Ready(loaded)) if loaded.snapshot.active.iter().any(Finding::is_error));
            if last.get(id.as_str()) == Some(inputs) {
                continue;
            }
            last.insert(id, inputs.clone());
            let allowed = allowed.lock().unwrap();
            let is_whole = allowed.whole.contains(inputs);
            report.mixed += usize::from(allowed.swapped && !is_whole && !is_partial);
            let is_half =
                |path: &Arc<str>, hash: &Arc<str>| !allowed.texts.contains(&(Arc::clone(path), Arc::clone(hash)));
            report.half.extend(inputs.iter().filter(|(path, hash)| is_half(path, hash)).map(|(path, hash)| {
                let how = if **hash == *empty { "empty" } else { "cut" };
                format!("{id}/{path}, {how}")
            }));
        }
        thread::sleep(Duration::from_micros(500));
    }
    report
}
