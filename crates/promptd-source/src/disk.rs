//! The file system: every call that this crate makes of it.
//!
//! With the feature `faults` a test can make each of them fail.

#![expect(clippy::disallowed_methods, reason = "this is where the disk is read")]

use std::{
    ffi::OsString,
    fs,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::{ambient_authority, fs::Dir};
use rustix::fs::OFlags;

#[cfg(feature = "faults")]
use crate::faults::{self, Call};

/// Fails the call where a test wants it to.
macro_rules! may_fail {
    ($call:ident, $path:expr) => {
        #[cfg(feature = "faults")]
        faults::check(Call::$call, $path)?;
        #[cfg(not(feature = "faults"))]
        let _ = $path;
    };
}

/// A path's attributes, a link's own.
pub(crate) fn stat(path: &Path) -> io::Result<fs::Metadata> {
    may_fail!(Stat, path);
    fs::symlink_metadata(path)
}

/// A link's target.
pub(crate) fn read_link(path: &Path) -> io::Result<PathBuf> {
    may_fail!(ReadLink, path);
    fs::read_link(path)
}

/// A folder's names and kinds, links not followed.
pub(crate) fn list(path: &Path) -> io::Result<Vec<(OsString, fs::FileType)>> {
    may_fail!(List, path);
    fs::read_dir(path)?.map(|entry| entry.and_then(|e| Ok((e.file_name(), e.file_type()?)))).collect()
}

/// A folder, to open files beneath it.
pub(crate) fn open_folder(path: &Path) -> io::Result<Dir> {
    may_fail!(OpenFolder, path);
    Dir::open_ambient_dir(path, ambient_authority())
}

/// Opens the file at `path`, which is `below` the folder; never waits, and follows no link at the end.
pub(crate) fn open(folder: &Dir, below: &Path, path: &Path) -> io::Result<fs::File> {
    may_fail!(Open, path);
    let mut options = cap_std::fs::OpenOptions::new();
    options.read(true).nonblock(true).follow(FollowSymlinks::No);
    Ok(folder.open_with(below, &options)?.into_std())
}

/// The attributes of the open file, which is at `path`.
pub(crate) fn stat_open(file: &fs::File, path: &Path) -> io::Result<fs::Metadata> {
    may_fail!(StatOpen, path);
    file.metadata()
}

/// At most `limit` bytes of the open file, which is at `path` and has so many.
pub(crate) fn read(file: fs::File, path: &Path, limit: usize, size: u64) -> io::Result<Vec<u8>> {
    may_fail!(Read, path);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(limit).min(limit));
    file.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// How many folders all processes of this user may watch together; `None`: the system does not say.
pub(crate) fn watch_limit() -> Option<u64> {
    fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok()?.trim().parse().ok()
}

/// Tries once what a load does with what is at a path, with as many descriptors open as a load can have: its own folder
/// and one that links may lead to. With fewer, a path that no load can read would count as readable, and be loaded again
/// without end.
pub(crate) fn try_read(path: &Path) -> io::Result<()> {
    let root = Path::new("/");
    let _held = (open_folder(root)?, open_folder(root)?);
    let kind = stat(path)?.file_type();
    if kind.is_symlink() {
        read_link(path)?;
    } else if kind.is_dir() {
        open_folder(path)?;
        list(path)?;
    } else if kind.is_file() {
        may_fail!(Open, path);
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        stat_open(&file, path)?;
        read(file, path, 1, 1)?;
    }
    Ok(())
}
