//! A source and its store, and waiting for what they serve.

#![allow(dead_code, reason = "the soak and the tests each use a part")]

use std::{
    fmt::Debug,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use promptd_source::{
    External, Options, Source,
    events::OpenWatcher,
    store::{State, Store},
};
use tokio::{runtime::Runtime, time::timeout};

/// Far longer than any correct delay: only a revision that never comes takes so long.
pub const NEVER: Duration = Duration::from_secs(20);

/// Sets a flag when it is dropped: also where a test fails, so that threads which go on until then end.
pub struct Sets<'a>(pub &'a AtomicBool);

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

pub struct Service {
    pub store: Arc<Store>,
    pub source: Source,
    waiting: Runtime,
}

impl Service {
    pub fn start(options: Options) -> Self {
        Self::with_resident(options, None)
    }

    /// Of whose workspaces only so many bytes stay loaded.
    pub fn with_resident(options: Options, resident: Option<usize>) -> Self {
        let store = Arc::new(Store::default().with_resident(resident));
        let source = Source::start(options, Arc::clone(&store), Arc::default()).unwrap();
        Self { store, source, waiting: waiting() }
    }

    pub fn start_with(options: Options, watcher: OpenWatcher) -> Self {
        let store = Arc::new(Store::default());
        let source = Source::start_with(options, Arc::clone(&store), Arc::default(), watcher).unwrap();
        Self { store, source, waiting: waiting() }
    }

    pub fn beside(external: Arc<dyn External>, options: Options) -> Self {
        Self::beside_resident(external, options, None)
    }

    /// Of whose workspaces only so many bytes stay loaded.
    pub fn beside_resident(external: Arc<dyn External>, options: Options, resident: Option<usize>) -> Self {
        let store = Arc::new(Store::default().with_resident(resident));
        let source = Source::start_beside(external, options, Arc::clone(&store), Arc::default()).unwrap();
        Self { store, source, waiting: waiting() }
    }

    /// Serves every folder of `root`; the sweep is so rare that edits are found by events alone.
    pub fn of_root(root: &Path) -> Self {
        Self::start(options(root))
    }

    /// Waits until the workspace's state is as wanted, and says how long it took; panics with `what` if it never is.
    pub fn wait(&self, id: &str, what: &str, wanted: impl Fn(&State) -> bool) -> (Arc<State>, Duration) {
        self.wait_within(NEVER, id, wanted).unwrap_or_else(|| {
            panic!("{id}: never served {what}; it is {:?}\n{:?}", self.store.get(id), self.source.status())
        })
    }

    pub fn wait_within(
        &self,
        limit: Duration,
        id: &str,
        wanted: impl Fn(&State) -> bool,
    ) -> Option<(Arc<State>, Duration)> {
        wait_within(&self.waiting, &self.store, limit, id, wanted)
    }

    /// The workspace as a call finds it, which waits until it is loaded.
    pub fn loaded(&self, id: &str) -> Arc<State> {
        let loaded = async { timeout(NEVER, self.store.loaded(id)).await };
        self.waiting.block_on(loaded).unwrap_or_else(|_| panic!("{id} is never loaded")).expect("it exists")
    }

    /// Waits until the workspace is unloaded. A caller gets what was loaded for it before room is made, and to follow the
    /// workspace would keep it loaded, so it is asked for again and again.
    pub fn wait_unloaded(&self, id: &str) {
        wait_until("unloaded", || self.store.get(id), |state| matches!(state.as_deref(), Some(State::Cold(_))));
    }

    /// Waits until the workspace is no longer served.
    pub fn wait_gone(&self, id: &str) {
        let gone = async {
            let mut ids = self.store.watch_ids();
            while self.store.get(id).is_some() {
                ids.changed().await.unwrap();
            }
        };
        self.waiting.block_on(async { timeout(NEVER, gone).await }).unwrap_or_else(|_| panic!("{id} never went"));
    }
}

/// Looks again and again until what is seen is as wanted, and gives it: for what no event tells of.
pub fn wait_until<T: Debug>(what: &str, mut look: impl FnMut() -> T, wanted: impl Fn(&T) -> bool) -> T {
    let began = Instant::now();
    loop {
        let seen = look();
        if wanted(&seen) {
            return seen;
        }
        assert!(began.elapsed() < NEVER, "never {what}; it is {seen:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn options(root: &Path) -> Options {
    Options { roots: vec![PathBuf::from(root)], sweep_interval: Duration::from_secs(3600), ..Options::default() }
}

pub fn waiting() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

/// Waits for a state of a workspace that may not be there yet.
pub fn wait_within(
    waiting: &Runtime,
    store: &Store,
    limit: Duration,
    id: &str,
    wanted: impl Fn(&State) -> bool,
) -> Option<(Arc<State>, Duration)> {
    let began = Instant::now();
    let found = async {
        let mut ids = store.watch_ids();
        loop {
            if let Some(mut states) = store.watch(id) {
                store.wake(id);
                let state = states.wait_for(|state| matches!(**state, State::Gone) || wanted(state)).await;
                match state.map(|state| Arc::clone(&state)) {
                    Ok(state) if !matches!(*state, State::Gone) => return state,
                    _ => {}
                }
            }
            if store.get(id).is_none() {
                ids.changed().await.unwrap();
            }
        }
    };
    let state = waiting.block_on(async { timeout(limit, found).await }).ok()?;
    Some((state, began.elapsed()))
}
