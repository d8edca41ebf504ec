//! Everything below the prefix, followed: read by range, watched from that revision, and read by range again after a break,
//! a compaction, and now and then.
//!
//! A change is taken over whole: a workspace's new files are all there before its tree is replaced, and what one
//! transaction changed is replaced together.

mod session;
mod state;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::Arc,
    time::Duration,
};

use promptd_core::{canary::Canary, digest::Digest, finding::Finding, id::Id, workspace::Tree};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, timeout_at},
};

use self::{
    session::{First, Session},
    state::{LiveState, OF_CACHE, Published, State},
};
use crate::{
    blobs::Blobs,
    cache::Cache,
    checkout::Checkout,
    error::{Error, ErrorKind},
    options::{Options, ReadCredentials},
    status::Status,
};

/// How long a start tries to read from etcd, before it goes on with what the cache has.
const START_LIMIT: Duration = Duration::from_secs(5);

/// The workspaces of etcd, followed; dropping it stops that.
pub struct Mirror {
    state: Arc<State>,
    status: Arc<Status>,
    task: JoinHandle<()>,
}

/// A workspace as it is in etcd.
pub struct Workspace {
    /// Its newest state that can be used; `None`: it has had none.
    pub tree: Option<Arc<dyn Tree + Send + Sync>>,
    /// What some turns get instead of it.
    pub candidate: Option<(Canary, Arc<dyn Tree + Send + Sync>)>,
    /// Why a newer one, or a candidate, cannot be used.
    pub fault: Option<Finding>,
}

impl Mirror {
    /// Reads everything, and begins to follow it. Where etcd does not answer soon, it goes on with what the cache has. The
    /// error is of the cache.
    pub async fn start(options: Options, credentials: ReadCredentials, status: Arc<Status>) -> Result<Self, Error> {
        let opened = options.clone();
        let cache = tokio::task::spawn_blocking(move || open_cache(&opened)).await;
        let cache = cache.map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))??.map(Arc::new);
        if let Some(at) = cache.as_ref().and_then(|cache| cache.confirmed()) {
            status.set_confirmed(at);
        }
        let state = Arc::new(State::new(Blobs::new(cache.clone()), options.prefix.clone()));
        let (first, mut read) = watch::channel(First::Connecting);
        let session = Session {
            options,
            credentials,
            state: Arc::clone(&state),
            status: Arc::clone(&status),
            cache: cache.clone(),
            first,
        };
        let task = tokio::spawn(session.run());
        if !is_read(&mut read).await {
            if let Some(cache) = cache {
                restore(&state, cache).await?;
                state.report(&status);
            }
            let workspaces = state.ids().len();
            tracing::warn!(target: crate::LOG_TARGET, workspaces, "etcd cannot be read: starting with what the cache has");
        }
        Ok(Self { state, status, task })
    }

    /// How it is going.
    #[must_use]
    pub fn status(&self) -> &Arc<Status> {
        &self.status
    }

    /// The workspaces that there are, in order.
    #[must_use]
    pub fn ids(&self) -> Vec<Id> {
        self.state.ids()
    }

    /// A workspace; `None`: it does not exist.
    #[must_use]
    pub fn workspace(&self, id: &Id) -> Option<Workspace> {
        self.state.workspace(id)
    }

    /// Writes the newest usable state of a workspace to a folder; false: it is there already, or none is published. Blocks.
    pub fn check_out(&self, id: &Id, checkout: &Checkout) -> io::Result<bool> {
        let Some((revision, tree)) = self.state.files_of(id) else { return Ok(false) };
        checkout.write(revision, &tree.contents().map_err(io::Error::other)?)
    }

    /// These workspaces and all that have changed since the last call, as they are at one moment, so that what one transaction
    /// changed is read together; `None`: it does not exist.
    #[must_use]
    pub fn read(&self, ids: &[Id]) -> BTreeMap<Id, Option<Workspace>> {
        self.state.read_with_changed(ids)
    }

    /// The workspaces that have changed and were not [`read`](Self::read) since.
    #[must_use]
    pub fn changed(&self) -> Vec<Id> {
        self.state.changed()
    }

    /// Says when workspaces have changed.
    #[must_use]
    pub fn news(&self) -> watch::Receiver<()> {
        self.state.news()
    }

    /// The revision of the newest usable state of a workspace; `None`: it has none.
    #[must_use]
    pub fn revision(&self, id: &Id) -> Option<Digest> {
        self.state.files_of(id).map(|(revision, _)| revision)
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits until everything was read once. A reading that has begun may take as long as it needs; false: none has begun within the
/// limit, or none that did was completed.
async fn is_read(first: &mut watch::Receiver<First>) -> bool {
    let limit = Instant::now() + START_LIMIT;
    loop {
        let connected = first.wait_for(|first| *first != First::Connecting);
        if !matches!(timeout_at(limit, connected).await, Ok(Ok(_))) {
            return false;
        }
        match first.wait_for(|first| *first != First::Reading).await.map(|first| *first) {
            Ok(First::Done) => return true,
            Ok(_) if Instant::now() < limit => {}
            Ok(_) | Err(_) => return false,
        }
    }
}

fn open_cache(options: &Options) -> Result<Option<Cache>, Error> {
    let Some(cache) = &options.cache else { return Ok(None) };
    let failed = |error: io::Error| {
        let dir = cache.dir.display();
        let message = match error.kind() {
            io::ErrorKind::WouldBlock => {
                format!("the cache {dir} is used by another process: give each a folder of its own")
            }
            _ => format!("the cache {dir} cannot be used: {error}"),
        };
        Error::new(ErrorKind::Invalid, message)
    };
    Cache::open(cache, &options.prefix).map(Some).map_err(failed)
}

/// Takes over what the cache has of an earlier run, except for workspaces of which a file is damaged or not there.
async fn restore(state: &State, cache: Arc<Cache>) -> Result<(), Error> {
    let read = tokio::task::spawn_blocking(move || {
        let live = cache.live()?;
        let read = live.iter().filter_map(|(key, value)| LiveState::read(key.kind, value).ok());
        let files: BTreeSet<Digest> =
            read.flat_map(|state| state.manifest.files.into_values()).map(|file| file.sha256).collect();
        // What is not as its hash says is removed by that, and then not there.
        for sha256 in files {
            let _ = cache.read(sha256);
        }
        io::Result::Ok(live)
    });
    let live = match read.await {
        Ok(Ok(live)) => live,
        Ok(Err(error)) => {
            tracing::warn!(target: crate::LOG_TARGET, %error, "the cache cannot be read");
            return Ok(());
        }
        Err(error) => return Err(Error::new(ErrorKind::Invalid, error.to_string())),
    };
    let published = live.into_iter().map(|(key, value)| Published { key, mod_revision: OF_CACHE, value: Some(value) });
    state.take(published.collect(), None, None).await
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::sleep;

    use super::*;
    use crate::{
        layout::{Kind, LiveKey, Prefix},
        manifest::Manifest,
    };

    /// What a start makes of readings that each take so long and fail, but for the last; and after how long.
    async fn started(reading: Duration, readings: usize) -> (bool, Duration) {
        let (sender, mut first) = watch::channel(First::Connecting);
        let began = Instant::now();
        let session = async move {
            for left in (0..readings).rev() {
                sender.send_replace(First::Reading);
                sleep(reading).await;
                sender.send_replace(if left == 0 { First::Done } else { First::Connecting });
                sleep(Duration::from_millis(50)).await;
            }
            pending::<()>().await;
        };
        let read = tokio::select! {
            read = is_read(&mut first) => read,
            () = session => false,
        };
        (read, began.elapsed())
    }

    #[tokio::test]
    async fn what_is_gone_from_etcd_does_not_come_back_from_the_cache() {
        let manifest = Manifest {
            sequence: 1,
            parent: None,
            author: String::new(),
            message: String::new(),
            time: "2026-11-29T13:00:00Z".parse().unwrap(),
            again: None,
            files: BTreeMap::new(),
        };
        let key = LiveKey { id: Id::parse("ws").unwrap(), kind: Kind::Newest };
        let of_cache = || vec![Published { key: key.clone(), mod_revision: OF_CACHE, value: Some(manifest.write()) }];
        let state = State::new(Blobs::new(None), Prefix::parse("/p").unwrap());
        state.take(of_cache(), None, None).await.unwrap();
        assert_eq!(
            state.gone_at_last(&BTreeMap::new()),
            std::slice::from_ref(&key),
            "what was there when etcd was read"
        );
        state.take(vec![Published { key: key.clone(), mod_revision: 1, value: None }], None, None).await.unwrap();
        state.take(of_cache(), None, None).await.unwrap();
        assert!(state.ids().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_start_waits_for_a_reading_and_not_for_readings_that_fail() {
        let seconds = Duration::from_secs;
        assert_eq!(started(seconds(60), 1).await, (true, seconds(60)));
        assert!(started(seconds(1), 2).await.0, "it was tried again");
        assert_eq!(started(seconds(0), 0).await, (false, START_LIMIT));
        for reading in [Duration::ZERO, seconds(1), seconds(10)] {
            let (read, took) = started(reading, 1_000).await;
            assert!(!read && took <= START_LIMIT + reading, "{reading:?} {took:?}");
        }
    }
}
