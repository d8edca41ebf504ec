//! The folder of a store: its files are the owner's alone, and one process has them.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

use crate::StoreError;

/// The database; SQLite adds `-wal` and `-shm`, with the same permissions.
const DATABASE: &str = "conversations.db";
const LOG: &str = "conversations.db-wal";
/// It is locked while a process has the store.
const LOCK: &str = "lock";
const OWNERS_FILE: u32 = 0o600;
const OWNERS_FOLDER: u32 = 0o700;

/// The folder.
#[derive(Debug, Clone)]
pub(super) struct Folder(PathBuf);

/// The store is this process's until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Folder {
    /// The folder, made where there is none.
    pub(super) fn create(dir: &Path) -> Result<Self, StoreError> {
        let made = DirBuilder::new().recursive(true).mode(OWNERS_FOLDER).create(dir);
        made.map_err(|error| unusable(dir, &error))?;
        let folder = Self(dir.to_owned());
        owners_file(&folder.database()).map_err(|error| unusable(&folder.database(), &error))?;
        Ok(folder)
    }

    /// The folder of a store that is there.
    pub(super) fn open(dir: &Path) -> Result<Self, StoreError> {
        let folder = Self(dir.to_owned());
        if is_file(&folder.database()) {
            return Ok(folder);
        }
        Err(StoreError::Unusable(format!("there is no store in {}", dir.display())))
    }

    pub(super) fn database(&self) -> PathBuf {
        self.0.join(DATABASE)
    }

    /// How many bytes the write-ahead log has.
    pub(super) fn log_bytes(&self) -> u64 {
        size(&self.0.join(LOG)).ok().flatten().unwrap_or(0)
    }

    /// Takes the store for this process.
    pub(super) fn lock(&self) -> Result<Lock, StoreError> {
        let path = self.0.join(LOCK);
        let file = owners_file(&path).map_err(|error| unusable(&path, &error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Lock { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(StoreError::Unusable(format!(
                "another process uses the folder {}: stop it first",
                self.0.display()
            ))),
            Err(error) => Err(unusable(&path, &error.into())),
        }
    }

    /// Puts a copy of `from` in the place of the database.
    pub(super) fn replace(&self, from: &Path, _lock: &Lock) -> io::Result<()> {
        let beside = self.0.join("restoring.db");
        remove(&beside)?;
        let mut copy = owners_file(&beside)?;
        io::copy(&mut open(from)?, &mut copy)?;
        copy.sync_all()?;
        for suffix in ["-wal", "-shm"] {
            remove(&self.0.join(format!("{DATABASE}{suffix}")))?;
        }
        rename(&beside, &self.database())?;
        open(&self.0)?.sync_all()
    }
}

/// Opens a file that only its owner may read, and makes it where there is none.
#[expect(clippy::disallowed_methods, reason = "this is where the disk is used")]
pub(super) fn owners_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(OWNERS_FILE).open(path)?;
    if file.metadata()?.permissions().mode() & 0o777 != OWNERS_FILE {
        file.set_permissions(Permissions::from_mode(OWNERS_FILE))?;
    }
    Ok(file)
}

/// The size of a file; `None`: there is none.
#[expect(clippy::disallowed_methods, reason = "this is where the disk is used")]
pub(super) fn size(path: &Path) -> io::Result<Option<u64>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata.len())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[expect(clippy::disallowed_methods, reason = "this is where the disk is used")]
fn is_file(path: &Path) -> bool {
    path.is_file()
}

#[expect(clippy::disallowed_methods, reason = "this is where the disk is used")]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[expect(clippy::disallowed_methods, reason = "this is where the disk is used")]
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[expect(clippy::disallowed_methods, reason = "this is where the disk is used")]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

pub(super) fn unusable(path: &Path, error: &io::Error) -> StoreError {
    if error.kind() == ErrorKind::StorageFull {
        return StoreError::Full;
    }
    StoreError::Unusable(format!("{}: {error}", path.display()))
}
