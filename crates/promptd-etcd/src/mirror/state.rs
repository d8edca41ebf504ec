//! The workspaces as they were read last, and which of them have changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use promptd_core::{
    canary::Canary,
    digest::Digest,
    finding::{Code, Finding, Place},
    id::Id,
    workspace::Tree,
};
use tokio::sync::watch;

use super::Workspace;
use crate::{
    blobs::{self, Blobs},
    cache::Cache,
    candidate::Candidate,
    client::Client,
    error::Error,
    layout::{Kind, LiveKey, Prefix},
    manifest::Manifest,
    status::Status,
    tree::PublishedTree,
};

/// The workspaces as they were read last.
pub(super) struct State {
    pub(super) blobs: Blobs,
    prefix: Prefix,
    live: RwLock<BTreeMap<LiveKey, Known>>,
    /// Everything was read from etcd once: the cache has nothing to add. It changes under the lock of `live`.
    is_whole: AtomicBool,
    /// Those that have changed since they were read. Whoever has both locks takes that of `live` first.
    changed: Mutex<BTreeSet<Id>>,
    news: watch::Sender<()>,
}

/// The revision of a manifest that is from the cache: older than any.
pub(super) const OF_CACHE: i64 = 0;

/// What is known of a key.
struct Known {
    /// Of what is there now, or [`OF_CACHE`].
    mod_revision: i64,
    /// The newest that can be used.
    usable: Option<Arc<Usable>>,
    /// Why that is not what is there now.
    fault: Option<String>,
}

/// A state that can be served.
struct Usable {
    tree: Arc<PublishedTree>,
    /// The SHA-256 of its manifest.
    revision: Digest,
    /// The revision before.
    parent: Option<Digest>,
    /// Which turns get it; `None`: all that get no other.
    canary: Option<Canary>,
}

/// A published state, as etcd says it.
pub(super) struct LiveState {
    pub(super) manifest: Manifest,
    revision: Digest,
    canary: Option<Canary>,
}

impl LiveState {
    /// Reads the value of a key.
    pub(super) fn read(kind: Kind, value: &[u8]) -> Result<Self, String> {
        let read = match kind {
            Kind::Newest => {
                Manifest::read(value).map(|manifest| Self { manifest, revision: Digest::of(value), canary: None })
            }
            Kind::Canary => Candidate::read(value).map(|Candidate { canary, manifest, revision }| Self {
                manifest,
                revision,
                canary: Some(canary),
            }),
        };
        read.map_err(|invalid| invalid.to_string())
    }
}

/// A key's next state, and its revision: a state, or why there is none; `None`: it was removed.
type Next = (LiveKey, i64, Option<Result<Usable, String>>);

/// The value of a key as etcd has it now.
pub(super) struct Published {
    pub(super) key: LiveKey,
    pub(super) mod_revision: i64,
    /// `None`: it was removed.
    pub(super) value: Option<Vec<u8>>,
}

impl State {
    pub(super) fn new(blobs: Blobs, prefix: Prefix) -> Self {
        Self {
            blobs,
            prefix,
            live: RwLock::default(),
            is_whole: AtomicBool::new(false),
            changed: Mutex::default(),
            news: watch::Sender::new(()),
        }
    }

    pub(super) fn ids(&self) -> Vec<Id> {
        self.read().keys().filter(|key| key.kind == Kind::Newest).map(|key| key.id.clone()).collect()
    }

    pub(super) fn workspace(&self, id: &Id) -> Option<Workspace> {
        self.workspace_of(&self.read(), id)
    }

    /// These workspaces and all that have changed since the last call, as they are at one moment.
    pub(super) fn read_with_changed(&self, ids: &[Id]) -> BTreeMap<Id, Option<Workspace>> {
        let live = self.read();
        let changed = std::mem::take(&mut *self.changes());
        let ids: BTreeSet<Id> = changed.into_iter().chain(ids.iter().cloned()).collect();
        ids.into_iter().map(|id| (id.clone(), self.workspace_of(&live, &id))).collect()
    }

    fn workspace_of(&self, live: &BTreeMap<LiveKey, Known>, id: &Id) -> Option<Workspace> {
        let known = |kind| live.get(&LiveKey { id: id.clone(), kind });
        let newest = known(Kind::Newest)?;
        let stable = newest.usable.as_ref();
        let mut fault = newest.fault.as_ref().map(|why| self.fault(id, Kind::Newest, why));
        let mut candidate = None;
        if let Some(canary) = known(Kind::Canary) {
            match in_use(stable, canary) {
                Ok(found) => candidate = Some(found),
                Err(why) => fault = fault.or_else(|| Some(self.fault(id, Kind::Canary, &why))),
            }
        }
        Some(Workspace { tree: stable.map(|stable| Arc::clone(&stable.tree) as _), candidate, fault })
    }

    /// The revision and the files of the newest state that can be used.
    pub(super) fn files_of(&self, id: &Id) -> Option<(Digest, Arc<PublishedTree>)> {
        let key = LiveKey { id: id.clone(), kind: Kind::Newest };
        let usable = self.read().get(&key)?.usable.clone()?;
        Some((usable.revision, Arc::clone(&usable.tree)))
    }

    fn fault(&self, id: &Id, kind: Kind, why: &str) -> Finding {
        let message = format!("{} in etcd: {why}", self.prefix.live_key(kind, id));
        Finding::new(Code::PublicationInvalid, Place::Unplaced, message)
    }

    pub(super) fn changed(&self) -> Vec<Id> {
        self.changes().iter().cloned().collect()
    }

    pub(super) fn news(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }

    /// The keys that are not as they are here, each with its revision: those to read again.
    pub(super) fn differing(&self, now: &BTreeMap<LiveKey, i64>) -> Vec<LiveKey> {
        let live = self.read();
        let is_known = |key: &LiveKey, revision: i64| {
            live.get(key).is_some_and(|known| known.mod_revision == revision && known.fault.is_none())
        };
        now.iter().filter(|(key, revision)| !is_known(key, **revision)).map(|(key, _)| key.clone()).collect()
    }

    /// Whether what is here of a key is of this revision.
    pub(super) fn is_of(&self, key: &LiveKey, mod_revision: i64) -> bool {
        self.read().get(key).is_some_and(|known| known.mod_revision == mod_revision)
    }

    /// The keys that are here and no longer there.
    pub(super) fn gone(&self, now: &BTreeMap<LiveKey, i64>) -> Vec<LiveKey> {
        gone_of(&self.read(), now)
    }

    /// The same once all others were read: from here on the cache adds none.
    pub(super) fn gone_at_last(&self, now: &BTreeMap<LiveKey, i64>) -> Vec<LiveKey> {
        let live = self.write();
        self.is_whole.store(true, Relaxed);
        gone_of(&live, now)
    }

    /// Whether nothing is here that could be served.
    pub(super) fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// The keys of states that have one of these files.
    pub(super) fn with_files(&self, files: &BTreeSet<Digest>) -> Vec<LiveKey> {
        let has = |known: &Known| {
            let blobs = known.usable.iter().flat_map(|usable| usable.tree.files.values());
            blobs.into_iter().any(|blob| files.contains(&blob.sha256))
        };
        self.read().iter().filter(|(_, known)| has(known)).map(|(key, _)| key.clone()).collect()
    }

    /// Every file that is in use.
    pub(super) fn files(&self) -> BTreeSet<Digest> {
        let live = self.read();
        let usable = live.values().filter_map(|known| known.usable.as_ref());
        usable.flat_map(|usable| usable.tree.files.values()).map(|blob| blob.sha256).collect()
    }

    /// Counts, for metrics, the states that cannot be used as they were published last, and the canaries that run.
    pub(super) fn report(&self, status: &Status) {
        let live = self.read();
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        status.faulty.set(count(live.values().filter(|known| known.fault.is_some()).count()));
        let is_in_use = |(key, known): &(&LiveKey, &Known)| {
            let newest = live.get(&LiveKey { id: key.id.clone(), kind: Kind::Newest });
            in_use(newest.and_then(|newest| newest.usable.as_ref()), known).is_ok()
        };
        let canaries = live.iter().filter(|(key, _)| key.kind == Kind::Canary);
        status.canaries.set(count(canaries.filter(is_in_use).count()));
    }

    /// Takes over what was published, together. Where that cannot be used, the last state stays, with the reason. The
    /// error is of the connection: then nothing was taken over.
    pub(super) async fn take(
        &self,
        published: Vec<Published>,
        client: Option<&Client>,
        cache: Option<&Arc<Cache>>,
    ) -> Result<(), Error> {
        let read: Vec<_> = published
            .iter()
            .map(|one| one.value.as_deref().map(|value| LiveState::read(one.key.kind, value)))
            .collect();
        let manifests = read.iter().filter_map(|read| Some(&read.as_ref()?.as_ref().ok()?.manifest));
        let found =
            self.blobs.find(manifests.flat_map(|manifest| manifest.files.values()), client, &self.prefix).await?;
        let mut next = Vec::new();
        for (Published { key, mod_revision, value }, read) in published.into_iter().zip(read) {
            let usable = read.map(|read| {
                let LiveState { manifest, revision, canary } = read?;
                let tree = Arc::new(blobs::tree(&manifest.files, &found)?);
                Ok(Usable { tree, revision, parent: manifest.parent, canary })
            });
            if let (Some(cache), Some(Ok(_)) | None) = (cache, &usable) {
                keep(cache, &key, value).await;
            }
            next.push((key, mod_revision, usable));
        }
        self.replace(next);
        Ok(())
    }

    fn replace(&self, next: Vec<Next>) {
        let ids: Vec<Id> = next.iter().map(|(key, _, _)| key.id.clone()).collect();
        let mut live = self.write();
        for (key, mod_revision, usable) in next {
            // etcd has answered while the cache was read.
            if mod_revision == OF_CACHE && (live.contains_key(&key) || self.is_whole.load(Relaxed)) {
                continue;
            }
            let known = match usable {
                None => {
                    live.remove(&key);
                    continue;
                }
                Some(Ok(usable)) => Known { mod_revision, usable: Some(Arc::new(usable)), fault: None },
                Some(Err(why)) => {
                    let before = live.remove(&key).filter(|_| key.kind == Kind::Newest);
                    let before = before.and_then(|before| before.usable);
                    Known { mod_revision, usable: before, fault: Some(why) }
                }
            };
            live.insert(key, known);
        }
        // Whoever reads what there is now must learn of all that has changed with it.
        self.changes().extend(ids);
        drop(live);
        self.news.send_replace(());
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<LiveKey, Known>> {
        self.live.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<LiveKey, Known>> {
        self.live.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn changes(&self) -> MutexGuard<'_, BTreeSet<Id>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn gone_of(live: &BTreeMap<LiveKey, Known>, now: &BTreeMap<LiveKey, i64>) -> Vec<LiveKey> {
    live.keys().filter(|key| !now.contains_key(*key)).cloned().collect()
}

/// The candidate of a canary, if it was made from what the other turns get; else why no turn gets it.
fn in_use(stable: Option<&Arc<Usable>>, canary: &Known) -> Result<(Canary, Arc<dyn Tree + Send + Sync>), String> {
    const NONE: &str = "; no turn gets the candidate";
    if let Some(why) = &canary.fault {
        return Err(format!("{why}{NONE}"));
    }
    let of_stable = |candidate: &&Arc<Usable>| stable.is_some_and(|stable| candidate.parent == Some(stable.revision));
    let found = canary.usable.as_ref().filter(of_stable);
    let found = found.and_then(|usable| Some((usable.canary.clone()?, Arc::clone(&usable.tree) as _)));
    found.ok_or_else(|| format!("someone has published since the canary began: abort it{NONE}"))
}

/// Keeps what is live for a restart; without it the service goes on.
async fn keep(cache: &Arc<Cache>, key: &LiveKey, value: Option<Vec<u8>>) {
    let (writer, of) = (Arc::clone(cache), key.clone());
    let kept = tokio::task::spawn_blocking(move || match value {
        Some(value) => writer.keep(&of, &value),
        None => writer.forget(&of),
    });
    if let Ok(Err(error)) = kept.await {
        tracing::warn!(target: crate::LOG_TARGET, workspace = %key.id, %error, "the workspace is not kept for a restart");
    }
}
