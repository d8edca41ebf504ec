//! One thing that a load has looked at, and whether the disk still is as it was.

use std::{
    ffi::{OsStr, OsString},
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
    time::Duration,
};

use promptd_core::workspace::is_called_one_of;

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
    /// A folder of which only the subfolders count and the files of some names, and a hash of those.
    Part(Signature, u64),
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
    /// Of two probes of one path, the greater counts: a failure, which is tried again; then what says more, a listing, and that
    /// it is not merely on the way.
    pub(crate) fn rank(&self) -> impl Ord + use<> {
        let kind = match self.seen {
            Seen::Failed => 3,
            Seen::Listing(..) => 2,
            Seen::Part(..) => 1,
            Seen::Absent | Seen::Folder(_) | Seen::Link(_) | Seen::File(_) => 0,
        };
        (kind, !self.route.outer)
    }

    /// Whether the folder was listed, all of it or in part.
    pub(crate) fn is_listing(&self) -> bool {
        matches!(self.seen, Seen::Listing(..) | Seen::Part(..))
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
            Seen::Listing(signature, _) | Seen::Part(signature, _) => Some(signature.inode),
            _ => None,
        }
    }
}

impl Seen {
    /// Whether the disk still is as it was. `named`: the files that count where a folder was listed in part.
    pub(crate) fn is_current(&self, path: &Path, named: &[Box<str>]) -> bool {
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
            Self::Listing(then, hash) => {
                is_same_folder(&now, &then, || disk::list(path).is_ok_and(|now| names_hash(&now) == hash))
            }
            Self::Part(then, hash) => is_same_folder(&now, &then, || {
                disk::list(path).is_ok_and(|mut now| {
                    now.retain(|(name, kind)| counts(name, *kind, named));
                    names_hash(&now) == hash
                })
            }),
        }
    }
}

/// Whether it is the same folder with the same names.
fn is_same_folder(now: &Signature, then: &Signature, same_names: impl FnOnce() -> bool) -> bool {
    now.inode == then.inode && (now.proves_same_names(then) || same_names())
}

/// Whether an entry counts in a folder that is listed in part: everything but files of other names.
pub(crate) fn counts(name: &OsStr, kind: fs::FileType, named: &[impl AsRef<str>]) -> bool {
    !kind.is_file() || name.to_str().is_some_and(|name| is_called_one_of(name, named))
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

#[cfg(test)]
mod tests {
    use std::{
        os::unix::fs::symlink,
        time::{SystemTime, UNIX_EPOCH},
    };

    use super::*;

    fn signature(path: &Path) -> Signature {
        Signature::of(&disk::stat(path).unwrap())
    }

    #[test]
    fn what_was_seen_is_current_until_something_else_is_there() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let names = || names_hash(&disk::list(&at("folder")).unwrap());
        for folder in ["folder/sub", "other/sub"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for file in ["FILE", "OTHER", "folder/NAMED", "folder/other"] {
            fs::write(at(file), "text").unwrap();
        }
        let part = || {
            let mut names = disk::list(&at("folder")).unwrap();
            names.retain(|(name, _)| name != "other");
            names_hash(&names)
        };
        symlink("FILE", at("link")).unwrap();
        symlink("loop", at("loop")).unwrap();
        let (file, other, link) = (signature(&at("FILE")), signature(&at("OTHER")), signature(&at("link")));
        let (folder, other_folder) = (signature(&at("folder")), signature(&at("other")));
        let older = Signature { mtime: 0, ..folder };
        for (name, seen, is_current) in [
            ("absent", Seen::Absent, true),
            ("FILE/below", Seen::Absent, true),
            ("FILE", Seen::Absent, false),
            ("loop/below", Seen::Absent, false),
            ("FILE", Seen::File(file), true),
            ("FILE", Seen::File(other), false),
            ("FILE", Seen::File(Signature { size: 9, ..file }), false),
            ("FILE", Seen::File(Signature { mtime: 0, ..file }), false),
            ("FILE", Seen::File(Signature { ctime: 0, ..file }), false),
            ("absent", Seen::File(file), false),
            ("loop/below", Seen::File(file), false),
            ("link", Seen::Link(link), true),
            ("link", Seen::Link(file), false),
            ("folder", Seen::Folder(folder.inode), true),
            ("folder", Seen::Folder(other_folder.inode), false),
            ("FILE", Seen::Folder(file.inode), false),
            ("absent", Seen::Folder(folder.inode), false),
            // The names decide, if not the inode and the times alone.
            ("folder", Seen::Listing(older, names()), true),
            ("folder", Seen::Listing(older, 0), false),
            ("folder", Seen::Listing(Signature { inode: other_folder.inode, ..older }, names()), false),
            ("absent", Seen::Listing(older, names()), false),
            // Of a part, the folders and the files of the names.
            ("folder", Seen::Part(older, part()), true),
            ("folder", Seen::Part(older, names()), false),
            ("folder", Seen::Part(Signature { inode: other_folder.inode, ..older }, part()), false),
            ("absent", Seen::Part(older, part()), false),
            // What could not be read has changed as soon as it can be, and as soon as nothing is there to read.
            ("loop/below", Seen::Failed, true),
            ("FILE", Seen::Failed, false),
            ("folder", Seen::Failed, false),
            ("link", Seen::Failed, false),
            ("absent", Seen::Failed, false),
        ] {
            assert_eq!(seen.is_current(&at(name), &["named".into()]), is_current, "{name}: {seen:?}");
        }
    }

    #[test]
    fn times_prove_that_names_are_the_same_once_they_are_past() {
        const SECOND: i64 = 1_000_000_000;
        let home = tempfile::tempdir().unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let changed = |ago: i64| Signature { ctime: i64::try_from(now).unwrap() - ago, ..signature(home.path()) };
        for (ago, proves) in [(60 * SECOND, true), (SECOND, true), (-SECOND / 2, false), (-60 * SECOND, true)] {
            assert_eq!(changed(ago).proves_same_names(&changed(ago)), proves, "{ago}");
            assert!(!changed(ago).proves_same_names(&changed(ago + 1)), "{ago}");
        }
    }

    #[test]
    fn names_and_kinds_make_a_folder_s_hash_and_their_order_does_not() {
        let home = tempfile::tempdir().unwrap();
        let hash = |entries: &[(&str, char)]| {
            let folder = tempfile::tempdir_in(home.path()).unwrap();
            for (name, kind) in entries {
                let path = folder.path().join(name);
                match kind {
                    'd' => fs::create_dir(path).unwrap(),
                    'l' => symlink("x", path).unwrap(),
                    _ => fs::write(path, "").unwrap(),
                }
            }
            let mut listed = disk::list(folder.path()).unwrap();
            let hash = names_hash(&listed);
            listed.reverse();
            assert_eq!(names_hash(&listed), hash);
            hash
        };
        let all = [
            &[][..],
            &[("a", 'f')],
            &[("a", 'd')],
            &[("a", 'l')],
            &[("b", 'f')],
            &[("a", 'f'), ("b", 'f')],
            &[("a", 'f'), ("b", 'd')],
            &[("a", 'd'), ("b", 'f')],
        ];
        for (i, one) in all.iter().enumerate() {
            for (j, other) in all.iter().enumerate() {
                assert_eq!(hash(one) == hash(other), i == j, "{one:?}, {other:?}");
            }
        }
    }

    #[test]
    fn of_two_probes_a_failure_counts_and_then_what_says_more() {
        let home = tempfile::tempdir().unwrap();
        let folder = signature(home.path());
        let of = |seen, outer| Probe { seen, route: Route { outer, ..Route::default() } }.rank();
        let kinds = [Seen::Folder(folder.inode), Seen::Part(folder, 0), Seen::Listing(folder, 0), Seen::Failed];
        let ranks = kinds.into_iter().flat_map(|seen| [of(seen, true), of(seen, false)]);
        assert!(ranks.is_sorted_by(|less, more| less < more));
    }
}
