//! The workspaces as they were read last, and which of them have changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use promptd_core::{
    digest::Digest,
    finding::{Code, Finding, Place},
    id::Id,
};
use tokio::sync::Notify;

use super::Workspace;
use crate::{
    blobs::{self, Blobs},
    cache::Cache,
    client::Client,
    error::Error,
    layout::Prefix,
    manifest::Manifest,
    tree::PublishedTree,
};

/// The workspaces as they were read last.
pub(super) struct State {
    pub(super) blobs: Blobs,
    prefix: Prefix,
    workspaces: RwLock<BTreeMap<Id, Known>>,
    changed: Mutex<BTreeSet<Id>>,
    notify: Notify,
}

/// The revision of a manifest that is from the cache: older than any.
pub(super) const OF_CACHE: i64 = 0;

/// What is known of a workspace.
struct Known {
    /// Of its newest manifest, or [`OF_CACHE`].
    mod_revision: i64,
    tree: Option<Arc<PublishedTree>>,
    fault: Option<Finding>,
}

/// A workspace's next state, and the revision of its manifest: a tree, or why there is none; `None`: it was removed.
type Next = (Id, i64, Option<Result<PublishedTree, String>>);

/// A manifest as etcd has it now.
pub(super) struct Published {
    pub(super) id: Id,
    pub(super) mod_revision: i64,
    /// `None`: the workspace was removed.
    pub(super) json: Option<Vec<u8>>,
}

impl State {
    pub(super) fn new(blobs: Blobs, prefix: Prefix) -> Self {
        Self { blobs, prefix, workspaces: RwLock::default(), changed: Mutex::default(), notify: Notify::new() }
    }

    pub(super) fn ids(&self) -> Vec<Id> {
        self.read().keys().cloned().collect()
    }

    pub(super) fn workspace(&self, id: &Id) -> Option<Workspace> {
        let workspaces = self.read();
        let known = workspaces.get(id)?;
        let tree = known.tree.clone().map(|tree| tree as _);
        Some(Workspace { tree, fault: known.fault.clone() })
    }

    pub(super) fn take_changed(&self) -> Vec<Id> {
        std::mem::take(&mut *self.changes()).into_iter().collect()
    }

    pub(super) async fn changed(&self) -> Vec<Id> {
        loop {
            let notified = self.notify.notified();
            let changed = self.take_changed();
            if !changed.is_empty() {
                return changed;
            }
            notified.await;
        }
    }

    /// The workspaces that are not as these keys say, each with its revision: those to read again. And those that are gone.
    pub(super) fn differing(&self, now: &BTreeMap<Id, i64>) -> (Vec<Id>, Vec<Id>) {
        let workspaces = self.read();
        let is_known = |id: &Id, revision: i64| {
            workspaces.get(id).is_some_and(|known| known.mod_revision == revision && known.fault.is_none())
        };
        let differing = now.iter().filter(|(id, revision)| !is_known(id, **revision)).map(|(id, _)| id.clone());
        let gone = workspaces.keys().filter(|id| !now.contains_key(*id)).cloned();
        (differing.collect(), gone.collect())
    }

    /// The workspaces that have one of these files.
    pub(super) fn with_files(&self, files: &BTreeSet<Digest>) -> Vec<Id> {
        let has = |known: &Known| {
            known.tree.as_ref().is_some_and(|tree| tree.files.values().any(|blob| files.contains(&blob.sha256)))
        };
        self.read().iter().filter(|(_, known)| has(known)).map(|(id, _)| id.clone()).collect()
    }

    /// Every file that is in use.
    pub(super) fn files(&self) -> BTreeSet<Digest> {
        let workspaces = self.read();
        let trees = workspaces.values().filter_map(|known| known.tree.as_ref());
        trees.flat_map(|tree| tree.files.values()).map(|blob| blob.sha256).collect()
    }

    /// How many workspaces cannot be used as they were published last.
    pub(super) fn faulty(&self) -> usize {
        self.read().values().filter(|known| known.fault.is_some()).count()
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
            .map(|one| one.json.as_deref().map(|json| Manifest::read(json).map_err(|invalid| invalid.to_string())))
            .collect();
        let manifests = read.iter().filter_map(|read| read.as_ref()?.as_ref().ok());
        let found =
            self.blobs.find(manifests.flat_map(|manifest| manifest.files.values()), client, &self.prefix).await?;
        let mut next = Vec::new();
        for (Published { id, mod_revision, json }, read) in published.into_iter().zip(read) {
            let tree = read.map(|read| read.and_then(|manifest| blobs::tree(&manifest.files, &found)));
            if let (Some(cache), Some(Ok(_)) | None) = (cache, &tree) {
                keep(cache, &id, json).await;
            }
            next.push((id, mod_revision, tree));
        }
        self.replace(next);
        Ok(())
    }

    fn replace(&self, next: Vec<Next>) {
        let ids: Vec<Id> = next.iter().map(|(id, _, _)| id.clone()).collect();
        let mut workspaces = self.write();
        for (id, mod_revision, tree) in next {
            // etcd has answered while the cache was read.
            if mod_revision == OF_CACHE && workspaces.contains_key(&id) {
                continue;
            }
            let known = match tree {
                None => {
                    workspaces.remove(&id);
                    continue;
                }
                Some(Ok(tree)) => Known { mod_revision, tree: Some(Arc::new(tree)), fault: None },
                Some(Err(why)) => {
                    let message = format!("{}/workspaces/{id} in etcd: {why}", self.prefix);
                    let before = workspaces.remove(&id);
                    let fault = Finding::new(Code::PublicationInvalid, Place::Unplaced, message);
                    Known { mod_revision, tree: before.and_then(|before| before.tree), fault: Some(fault) }
                }
            };
            workspaces.insert(id, known);
        }
        drop(workspaces);
        self.changes().extend(ids);
        self.notify.notify_one();
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<Id, Known>> {
        self.workspaces.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<Id, Known>> {
        self.workspaces.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn changes(&self) -> MutexGuard<'_, BTreeSet<Id>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a workspace for a restart; without it the service goes on.
async fn keep(cache: &Arc<Cache>, id: &Id, json: Option<Vec<u8>>) {
    let (writer, workspace) = (Arc::clone(cache), id.clone());
    let kept = tokio::task::spawn_blocking(move || match json {
        Some(json) => writer.keep(&workspace, &json),
        None => writer.forget(&workspace),
    });
    if let Ok(Err(error)) = kept.await {
        tracing::warn!(target: crate::LOG_TARGET, workspace = %id, %error, "the workspace is not kept for a restart");
    }
}
