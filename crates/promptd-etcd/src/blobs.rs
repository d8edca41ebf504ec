//! The bytes of files: from memory, from the cache, from etcd, each checked against its hash.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use promptd_core::digest::Digest;
use tokio::sync::Notify;

use crate::{
    cache::Cache,
    client::Client,
    error::{Error, ErrorKind},
    layout::Prefix,
    manifest::FileEntry,
    tree::{Blob, Bytes, PublishedTree},
};

/// The most blobs, and about the most of their bytes, that are asked for at once.
const BATCH: (usize, u64) = (64, 8 << 20);
/// How many such requests are on their way.
const REQUESTS: usize = 4;

/// The bytes of files that are in use, each once.
pub(crate) struct Blobs {
    cache: Option<Arc<Cache>>,
    held: Mutex<HashMap<Digest, Weak<Blob>>>,
    damaged: Arc<Damaged>,
}

/// What could no longer be read from the cache.
#[derive(Default)]
pub(crate) struct Damaged {
    blobs: Mutex<BTreeSet<Digest>>,
    notify: Notify,
}

impl Damaged {
    fn add(&self, blobs: impl IntoIterator<Item = Digest>) {
        lock(&self.blobs).extend(blobs);
        self.notify.notify_one();
    }
}

/// The sizes that manifests say of a file.
type Sizes = BTreeSet<u64>;

/// What was found of the blobs that were asked for: each, or why it cannot be used.
pub(crate) type Found = BTreeMap<Digest, Result<Arc<Blob>, String>>;

impl Blobs {
    pub(crate) fn new(cache: Option<Arc<Cache>>) -> Self {
        Self { cache, held: Mutex::default(), damaged: Arc::default() }
    }

    /// Finds files; only what is neither in memory nor in the cache is asked for. Manifests may say different sizes of one file: it
    /// is taken if one of them is right. The error is of the connection.
    pub(crate) async fn find(
        &self,
        files: impl Iterator<Item = &FileEntry>,
        client: Option<&Client>,
        prefix: &Prefix,
    ) -> Result<Found, Error> {
        let mut sizes = BTreeMap::<Digest, Sizes>::new();
        for file in files {
            sizes.entry(file.sha256).or_default().insert(file.bytes);
        }
        let mut found = Found::new();
        let mut wanted = Vec::new();
        for (sha256, sizes) in sizes {
            match sizes.iter().find_map(|size| self.known(sha256, *size)) {
                Some(blob) => _ = found.insert(sha256, Ok(blob)),
                None => wanted.push((sha256, sizes)),
            }
        }
        let Some(client) = client else {
            let missing =
                |sha256: Digest| format!("the file {} is not in the cache: etcd must answer first", sha256.to_hex());
            found.extend(wanted.into_iter().map(|(sha256, _)| (sha256, Err(missing(sha256)))));
            return Ok(found);
        };
        let batches = stream::iter(batches(wanted)).map(|batch| self.fetch(client, prefix, batch));
        let fetched: Vec<Found> = batches.buffer_unordered(REQUESTS).try_collect().await?;
        found.extend(fetched.into_iter().flatten());
        Ok(found)
    }

    /// Waits until something in the cache is damaged, and takes what it is.
    pub(crate) async fn damaged(&self) -> BTreeSet<Digest> {
        loop {
            let notified = self.damaged.notify.notified();
            let damaged = std::mem::take(&mut *lock(&self.damaged.blobs));
            if !damaged.is_empty() {
                return damaged;
            }
            notified.await;
        }
    }

    /// These are still damaged.
    pub(crate) fn not_repaired(&self, blobs: BTreeSet<Digest>) {
        self.damaged.add(blobs);
    }

    /// Forgets what nothing uses any more.
    pub(crate) fn purge(&self) {
        lock(&self.held).retain(|_, blob| blob.strong_count() > 0);
    }

    fn known(&self, sha256: Digest, size: u64) -> Option<Arc<Blob>> {
        let held = lock(&self.held).get(&sha256).and_then(Weak::upgrade);
        let is_there = |blob: &Arc<Blob>| match &blob.bytes {
            Bytes::Held(_) => true,
            Bytes::Cached(_) => self.cache.as_ref().is_some_and(|cache| cache.has(sha256, size)),
        };
        if let Some(blob) = held.filter(is_there) {
            return Some(blob);
        }
        let cache = self.cache.as_ref().filter(|cache| cache.has(sha256, size))?;
        Some(self.share(self.cached(cache, sha256, size)))
    }

    fn cached(&self, cache: &Arc<Cache>, sha256: Digest, size: u64) -> Blob {
        let (cache, damaged) = (Arc::clone(cache), Arc::clone(&self.damaged));
        let read = move || {
            cache.read(sha256).inspect_err(|error| {
                tracing::warn!(target: crate::LOG_TARGET, %error, "a file of the cache cannot be read: it is fetched again");
                damaged.add([sha256]);
            })
        };
        Blob { sha256, size, bytes: Bytes::Cached(Box::new(read)) }
    }

    fn share(&self, blob: Blob) -> Arc<Blob> {
        let blob = Arc::new(blob);
        lock(&self.held).insert(blob.sha256, Arc::downgrade(&blob));
        blob
    }

    async fn fetch(&self, client: &Client, prefix: &Prefix, batch: Vec<(Digest, Sizes)>) -> Result<Found, Error> {
        let keys = batch.iter().map(|(sha256, _)| prefix.blob(*sha256)).collect();
        let values = client.get_all(keys, 0).await?;
        let mut found = Found::new();
        let mut whole = Vec::new();
        for ((sha256, sizes), value) in batch.into_iter().zip(values) {
            let read = value.ok_or_else(|| missing(sha256)).and_then(|kv| checked(sha256, &sizes, kv.value));
            match read {
                Ok(bytes) => whole.push((sha256, bytes)),
                Err(why) => _ = found.insert(sha256, Err(why)),
            }
        }
        let kept = self.keep(whole).await;
        found.extend(kept.into_iter().map(|blob| (blob.sha256, Ok(self.share(blob)))));
        Ok(found)
    }

    /// Keeps files in the cache, or in memory where there is none, or no room in it, or they could not be read from it before.
    async fn keep(&self, files: Vec<(Digest, Vec<u8>)>) -> Vec<Blob> {
        let held = |(sha256, bytes): (Digest, Vec<u8>)| Blob {
            sha256,
            size: bytes.len() as u64,
            bytes: Bytes::Held(bytes.into()),
        };
        let Some(cache) = &self.cache else { return files.into_iter().map(held).collect() };
        let writer = Arc::clone(cache);
        let written = tokio::task::spawn_blocking(move || {
            let write = |(sha256, bytes): (Digest, Vec<u8>)| {
                let is_kept = writer.write(sha256, &bytes).unwrap_or_else(|error| {
                    tracing::warn!(target: crate::LOG_TARGET, %error, "a file cannot be kept in the cache");
                    false
                });
                // It may fail again: then it would be fetched without end.
                let is_kept = is_kept && !writer.is_unreadable(sha256);
                (sha256, bytes, is_kept)
            };
            files.into_iter().map(write).collect::<Vec<_>>()
        });
        let written = written.await.unwrap_or_default();
        let blob = |(sha256, bytes, is_kept): (Digest, Vec<u8>, bool)| {
            if is_kept { self.cached(cache, sha256, bytes.len() as u64) } else { held((sha256, bytes)) }
        };
        written.into_iter().map(blob).collect()
    }
}

/// The bytes of a blob, if they are what its hash and one of the manifests say: so no manifest makes more of them be held than it
/// says.
fn checked(sha256: Digest, sizes: &Sizes, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let (name, size) = (sha256.to_hex(), bytes.len() as u64);
    if Digest::of(&bytes) != sha256 {
        return Err(format!("the blob {name} is not what its hash says: publish again"));
    }
    if !sizes.contains(&size) {
        return Err(format!("the blob {name} has {size} bytes, and the manifest says another number: publish again"));
    }
    Ok(bytes)
}

/// The tree of a manifest's files, or why there is none.
pub(crate) fn tree(files: &BTreeMap<String, FileEntry>, found: &Found) -> Result<PublishedTree, String> {
    let file = |(path, file): (&String, &FileEntry)| match found.get(&file.sha256) {
        Some(Ok(blob)) if blob.size == file.bytes => Ok((path.clone(), Arc::clone(blob))),
        Some(Ok(blob)) => Err(format!("{path}: the manifest says {} bytes, the blob has {}", file.bytes, blob.size)),
        Some(Err(why)) => Err(format!("{path}: {why}")),
        None => Err(format!("{path}: {}", missing(file.sha256))),
    };
    Ok(PublishedTree { files: files.iter().map(file).collect::<Result<_, _>>()? })
}

/// The bytes of files, by path.
pub(crate) async fn contents(
    files: &BTreeMap<String, FileEntry>,
    client: &Client,
    prefix: &Prefix,
) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let found = Blobs::new(None).find(files.values(), Some(client), prefix).await?;
    let contents = tree(files, &found).and_then(|tree| tree.contents());
    contents.map_err(|why| Error::new(ErrorKind::Invalid, why))
}

fn missing(sha256: Digest) -> String {
    format!("the blob {} is not in etcd: publish again", sha256.to_hex())
}

/// By the greatest sizes that are said. Where none is right, the number of them still is a bound, since etcd takes no large values.
fn batches(wanted: Vec<(Digest, Sizes)>) -> Vec<Vec<(Digest, Sizes)>> {
    let mut batches: Vec<Vec<_>> = Vec::new();
    let mut room = 0;
    for (sha256, sizes) in wanted {
        let size = sizes.last().copied().unwrap_or_default();
        match batches.last_mut().filter(|batch| batch.len() < BATCH.0 && size <= room) {
            Some(batch) => {
                room -= size;
                batch.push((sha256, sizes));
            }
            None => {
                room = BATCH.1.saturating_sub(size);
                batches.push(vec![(sha256, sizes)]);
            }
        }
    }
    batches
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;

    #[tokio::test]
    async fn a_wrong_size_in_one_manifest_is_its_own_fault() {
        let home = tempfile::tempdir().unwrap();
        let options = options::Cache { dir: home.path().to_owned(), max_bytes: 100 };
        let prefix = Prefix::parse("/p").unwrap();
        let cache = Cache::open(&options, &prefix).unwrap();
        let one = Digest::of(b"one");
        cache.write(one, b"one").unwrap();
        let blobs = Blobs::new(Some(Arc::new(cache)));
        let said = |bytes: u64| FileEntry { sha256: one, bytes };
        for sizes in [[3, 9], [9, 3], [1, 3]] {
            let found = blobs.find(sizes.map(said).iter(), None, &prefix).await.unwrap();
            for size in sizes {
                let files = [("AGENTS.md".to_owned(), said(size))].into();
                assert_eq!(tree(&files, &found).is_ok(), size == 3, "{sizes:?}");
            }
        }
        let checked = |sizes: &[u64], bytes: &[u8]| checked(one, &sizes.iter().copied().collect(), bytes.into());
        assert!(
            checked(&[1, 3], b"one").is_ok() && checked(&[1, 9], b"one").is_err() && checked(&[3], b"two").is_err()
        );
    }

    #[tokio::test]
    async fn what_could_not_be_read_from_the_cache_is_held_in_memory_from_then_on() {
        let home = tempfile::tempdir().unwrap();
        let (one, bytes) = (Digest::of(b"one"), b"one".to_vec());
        let options = options::Cache { dir: home.path().to_owned(), max_bytes: 100 };
        let cache = Arc::new(Cache::open(&options, &Prefix::parse("/p").unwrap()).unwrap());
        let blobs = Blobs::new(Some(Arc::clone(&cache)));
        let kept = blobs.keep(vec![(one, bytes.clone())]).await.pop().unwrap();
        let Bytes::Cached(read) = &kept.bytes else { panic!("it is in the cache") };
        assert_eq!(read().unwrap(), b"one");
        cache.damage(one);
        assert!(read().is_err() && blobs.known(one, 3).is_none());
        assert_eq!(blobs.damaged().await, [one].into());
        let kept = blobs.keep(vec![(one, bytes)]).await.pop().unwrap();
        assert!(matches!(&kept.bytes, Bytes::Held(held) if **held == *b"one"));
        assert_eq!((cache.read(one).unwrap(), cache.bytes()), (b"one".to_vec(), 3), "a restart finds it there");
        blobs.not_repaired([one].into());
        assert_eq!(blobs.damaged().await, [one].into());
    }
}
