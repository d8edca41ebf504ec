//! The file system: every call that this crate makes of it. Folders are made for their owner alone (0700), and so are files
//! (0600). A folder that is there already keeps its mode: where it is a mount point, it may belong to someone else.

#![expect(clippy::disallowed_methods, reason = "this is where the disk is used")]

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Makes a folder and those above it, where they are not there.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)
}

/// The names of a folder's entries, each with its size; none where it does not exist.
pub(crate) fn list(path: &Path) -> io::Result<Vec<(String, u64)>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let entry = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        Ok((entry.file_name().to_string_lossy().into_owned(), entry.metadata()?.len()))
    };
    entries.map(entry).collect()
}

/// A file's size; `None`: there is no file.
pub(crate) fn size(path: &Path) -> Option<u64> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len())
}

/// At most `limit` bytes of a file.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file whole or not at all: below another name first. Where it fails nothing is left of it.
pub(crate) fn write(unfinished: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let written = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(unfinished)?;
        file.write_all(bytes)?;
        drop(file);
        fs::rename(unfinished, path)
    };
    written().inspect_err(|_| _ = fs::remove_file(unfinished))
}

/// Removes a file that may be gone already.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes a folder with all that is in it, or a file; it may be gone already.
pub(crate) fn remove_folder(path: &Path) -> io::Result<()> {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    if is_folder { fs::remove_dir_all(path) } else { remove(path) }
}

/// Where a link leads; `None`: there is none.
pub(crate) fn link_target(path: &Path) -> Option<PathBuf> {
    fs::read_link(path).ok()
}

/// Makes a link lead elsewhere, without a moment in which it does not exist.
pub(crate) fn replace_link(unfinished: &Path, link: &Path, target: &Path) -> io::Result<()> {
    remove(unfinished)?;
    symlink(target, unfinished)?;
    fs::rename(unfinished, link)
}

/// Takes a lock, if no other process has it; the end of the process gives it back. Works on a file system that has become
/// read-only too, once the file is there.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    let file = match OpenOptions::new().write(true).create(true).truncate(false).mode(FILE_MODE).open(path) {
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => File::open(path)?,
        opened => opened?,
    };
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}
