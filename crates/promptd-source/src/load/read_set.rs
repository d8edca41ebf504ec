//! What a load has looked at: the workspace's inputs, as they stood.
//!
//! A load reads lazily, so its trace *is* the list of inputs: every file read or missed, every folder walked or
//! listed, every link followed. Comparing a trace with the disk is stat calls alone, which is how a load proves that
//! nothing moved while it read, and how the sweep finds what no event told.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// What a load has looked at.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// By canonical path.
    probes: Box<[(Box<Path>, Probe)]>,
    /// The device and inode of the workspace's folder; absent where there is none.
    pub(crate) root: Option<(u64, u64)>,
    /// Something moved while it was read: the trace holds no single state.
    torn: bool,
}

/// One thing looked at, as it stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) seen: Seen,
    /// Reached through a folder link that is swapped as a whole (`..data`), so it is never half-written.
    pub(crate) swapped: bool,
    /// Reached through a link inside the workspace.
    pub(crate) linked: bool,
    /// On the way to the workspace's folder, not in it.
    pub(crate) home: bool,
}

/// What was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing.
    Absent,
    /// Something that may not even be looked at.
    Hidden,
    /// A folder that was walked through: device and inode.
    Folder(u64, u64),
    /// A folder that was listed, and a hash of its names and their kinds.
    Listing(Sig, u64),
    /// A link.
    Link(Sig),
    /// A file, or anything else that is no folder.
    File(Sig),
}

/// How a file has lost its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It is not there, and nothing tells since when.
    Gone,
    /// It has been empty for so long.
    Empty(Duration),
}

/// A file's signature: if it is the same, so are the bytes, once the file has rested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sig {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) size: u64,
    mtime: i64,
    /// Nanoseconds since 1970.
    pub(crate) ctime: i64,
}

impl Sig {
    pub(crate) fn of(meta: &fs::Metadata) -> Self {
        let ns = |secs: i64, nanos: i64| secs.saturating_mul(1_000_000_000).saturating_add(nanos);
        Self {
            dev: meta.dev(),
            ino: meta.ino(),
            size: meta.size(),
            mtime: ns(meta.mtime(), meta.mtime_nsec()),
            ctime: ns(meta.ctime(), meta.ctime_nsec()),
        }
    }
}

impl Trace {
    /// What one tree has recorded.
    pub(crate) fn new(probes: BTreeMap<PathBuf, Probe>, root: Option<(u64, u64)>, torn: bool) -> Self {
        Self { probes: probes.into_iter().map(|(path, probe)| (path.into_boxed_path(), probe)).collect(), root, torn }
    }

    /// What several trees have recorded, the workspace's first.
    pub(crate) fn join(traces: impl Iterator<Item = Self>) -> Self {
        let mut traces = traces;
        let Some(mut first) = traces.next() else { return Self::default() };
        let mut probes = None;
        for other in traces {
            let all = probes.get_or_insert_with(|| Vec::from(std::mem::take(&mut first.probes)));
            all.extend(Vec::from(other.probes));
            first.torn |= other.torn;
        }
        if let Some(mut probes) = probes {
            // Where two trees saw the same path, what says more stays: a listing, and that it is no mere way there.
            probes.sort_by(|(a, x), (b, y)| a.cmp(b).then(y.rank().cmp(&x.rank())));
            probes.dedup_by(|(a, _), (b, _)| a == b);
            first.probes = probes.into_boxed_slice();
        }
        first
    }

    /// Whether the disk still is as it was.
    pub(crate) fn holds(&self) -> bool {
        !self.torn && self.probes.iter().all(|(path, probe)| probe.seen.holds(path))
    }

    /// How long ago the newest loose file changed, by what the trace saw; zero where its time lies ahead of the clock
    /// by less than a second, and `None` where nothing loose was read or its time lies further ahead.
    pub(crate) fn rested(&self) -> Option<Duration> {
        age(self.loose().map(|(_, sig)| sig.ctime).max())
    }

    /// Like [`Self::rested`], by what is on the disk now.
    pub(crate) fn rests_now(&self) -> Option<Duration> {
        let now = |(path, _): (&Path, Sig)| fs::symlink_metadata(path).ok().map(|meta| Sig::of(&meta).ctime);
        age(self.loose().filter_map(now).max())
    }

    fn loose(&self) -> impl Iterator<Item = (&Path, Sig)> {
        self.probes.iter().filter_map(|(path, probe)| match probe.seen {
            Seen::File(sig) if !probe.swapped => Some((&**path, sig)),
            _ => None,
        })
    }

    /// The files with content here that have become empty or are gone in `next`: what a save in the middle looks like. That the next load had no reason to read a file is no such case,
    /// nor is a folder that is gone or another one now: no editor does that.
    pub(crate) fn lost_in<'a>(&'a self, next: &'a Self) -> impl Iterator<Item = (&'a Path, Lost)> {
        let same = self.root == next.root;
        self.probes.iter().filter(move |_| same).filter_map(move |(path, probe)| {
            let had_content = matches!(probe.seen, Seen::File(sig) if sig.size > 0) && !probe.swapped && !probe.home;
            let lost = if had_content { next.lacks_content(path, probe.linked)? } else { return None };
            path.parent().filter(|folder| self.still_has_folder(folder)).map(|_| (&**path, lost))
        })
    }

    /// Absent where the file has content, or had no reason to be read.
    fn lacks_content(&self, path: &Path, linked: bool) -> Option<Lost> {
        let emptied = |sig: Sig| (sig.size == 0).then(|| age(Some(sig.ctime)).map_or(Lost::Gone, Lost::Empty));
        match self.get(path).map(|probe| probe.seen) {
            Some(Seen::Absent) => Some(Lost::Gone),
            Some(Seen::File(sig)) => emptied(sig),
            Some(_) => None,
            None if linked => None,
            None => fs::symlink_metadata(path)
                .map_or(Some(Lost::Gone), |meta| if meta.is_file() { emptied(Sig::of(&meta)) } else { None }),
        }
    }

    fn still_has_folder(&self, folder: &Path) -> bool {
        let then = match self.get(folder).map(|probe| probe.seen) {
            Some(Seen::Folder(dev, ino)) => (dev, ino),
            Some(Seen::Listing(sig, _)) => (sig.dev, sig.ino),
            _ => return true,
        };
        fs::symlink_metadata(folder).is_ok_and(|meta| (meta.dev(), meta.ino()) == then)
    }

    fn get(&self, path: &Path) -> Option<&Probe> {
        let index = self.probes.binary_search_by(|(p, _)| (**p).cmp(path)).ok()?;
        self.probes.get(index).map(|(_, probe)| probe)
    }

    /// Whether an event at `path` may have changed an input; `names`: an entry came, went or was renamed.
    pub(crate) fn concerns(&self, path: &Path, names: bool) -> bool {
        self.get(path).is_some()
            || names
                && path
                    .parent()
                    .and_then(|dir| self.get(dir))
                    .is_some_and(|probe| matches!(probe.seen, Seen::Listing(..)))
    }

    /// The folders whose events tell of changes, each with whether only one name in it matters, the way to the
    /// workspace.
    pub(crate) fn folders(&self) -> BTreeMap<&Path, bool> {
        let mut folders = BTreeMap::new();
        for (path, probe) in &self.probes {
            if let Some(parent) = path.parent() {
                *folders.entry(parent).or_insert(true) &= probe.home;
            }
            if matches!(probe.seen, Seen::Listing(..)) {
                folders.insert(path, false);
            }
        }
        folders
    }

    /// The paths that lead to the workspace's folder: its own, and every link on the way.
    pub(crate) fn home(&self) -> impl Iterator<Item = &Path> {
        self.probes.iter().filter(|(_, probe)| probe.home).map(|(path, _)| &**path)
    }
}

impl Probe {
    fn rank(&self) -> (bool, bool) {
        (matches!(self.seen, Seen::Listing(..)), !self.home)
    }
}

impl Seen {
    fn holds(&self, path: &Path) -> bool {
        let meta = match fs::symlink_metadata(path) {
            Ok(meta) => meta,
            Err(error) if is_absence(&error) => return *self == Self::Absent,
            Err(_) => return *self == Self::Hidden,
        };
        let sig = Sig::of(&meta);
        match *self {
            Self::Absent | Self::Hidden => false,
            Self::Folder(dev, ino) => meta.is_dir() && (sig.dev, sig.ino) == (dev, ino),
            Self::Link(then) | Self::File(then) => sig == then,
            // The names decide, not the folder's times: an editor's swap file that came and went changed nothing.
            Self::Listing(then, names) => {
                (sig.dev, sig.ino) == (then.dev, then.ino)
                    && (settled(&sig, &then) || read_names(path).is_ok_and(|now| names_hash(&now) == names))
            }
        }
    }
}

/// Whether a listing's signature alone proves that its names are the same: the times are, and they lie far enough
/// back that a coarse clock cannot hide a later change.
fn settled(now: &Sig, then: &Sig) -> bool {
    const COARSEST_CLOCK: Duration = Duration::from_millis(20);
    now == then && age(Some(now.ctime)).is_none_or(|age| age > COARSEST_CLOCK)
}

/// A hash of a folder's names and kinds, without regard to their order.
pub(crate) fn names_hash(entries: &[(OsString, fs::FileType)]) -> u64 {
    entries.iter().fold(0, |sum, (name, kind)| {
        let mut hasher = DefaultHasher::new();
        (name, kind.is_dir(), kind.is_file(), kind.is_symlink()).hash(&mut hasher);
        sum.wrapping_add(hasher.finish())
    })
}

/// A folder's names and kinds, links not followed.
pub(crate) fn read_names(path: &Path) -> io::Result<Vec<(OsString, fs::FileType)>> {
    fs::read_dir(path)?.map(|entry| entry.and_then(|e| Ok((e.file_name(), e.file_type()?)))).collect()
}

/// Whether the error says that nothing is there.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn age(ctime: Option<i64>) -> Option<Duration> {
    const SKEW: i64 = 1_000_000_000;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let past = i64::try_from(now.as_nanos()).ok()? - ctime?;
    (past > -SKEW).then(|| Duration::from_nanos(past.max(0).unsigned_abs()))
}
