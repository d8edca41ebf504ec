//! The file system: every call that this crate makes of it.
//!
//! Folders are made for their owner alone (0700), and so are files (0600). A test can make each call fail.

#![expect(clippy::disallowed_methods, reason = "this is where the disk is used")]

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

use rustix::fs::{FlockOperation, flock};

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// What is done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    CreateFolder,
    List,
    Lock,
    Read,
    Remove,
    Write,
}

/// The file system.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    #[cfg(test)]
    pub(crate) faults: Option<Faults>,
}

/// Decides in a test whether a call fails.
#[cfg(test)]
pub(crate) type Faults = std::sync::Arc<dyn Fn(Call, &Path) -> io::Result<()> + Send + Sync>;

/// A file of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Its name; one that is not UTF-8 has U+FFFD.
    pub(crate) name: String,
    pub(crate) bytes: u64,
}

impl Disk {
    #[cfg_attr(not(test), expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "tests have faults"))]
    fn check(&self, call: Call, path: &Path) -> io::Result<()> {
        #[cfg(test)]
        if let Some(faults) = &self.faults {
            return faults(call, path);
        }
        let _ = (call, path);
        Ok(())
    }

    /// Makes a folder and those above it, each for its owner alone.
    pub(crate) fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.check(Call::CreateFolder, path)?;
        DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)
    }

    /// Takes a folder's rights from all but its owner.
    pub(crate) fn close_to_others(&self, path: &Path) -> io::Result<()> {
        self.check(Call::CreateFolder, path)?;
        if fs::metadata(path)?.mode() & 0o777 == FOLDER_MODE {
            return Ok(());
        }
        fs::set_permissions(path, Permissions::from_mode(FOLDER_MODE))
    }

    /// The files of a folder by name, without its folders; none where it does not exist.
    pub(crate) fn files(&self, path: &Path) -> io::Result<Vec<Listed>> {
        self.list(path, false)
    }

    /// The folders of a folder by name; none where it does not exist.
    pub(crate) fn folders(&self, path: &Path) -> io::Result<Vec<String>> {
        Ok(self.list(path, true)?.into_iter().map(|listed| listed.name).collect())
    }

    fn list(&self, path: &Path, folders: bool) -> io::Result<Vec<Listed>> {
        self.check(Call::List, path)?;
        let entries = match fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut listed = Vec::new();
        for entry in entries {
            let entry = entry?;
            // What another process has removed meanwhile is not there.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() == folders {
                listed.push(Listed { name: entry.file_name().to_string_lossy().into_owned(), bytes: metadata.len() });
            }
        }
        listed.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(listed)
    }

    /// At most `limit` bytes of a file.
    pub(crate) fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        self.check(Call::Read, path)?;
        let file = File::open(path)?;
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Whether there is a file or a folder.
    pub(crate) fn exists(&self, path: &Path) -> io::Result<bool> {
        self.check(Call::Read, path)?;
        path.try_exists()
    }

    /// Writes a file whole or not at all: below another name first. Where it fails nothing is left of it.
    pub(crate) fn write(&self, unfinished: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let written = self.check(Call::Write, path).and_then(|()| {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(unfinished)?;
            file.write_all(bytes)?;
            drop(file);
            fs::rename(unfinished, path)
        });
        written.inspect_err(|_| _ = fs::remove_file(unfinished))
    }

    /// Removes a file that may be gone already.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        self.check(Call::Remove, path)?;
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes a folder if it is empty.
    pub(crate) fn remove_if_empty(&self, path: &Path) -> io::Result<()> {
        self.check(Call::Remove, path)?;
        match fs::remove_dir(path) {
            Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => {
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// Waits until no other process has the lock. Dropping the file gives it back, and so does the end of the process.
    pub(crate) fn lock(&self, path: &Path) -> io::Result<File> {
        self.check(Call::Lock, path)?;
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(FILE_MODE).open(path)?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }
}
