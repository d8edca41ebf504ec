//! Events that are lost, late, or unavailable.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use crate::service::{Service, options, wait_until};
use promptd_source::{
    Mode, Options, Source, Status, WatchMode,
    events::{Event, EventSender, OpenWatcher, WatchError, Watcher},
    store::State,
};

/// A watcher that sends only what a test sends through it.
#[derive(Clone, Default)]
struct Faulty {
    /// The most watches there can be.
    limit: Option<usize>,
    events: Arc<Mutex<Option<EventSender>>>,
    watched: Arc<Mutex<Vec<PathBuf>>>,
    refused: Arc<AtomicUsize>,
    full: Arc<AtomicBool>,
}

impl Faulty {
    fn with_limit(limit: usize) -> Self {
        Self { limit: Some(limit), full: Arc::new(AtomicBool::new(true)), ..Self::default() }
    }

    fn open(&self) -> OpenWatcher {
        let watcher = self.clone();
        Box::new(move |events| {
            *watcher.events.lock().unwrap() = Some(events);
            Ok(Box::new(watcher))
        })
    }

    fn send(&self, event: Event) {
        self.events.lock().unwrap().as_ref().unwrap().send(event);
    }
}

impl Watcher for Faulty {
    fn watch(&mut self, folder: &Path) -> Result<(), WatchError> {
        let mut watched = self.watched.lock().unwrap();
        if self.full.load(Relaxed) && self.limit.is_some_and(|limit| watched.len() >= limit) {
            self.refused.fetch_add(1, Relaxed);
            return Err(WatchError::WatchLimit);
        }
        watched.push(folder.to_path_buf());
        Ok(())
    }

    fn unwatch(&mut self, folder: &Path) {
        self.watched.lock().unwrap().retain(|watched| watched != folder);
    }
}

fn workspaces(root: &Path, count: usize) {
    for i in 0..count {
        fs::create_dir_all(root.join(format!("ws-{i}/skills/s"))).unwrap();
        fs::write(root.join(format!("ws-{i}/AGENTS.md")), "V1").unwrap();
        let skill = format!("---\nname: s\ndescription: A skill of {i}.\n---\n");
        fs::write(root.join(format!("ws-{i}/skills/s/SKILL.md")), skill).unwrap();
    }
}

fn has(text: &str) -> impl Fn(&State) -> bool {
    move |state| {
        matches!(state, State::Ready(loaded)
            if loaded.snapshot.documents.get("AGENTS.md").is_some_and(|document| &*document.text == text))
    }
}

/// A watcher that notes how far the start is whenever it is asked to watch a folder.
struct Noting {
    status: Arc<Status>,
    noted: Arc<Mutex<BTreeSet<(u64, u64)>>>,
}

impl Watcher for Noting {
    fn watch(&mut self, _: &Path) -> Result<(), WatchError> {
        self.noted.lock().unwrap().insert(self.status.progress());
        Ok(())
    }

    fn unwatch(&mut self, _: &Path) {}
}

#[test]
fn the_start_says_how_far_it_is() {
    let root = tempfile::tempdir().unwrap();
    for i in 0..1_200 {
        fs::create_dir(root.path().join(format!("ws-{i}"))).unwrap();
    }
    let (status, noted) = (Arc::<Status>::default(), Arc::<Mutex<_>>::default());
    let watcher = Noting { status: Arc::clone(&status), noted: Arc::clone(&noted) };
    let open: OpenWatcher = Box::new(|_| Ok(Box::new(watcher)));
    let source = Source::start_with(options(root.path()), Arc::default(), Arc::clone(&status), open).unwrap();
    assert_eq!(status.progress(), (1_200, 1_200));
    let noted = noted.lock().unwrap();
    let loading: Vec<u64> = noted.iter().filter(|(_, known)| *known == 1_200).map(|(loaded, _)| *loaded).collect();
    assert!(loading.len() > 2 && loading.contains(&0), "{noted:?}");
    source.stop();
}

#[test]
fn after_lost_events_everything_is_looked_at() {
    let root = tempfile::tempdir().unwrap();
    workspaces(root.path(), 3);
    let watcher = Faulty::default();
    let service = Service::start_with(options(root.path()), watcher.open());
    // The start looks again at files that were new then: only what follows the first edit shows what a loss does.
    for (text, new) in [("V2", "first"), ("V3", "second"), ("V4", "third")] {
        fs::write(root.path().join("ws-1/AGENTS.md"), text).unwrap();
        fs::create_dir(root.path().join(new)).unwrap();
        fs::write(root.path().join(new).join("AGENTS.md"), "V1").unwrap();
        watcher.send(Event::Lost);
        service.wait("ws-1", text, has(text));
        service.wait(new, "a workspace that was created unseen", has("V1"));
    }
    assert_eq!(service.source.status().rescans.get(), 3);
}

#[test]
fn the_sweep_finds_what_no_event_reported_and_counts_it() {
    let root = tempfile::tempdir().unwrap();
    workspaces(root.path(), 3);
    let swept = Options { sweep_interval: Duration::from_millis(50), ..options(root.path()) };
    let service = Service::start_with(swept, Faulty::default().open());
    assert_eq!(service.source.status().mode(), Mode::Events);
    // The start looks again at files that were new then, so that the first may be found by it; the second by the sweep.
    for text in ["V2", "V3"] {
        fs::write(root.path().join("ws-2/AGENTS.md"), text).unwrap();
        service.wait("ws-2", "a save without events", has(text));
    }
    assert!(service.source.status().sweep_hits.get() >= 1);
}

#[test]
fn past_the_watch_limit_edits_are_found_by_polling_until_there_is_room() {
    let root = tempfile::tempdir().unwrap();
    workspaces(root.path(), 20);
    let watcher = Faulty::with_limit(5);
    let polling = Options {
        poll_interval: Duration::from_millis(100),
        sweep_interval: Duration::from_millis(200),
        ..options(root.path())
    };
    let service = Service::start_with(polling, watcher.open());
    let status = service.source.status();
    assert_eq!(service.store.list().len(), 20, "all are served");
    assert_eq!(status.mode(), Mode::Mixed);
    assert!(status.polled.get() >= 15, "{}", status.polled.get());
    assert!(status.watch_errors().any(|(error, count)| error == WatchError::WatchLimit && count.get() > 0));
    assert!(status.problems().iter().any(|problem| problem.contains("fs.inotify.max_user_watches")), "{status:?}");
    fs::write(root.path().join("ws-19/AGENTS.md"), "V2").unwrap();
    service.wait("ws-19", "V2 by polling", has("V2"));

    wait_until("said what the limit must be", || status.watch_limit_needed.get(), |needed| *needed > 0);
    assert!(status.poll_round.get() >= 0.1, "a round takes an interval at least: {status:?}");

    watcher.full.store(false, Relaxed);
    let mut rounds = 0;
    while status.polled.get() > 0 {
        // Each edit takes a round of polling; the sweep in between tries to watch again.
        rounds += 1;
        let text = format!("round {rounds}");
        fs::write(root.path().join("ws-19/AGENTS.md"), &text).unwrap();
        service.wait("ws-19", "the round's text", has(&text));
        assert!(rounds < 100, "still polled: {status:?}");
    }
    assert_eq!(status.mode(), Mode::Events);
    let lacking = || (status.watch_limit_needed.get(), status.poll_round.get());
    wait_until("enough", lacking, |lacking| *lacking == (0, 0.0));
}

#[test]
fn without_any_watcher_everything_is_polled() {
    let root = tempfile::tempdir().unwrap();
    workspaces(root.path(), 3);
    let polling = Options { poll_interval: Duration::from_millis(100), ..options(root.path()) };
    let service = Service::start_with(polling, Box::new(|_| Err(WatchError::InstanceLimit)));
    let status = service.source.status();
    assert_eq!(status.mode(), Mode::Polling);
    assert!(status.problems().iter().any(|problem| problem.contains("fs.inotify.max_user_instances")), "{status:?}");
    fs::write(root.path().join("ws-0/AGENTS.md"), "V2").unwrap();
    service.wait("ws-0", "V2 by polling", has("V2"));
}

#[test]
fn polling_can_be_configured() {
    let root = tempfile::tempdir().unwrap();
    workspaces(root.path(), 3);
    let polling = Options { watch: WatchMode::Poll, poll_interval: Duration::from_millis(100), ..options(root.path()) };
    let service = Service::start(polling);
    assert_eq!((service.source.status().mode(), service.source.status().watches.get()), (Mode::Polling, 0));
    fs::write(root.path().join("ws-0/AGENTS.md"), "V2").unwrap();
    service.wait("ws-0", "V2 by polling", has("V2"));
    fs::create_dir(root.path().join("new")).unwrap();
    fs::write(root.path().join("new/AGENTS.md"), "V1").unwrap();
    service.wait("new", "a new workspace by polling", has("V1"));
}

#[test]
fn watches_are_on_folders_and_are_released() {
    let root = tempfile::tempdir().unwrap();
    workspaces(root.path(), 4);
    fs::create_dir(root.path().join("ws-0/node_modules")).unwrap();
    for i in 0..300 {
        fs::write(root.path().join(format!("ws-0/node_modules/{i}.js")), "").unwrap();
        fs::write(root.path().join(format!("ws-0/{i}.txt")), "").unwrap();
    }
    let faulty = Faulty::default();
    let service = Service::start_with(options(root.path()), faulty.open());
    let count = service.source.status().watches.get();
    let root_path = fs::canonicalize(root.path()).unwrap();
    let watched = faulty.watched.lock().unwrap().clone();
    assert_eq!(usize::try_from(count), Ok(watched.len()));
    assert!(watched.iter().all(|path| path.is_dir()) && !watched.contains(&root_path.join("ws-0/node_modules")));
    assert!(watched.len() <= 2 + 4 * 3, "{watched:?}");

    fs::remove_dir_all(root.path().join("ws-0")).unwrap();
    faulty.send(Event::Lost);
    service.wait_gone("ws-0");
    fs::write(root.path().join("ws-1/AGENTS.md"), "V2").unwrap();
    faulty.send(Event::Lost);
    service.wait("ws-1", "V2", has("V2"));
    let watched = faulty.watched.lock().unwrap().clone();
    assert!(!watched.iter().any(|path| path.starts_with(root_path.join("ws-0"))), "{watched:?}");
}
