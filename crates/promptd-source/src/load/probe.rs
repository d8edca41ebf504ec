//! One thing that a load has looked at, and whether the disk still is as it was.

use std::{
    ffi::OsString,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
    time::Duration,
};

use crate::{clock, disk};

/// One thing looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) seen: Seen,
    pub(crate) route: Route,
}

/// How a path was reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Route {
    /// Through a folder link that is swapped as a whole (`..data`), so what is there is never half-written.
    pub(crate) swapped: bool,
    /// Through a link inside the workspace.
    pub(crate) linked: bool,
    /// On the way to the workspace's folder, not in it.
    pub(crate) outer: bool,
}

/// What was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing.
    Absent,
    /// Something that could not be read. It is never taken as it is: as soon as it can be read, it has changed.
    Failed,
    /// A folder that was walked through.
    Folder(Inode),
    /// A folder that was listed, and a hash of its names and their kinds.
    Listing(Signature, u64),
    /// A link.
    Link(Signature),
    /// A file, or anything else that is not a folder.
    File(Signature),
}

/// The device and inode of a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Inode {
    dev: u64,
    ino: u64,
}

/// What tells one version of a file from the next: where it is the same, so are the bytes, once the file has rested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) inode: Inode,
    pub(crate) size: u64,
    mtime: i64,
    /// Nanoseconds since 1970.
    ctime: i64,
}

impl Inode {
    pub(crate) fn of(meta: &fs::Metadata) -> Self {
        Self { dev: meta.dev(), ino: meta.ino() }
    }
}

impl Signature {
    pub(crate) fn of(meta: &fs::Metadata) -> Self {
        let ns = |secs: i64, nanos: i64| secs.saturating_mul(1_000_000_000).saturating_add(nanos);
        Self {
            inode: Inode::of(meta),
            size: meta.size(),
            mtime: ns(meta.mtime(), meta.mtime_nsec()),
            ctime: ns(meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// How long ago the file changed; see [`clock::age`].
    pub(crate) fn age(&self) -> Option<Duration> {
        clock::age(self.ctime)
    }

    /// Whether the two alone prove that a folder's names are the same: the times are, and they are far enough back that
    /// a coarse clock cannot hide a later change.
    fn proves_same_names(&self, then: &Self) -> bool {
        const COARSEST_CLOCK: Duration = Duration::from_millis(20);
        self == then && self.age().is_none_or(|age| age > COARSEST_CLOCK)
    }
}

impl Probe {
    /// Of two probes of one path, the greater says more: a listing, and that it is not merely on the way.
    pub(crate) fn rank(&self) -> (bool, bool) {
        (self.is_listing(), !self.route.outer)
    }

    pub(crate) fn is_listing(&self) -> bool {
        matches!(self.seen, Seen::Listing(..))
    }

    /// The signature of a file that could be read in the middle of a save.
    pub(crate) fn loose_file(&self) -> Option<Signature> {
        match self.seen {
            Seen::File(signature) if !self.route.swapped => Some(signature),
            _ => None,
        }
    }

    pub(crate) fn folder(&self) -> Option<Inode> {
        match self.seen {
            Seen::Folder(inode) => Some(inode),
            Seen::Listing(signature, _) => Some(signature.inode),
            _ => None,
        }
    }
}

impl Seen {
    /// Whether the disk still is as it was.
    pub(crate) fn is_current(&self, path: &Path) -> bool {
        let meta = match disk::stat(path) {
            Ok(meta) => meta,
            Err(error) if is_absence(&error) => return *self == Self::Absent,
            Err(_) => return *self == Self::Failed,
        };
        let now = Signature::of(&meta);
        match *self {
            Self::Absent => false,
            Self::Failed => disk::try_read(path).is_err(),
            Self::Folder(inode) => meta.is_dir() && now.inode == inode,
            Self::Link(then) | Self::File(then) => now == then,
            // The names decide, not the folder's times: an editor's swap file that came and went changed nothing.
            Self::Listing(then, names) => {
                now.inode == then.inode
                    && (now.proves_same_names(&then) || disk::list(path).is_ok_and(|now| names_hash(&now) == names))
            }
        }
    }
}

/// A hash of a folder's names and kinds, whatever their order.
pub(crate) fn names_hash(entries: &[(OsString, fs::FileType)]) -> u64 {
    entries.iter().fold(0, |sum, (name, kind)| {
        let mut hasher = DefaultHasher::new();
        (name, kind.is_dir(), kind.is_file(), kind.is_symlink()).hash(&mut hasher);
        sum.wrapping_add(hasher.finish())
    })
}

/// Whether the error says that nothing is there.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
