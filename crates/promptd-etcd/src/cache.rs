//! What was published, on the disk, for a start while etcd is away.
//!
//! `workspaces/ID` has a manifest below the SHA-256 of it, `workspaces-canary/ID` in the same way what is tried out, `blobs/` the files by theirs, `confirmed` when all of it was last
//! known to be the newest. Whatever is not what its hash says, or cannot be read, counts as not there.

use std::{
    collections::BTreeSet,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use jiff::Timestamp;
use promptd_core::{
    digest::{Digest, sha256_hex},
    id::Id,
    text::hex,
};

use crate::{
    candidate::MAX_BYTES,
    disk,
    layout::{Kind, LiveKey, Prefix},
    manifest::MAX_FILE_BYTES,
    options,
};

/// The cache of one prefix, used by this process alone.
pub(crate) struct Cache {
    root: PathBuf,
    max_bytes: u64,
    /// Of all blobs.
    bytes: AtomicU64,
    /// A number for the name of a file that is being written.
    writes: AtomicU64,
    /// The blobs that could not be read.
    unreadable: Mutex<BTreeSet<Digest>>,
    _lock: File,
}

impl Cache {
    /// Opens the cache, and makes it where there is none.
    pub(crate) fn open(options: &options::Cache, prefix: &Prefix) -> io::Result<Self> {
        disk::create_folder(&options.dir)?;
        let root = options.dir.join(&sha256_hex(prefix.as_str().as_bytes())[..16]);
        for folder in ["", "blobs", "unfinished"].into_iter().chain(Kind::ALL.map(Kind::folder)) {
            disk::create_folder(&root.join(folder))?;
        }
        let lock = disk::lock(&root.join("lock"))?;
        // What a process that was killed has left takes room, no more.
        for (name, _) in disk::list(&root.join("unfinished"))? {
            let _ = disk::remove(&root.join("unfinished").join(name));
        }
        let cache = Self {
            root,
            max_bytes: options.max_bytes,
            bytes: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            unreadable: Mutex::default(),
            _lock: lock,
        };
        let bytes = cache.blobs()?.into_iter().map(|(_, size)| size).sum();
        cache.bytes.store(bytes, Relaxed);
        Ok(cache)
    }

    /// The bytes of all blobs.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Whether it has a file of this hash and size that can be read, as far as is known.
    pub(crate) fn has(&self, sha256: Digest, size: u64) -> bool {
        disk::size(&self.blob(sha256)) == Some(size) && !self.is_unreadable(sha256)
    }

    /// The bytes of a file. One that is not what its hash says is removed; one that cannot be read stays, since it may be whole,
    /// and counts as not there.
    pub(crate) fn read(&self, sha256: Digest) -> io::Result<Vec<u8>> {
        let read = disk::read(&self.blob(sha256), MAX_FILE_BYTES + 1);
        self.check(sha256, read)
    }

    fn check(&self, sha256: Digest, read: io::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
        let error = match read {
            Ok(bytes) if Digest::of(&bytes) == sha256 => {
                self.unreadable().remove(&sha256);
                return Ok(bytes);
            }
            Ok(_) => self.remove(sha256).err().unwrap_or_else(|| io::ErrorKind::InvalidData.into()),
            Err(error) => error,
        };
        self.unreadable().insert(sha256);
        Err(error)
    }

    /// Whether a file could not be read the last time.
    pub(crate) fn is_unreadable(&self, sha256: Digest) -> bool {
        self.unreadable().contains(&sha256)
    }

    /// Keeps a file; false: there is no room for it.
    pub(crate) fn write(&self, sha256: Digest, bytes: &[u8]) -> io::Result<bool> {
        let size = bytes.len() as u64;
        if self.bytes.fetch_add(size, Relaxed) + size > self.max_bytes {
            self.bytes.fetch_sub(size, Relaxed);
            return Ok(false);
        }
        let path = self.blob(sha256);
        // One that could not be read is replaced.
        let before = disk::size(&path).unwrap_or_default();
        let folder = path.parent().map_or(Ok(()), disk::create_folder);
        let written = folder.and_then(|()| self.write_whole(&path, bytes));
        self.bytes.fetch_sub(if written.is_ok() { before } else { size }, Relaxed);
        written.map(|()| true)
    }

    /// Keeps what is live.
    pub(crate) fn keep(&self, key: &LiveKey, value: &[u8]) -> io::Result<()> {
        let text = [sha256_hex(value).as_bytes(), b"\n", value].concat();
        self.write_whole(&self.live_file(key), &text)
    }

    /// Forgets what was live.
    pub(crate) fn forget(&self, key: &LiveKey) -> io::Result<()> {
        disk::remove(&self.live_file(key))
    }

    /// Forgets what was live, except for these.
    pub(crate) fn forget_others(&self, live: &BTreeSet<LiveKey>) -> io::Result<()> {
        for kind in Kind::ALL {
            for (name, _) in disk::list(&self.root.join(kind.folder()))? {
                let Ok(id) = Id::parse(&name) else { continue };
                let key = LiveKey { id, kind };
                if !live.contains(&key) {
                    self.forget(&key)?;
                }
            }
        }
        Ok(())
    }

    /// What is kept of what is live, except for what is damaged or cannot be read.
    pub(crate) fn live(&self) -> io::Result<Vec<(LiveKey, Vec<u8>)>> {
        let mut live = Vec::new();
        for kind in Kind::ALL {
            for (name, _) in disk::list(&self.root.join(kind.folder()))? {
                let Ok(id) = Id::parse(&name) else { continue };
                let key = LiveKey { id, kind };
                match self.live_value(&key) {
                    Ok(value) => live.push((key, value)),
                    Err(error) => {
                        tracing::warn!(target: crate::LOG_TARGET, workspace = %key.id, %error, "the cache has a damaged manifest");
                    }
                }
            }
        }
        Ok(live)
    }

    fn live_value(&self, key: &LiveKey) -> io::Result<Vec<u8>> {
        let text = disk::read(&self.live_file(key), MAX_BYTES as u64 + 100)?;
        match text.split_at_checked(Digest::HEX_DIGITS + 1) {
            Some((hash, value)) if hash == format!("{}\n", sha256_hex(value)).as_bytes() => Ok(value.to_vec()),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it is not what its hash says")),
        }
    }

    /// Notes that all of it was the newest then.
    pub(crate) fn confirm(&self, at: Timestamp) -> io::Result<()> {
        self.write_whole(&self.root.join("confirmed"), at.to_string().as_bytes())
    }

    /// When that was.
    pub(crate) fn confirmed(&self) -> Option<Timestamp> {
        std::str::from_utf8(&disk::read(&self.root.join("confirmed"), 100).ok()?).ok()?.parse().ok()
    }

    /// Removes the blobs that no workspace needs.
    pub(crate) fn sweep(&self, needed: &BTreeSet<Digest>) -> io::Result<()> {
        for (sha256, _) in self.blobs()? {
            if !needed.contains(&sha256) {
                self.remove(sha256)?;
            }
        }
        self.unreadable().retain(|sha256| needed.contains(sha256));
        Ok(())
    }

    fn unreadable(&self) -> MutexGuard<'_, BTreeSet<Digest>> {
        self.unreadable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, sha256: Digest) -> io::Result<()> {
        let path = self.blob(sha256);
        let size = disk::size(&path).unwrap_or_default();
        disk::remove(&path)?;
        self.bytes.fetch_sub(size, Relaxed);
        Ok(())
    }

    fn blobs(&self) -> io::Result<Vec<(Digest, u64)>> {
        let mut blobs = Vec::new();
        for (start, _) in disk::list(&self.root.join("blobs"))? {
            for (rest, size) in disk::list(&self.root.join("blobs").join(&start))? {
                blobs.extend(hex::bytes(&format!("{start}{rest}")).map(|bytes| (Digest(bytes), size)));
            }
        }
        Ok(blobs)
    }

    fn write_whole(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let number = self.writes.fetch_add(1, Relaxed);
        disk::write(&self.root.join("unfinished").join(number.to_string()), path, bytes)
    }

    fn blob(&self, sha256: Digest) -> PathBuf {
        let name = sha256.to_hex();
        self.root.join("blobs").join(&name[..2]).join(&name[2..])
    }

    fn live_file(&self, key: &LiveKey) -> PathBuf {
        self.root.join(key.kind.folder()).join(key.id.as_str())
    }
}

#[cfg(test)]
impl Cache {
    /// Makes a file other than its hash says.
    pub(crate) fn damage(&self, sha256: Digest) {
        disk::write(&self.root.join("damage"), &self.blob(sha256), b"two").unwrap();
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    fn open(dir: &Path, max_bytes: u64) -> Cache {
        Cache::open(&options::Cache { dir: dir.join("cache"), max_bytes }, &Prefix::parse("/p").unwrap()).unwrap()
    }

    #[test]
    fn what_is_kept_is_there_after_a_restart_for_its_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let key = |kind| LiveKey { id: Id::parse("ws").unwrap(), kind };
        let (both, at) = (Kind::ALL.map(key), Timestamp::from_second(1_800_000_000).unwrap());
        let cache = open(home.path(), 100);
        assert!(cache.write(Digest::of(b"one"), b"one").unwrap());
        for (key, value) in both.iter().zip([b"{}", b"[]"]) {
            cache.keep(key, value).unwrap();
        }
        cache.confirm(at).unwrap();
        let taken = Cache::open(
            &options::Cache { dir: home.path().join("cache"), max_bytes: 1 },
            &Prefix::parse("/p").unwrap(),
        );
        assert!(taken.is_err(), "another process has it");
        drop(cache);
        let cache = open(home.path(), 100);
        assert!(cache.has(Digest::of(b"one"), 3) && !cache.has(Digest::of(b"two"), 3) && cache.bytes() == 3);
        assert_eq!(cache.read(Digest::of(b"one")).unwrap(), b"one");
        let [newest, canary] = both;
        let kept = vec![(newest, b"{}".to_vec()), (canary.clone(), b"[]".to_vec())];
        assert_eq!((cache.live().unwrap(), cache.confirmed()), (kept, Some(at)));
        for path in [home.path().join("cache"), cache.root.clone(), cache.root.join("blobs")] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700);
        }
        for path in [cache.blob(Digest::of(b"one")), cache.root.join("workspaces/ws")] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        cache.forget(&canary).unwrap();
        assert_eq!(cache.live().unwrap().len(), 1);
        cache.keep(&canary, b"[]").unwrap();
        cache.forget_others(&[canary.clone()].into()).unwrap();
        assert_eq!(cache.live().unwrap(), [(canary, b"[]".to_vec())]);
    }

    /// A mount point belongs to who mounted it, who may have given others a way in.
    #[test]
    fn a_folder_that_was_there_keeps_its_mode_and_what_is_in_it_is_its_owners() {
        let home = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let dir = home.path().join("cache");
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
        let cache = open(home.path(), 100);
        assert_eq!((mode(&dir), mode(&cache.root)), (0o777, 0o700));
    }

    #[test]
    fn what_is_not_as_its_hash_says_counts_as_not_there() {
        let home = tempfile::tempdir().unwrap();
        let cache = open(home.path(), 100);
        let key = LiveKey { id: Id::parse("ws").unwrap(), kind: Kind::Newest };
        cache.write(Digest::of(b"one"), b"one").unwrap();
        cache.keep(&key, b"{}").unwrap();
        fs::write(cache.blob(Digest::of(b"one")), "two").unwrap();
        let manifest = fs::read_to_string(cache.live_file(&key)).unwrap();
        fs::write(cache.live_file(&key), manifest.replace("{}", "[]")).unwrap();
        assert_eq!(cache.read(Digest::of(b"one")).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(!cache.has(Digest::of(b"one"), 3) && cache.bytes() == 0);
        assert!(cache.live().unwrap().is_empty());
        // Neither does one that cannot be read, here a folder, and the others are there.
        fs::create_dir(cache.root.join("workspaces/a-folder")).unwrap();
        let other = LiveKey { id: Id::parse("z").unwrap(), kind: Kind::Newest };
        cache.keep(&other, b"{}").unwrap();
        assert_eq!(cache.live().unwrap(), [(other, b"{}".to_vec())]);
    }

    #[test]
    fn what_cannot_be_read_counts_as_not_there_until_it_can_be() {
        let home = tempfile::tempdir().unwrap();
        let cache = open(home.path(), 100);
        let one = Digest::of(b"one");
        cache.write(one, b"one").unwrap();
        let failed = cache.check(one, Err(io::Error::from_raw_os_error(5)));
        assert!(failed.is_err() && !cache.has(one, 3) && cache.is_unreadable(one));
        assert!(cache.blob(one).exists() && cache.bytes() == 3, "it may be whole");
        assert!(cache.write(one, b"one").unwrap() && cache.bytes() == 3, "it is there once");
        assert_eq!(cache.read(one).unwrap(), b"one");
        assert!(cache.has(one, 3) && !cache.is_unreadable(one));
    }

    #[test]
    fn it_takes_no_more_than_its_bound_and_drops_what_nothing_needs() {
        let home = tempfile::tempdir().unwrap();
        let cache = open(home.path(), 6);
        assert!(cache.write(Digest::of(b"one"), b"one").unwrap() && cache.write(Digest::of(b"two"), b"two").unwrap());
        assert!(!cache.write(Digest::of(b"six"), b"six").unwrap());
        cache.sweep(&[Digest::of(b"two")].into()).unwrap();
        assert!(!cache.has(Digest::of(b"one"), 3) && cache.has(Digest::of(b"two"), 3) && cache.bytes() == 3);
        assert!(cache.write(Digest::of(b"six"), b"six").unwrap());
    }
}
