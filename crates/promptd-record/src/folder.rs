//! The folder: where everything is in it, and reading and writing whole files of it.
//!
//! ```text
//! FORMAT                         the version of all this
//! lock                           held by whoever writes or removes
//! blobs/ab/cd…                   the bytes of a file, by their SHA-256
//! revisions/SHA256               a revision's files and settings
//! requests/SHA256/TIME-SHA256    a request, below its revision
//! unfinished/                    what is being written
//! ```
//!
//! Every name is made of hashes and of the time: nothing that a caller sends is a part of one. A file is complete when it
//! has its name, and its name says whether it is whole.

use std::{
    fmt,
    fs::File,
    io,
    path::{Path, PathBuf},
};

use promptd_core::{
    digest::{Digest, sha256_hex},
    text::hex,
};

use crate::disk::{Disk, Listed};

/// The first version.
const FORMAT: &str = "promptd-record 1\n";
/// The most bytes of a format that are read.
const MAX_FORMAT_BYTES: u64 = 256;
const FORMAT_FILE: &str = "FORMAT";
const UNFINISHED: &str = "unfinished";
/// No file of the folder is larger.
pub(crate) const MAX_FILE_BYTES: u64 = 256 << 20;
/// What a file takes of the disk, at least.
const BLOCK: u64 = 4096;

/// A folder of records.
#[derive(Clone)]
pub struct Folder {
    root: PathBuf,
    pub(crate) disk: Disk,
}

/// Why a folder cannot be used.
#[derive(Debug)]
pub enum FolderError {
    /// There is no such folder.
    Missing(PathBuf),
    /// It has other files.
    NotARecord(PathBuf),
    /// It was written in another format, given by the text of its file.
    OtherFormat(PathBuf, String),
    /// The system refuses.
    Failed(PathBuf, io::Error),
}

/// A part of the folder that is missing or damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Its file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub what: String,
    /// It is a request that is gone: it was removed since it was listed.
    pub is_gone: bool,
}

/// A request's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestFile {
    /// Its revision's file.
    pub revision: Digest,
    /// When it was answered: microseconds since 1970.
    pub at: u64,
    /// What it takes of the disk.
    pub(crate) bytes: u64,
    name: String,
}

/// The folder while no other process writes to it.
pub(crate) struct Locked<'f> {
    pub(crate) folder: &'f Folder,
    _file: File,
}

impl Folder {
    /// Opens a folder to write to; makes it if it is missing or empty.
    pub fn create(root: &Path) -> Result<Self, FolderError> {
        Self::create_on(root, Disk::default())
    }

    pub(crate) fn create_on(root: &Path, disk: Disk) -> Result<Self, FolderError> {
        let failed = |error: io::Error| FolderError::Failed(root.to_owned(), error);
        disk.create_folder(root).map_err(failed)?;
        let folder = Self { root: root.to_owned(), disk };
        if !folder.disk.exists(&root.join(FORMAT_FILE)).map_err(failed)? {
            let others = folder.disk.files(root).map_err(failed)?.into_iter().map(|file| file.name);
            let mut others = others.chain(folder.disk.folders(root).map_err(failed)?);
            // Two processes may start at the same time.
            if others.any(|name| name != "lock" && name != UNFINISHED) {
                return Err(FolderError::NotARecord(root.to_owned()));
            }
            folder.disk.close_to_others(root).map_err(failed)?;
            let locked = folder.lock().map_err(failed)?;
            locked.write(&root.join(FORMAT_FILE), FORMAT.as_bytes()).map_err(failed)?;
        }
        folder.disk.close_to_others(root).map_err(failed)?;
        folder.check_format()?;
        Ok(folder)
    }

    /// Opens a folder to read.
    pub fn open(root: &Path) -> Result<Self, FolderError> {
        let folder = Self { root: root.to_owned(), disk: Disk::default() };
        folder.check_format()?;
        Ok(folder)
    }

    fn check_format(&self) -> Result<(), FolderError> {
        let root = self.root.clone();
        match self.disk.read(&root.join(FORMAT_FILE), MAX_FORMAT_BYTES) {
            // Some ways to copy or to restore a file change how its last line ends.
            Ok(format) if format.trim_ascii_end() == FORMAT.trim_end().as_bytes() => Ok(()),
            Ok(format) => {
                let text = String::from_utf8_lossy(format.trim_ascii_end());
                Err(FolderError::OtherFormat(root, text.escape_debug().collect()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(match self.disk.exists(&root) {
                Ok(false) => FolderError::Missing(root),
                _ => FolderError::NotARecord(root),
            }),
            Err(error) => Err(FolderError::Failed(root, error)),
        }
    }

    /// Waits until no other process writes or removes. What a process left that was killed while it wrote is removed.
    pub(crate) fn lock(&self) -> io::Result<Locked<'_>> {
        let file = self.disk.lock(&self.root.join("lock"))?;
        let unfinished = self.root.join(UNFINISHED);
        self.disk.create_folder(&unfinished)?;
        for left in self.disk.files(&unfinished)? {
            self.disk.remove(&unfinished.join(left.name))?;
        }
        Ok(Locked { folder: self, _file: file })
    }

    /// How many files were being written when their process was killed, or are being written now.
    pub fn unfinished(&self) -> io::Result<usize> {
        Ok(self.disk.files(&self.root.join(UNFINISHED))?.len())
    }

    /// Every request, the oldest first.
    pub fn requests(&self) -> io::Result<Vec<RequestFile>> {
        let home = self.root.join("requests");
        let mut found = Vec::new();
        for name in self.disk.folders(&home)? {
            let Some(revision) = hex::bytes(&name).map(Digest) else { continue };
            let files = self.disk.files(&home.join(&name))?;
            found.extend(files.into_iter().filter_map(|file| RequestFile::parse(revision, file)));
        }
        found.sort_by(|a, b| (a.at, &a.name).cmp(&(b.at, &b.name)));
        Ok(found)
    }

    /// The bytes of a request, checked.
    pub(crate) fn read_request(&self, request: &RequestFile) -> Result<Vec<u8>, Damage> {
        let sha256 = request.name.rsplit_once('-').and_then(|(_, sha256)| hex::bytes(sha256)).map(Digest);
        let read = self.read_whole(&self.path_of_request(request), sha256.unwrap_or_default());
        read.map_err(|damage| Damage { is_gone: damage.what == GONE, ..damage })
    }

    /// The bytes of a revision, checked.
    pub(crate) fn read_revision(&self, sha256: Digest) -> Result<Vec<u8>, Damage> {
        self.read_whole(&self.revision_path(sha256), sha256)
    }

    /// The bytes of a file of a revision, checked.
    pub(crate) fn read_blob(&self, sha256: Digest) -> Result<Vec<u8>, Damage> {
        self.read_whole(&self.blob_path(sha256), sha256)
    }

    fn read_whole(&self, path: &Path, sha256: Digest) -> Result<Vec<u8>, Damage> {
        let damage = |what: String| Damage { path: path.to_owned(), what, is_gone: false };
        let bytes = self.disk.read(path, MAX_FILE_BYTES).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => damage(GONE.to_owned()),
            _ => damage(format!("cannot be read: {error}")),
        })?;
        if digest_of(&bytes) != sha256 {
            let what = format!("is damaged: the SHA-256 of its {} bytes is not the one in its name", bytes.len());
            return Err(damage(what));
        }
        Ok(bytes)
    }

    /// Where a request is.
    #[must_use]
    pub fn path_of_request(&self, request: &RequestFile) -> PathBuf {
        self.requests_of(request.revision).join(&request.name)
    }

    pub(crate) fn requests_of(&self, revision: Digest) -> PathBuf {
        self.root.join("requests").join(revision.to_hex())
    }

    pub(crate) fn revision_path(&self, sha256: Digest) -> PathBuf {
        self.root.join("revisions").join(sha256.to_hex())
    }

    fn blob_path(&self, sha256: Digest) -> PathBuf {
        let name = sha256.to_hex();
        self.root.join("blobs").join(&name[..2]).join(&name[2..])
    }
}

/// What is wrong with a file that is not there.
const GONE: &str = "is missing";

impl Locked<'_> {
    /// Writes the bytes of a file of a revision, unless they are there; says how much of the disk they take.
    pub(crate) fn put_blob(&self, bytes: &[u8]) -> io::Result<(Digest, u64)> {
        let sha256 = digest_of(bytes);
        Ok((sha256, self.put(&self.folder.blob_path(sha256), bytes)?))
    }

    /// Writes a revision, unless it is there.
    pub(crate) fn put_revision(&self, bytes: &[u8]) -> io::Result<(Digest, u64)> {
        let sha256 = digest_of(bytes);
        Ok((sha256, self.put(&self.folder.revision_path(sha256), bytes)?))
    }

    /// Writes a request.
    pub(crate) fn put_request(&self, revision: Digest, at: u64, bytes: &[u8]) -> io::Result<u64> {
        let name = format!("{at:016}-{}", digest_of(bytes).to_hex());
        self.put(&self.folder.requests_of(revision).join(name), bytes)
    }

    /// Whether the revision is there, and with it all that it needs.
    pub(crate) fn has_revision(&self, sha256: Digest) -> io::Result<bool> {
        self.folder.disk.exists(&self.folder.revision_path(sha256))
    }

    fn put(&self, path: &Path, bytes: &[u8]) -> io::Result<u64> {
        if self.folder.disk.exists(path)? {
            return Ok(0);
        }
        if let Some(parent) = path.parent() {
            self.folder.disk.create_folder(parent)?;
        }
        self.write(path, bytes)?;
        Ok(on_disk(bytes.len() as u64))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let unfinished = self.folder.root.join(UNFINISHED).join(path.file_name().unwrap_or_default());
        self.folder.disk.write(&unfinished, path, bytes)
    }

    /// Removes a request.
    pub(crate) fn remove_request(&self, request: &RequestFile) -> io::Result<()> {
        self.folder.disk.remove(&self.folder.path_of_request(request))
    }

    /// Every revision, and what it takes of the disk.
    pub(crate) fn revisions(&self) -> io::Result<Vec<(Digest, u64)>> {
        let files = self.folder.disk.files(&self.folder.root.join("revisions"))?;
        Ok(files.into_iter().filter_map(|file| Some((Digest(hex::bytes(&file.name)?), on_disk(file.bytes)))).collect())
    }

    /// The bytes of every file of a revision: their SHA-256, and what they take of the disk.
    pub(crate) fn blobs(&self) -> io::Result<Vec<(Digest, u64)>> {
        let home = self.folder.root.join("blobs");
        let mut found = Vec::new();
        for start in self.folder.disk.folders(&home)? {
            let files = self.folder.disk.files(&home.join(&start))?;
            let blob =
                |file: Listed| Some((Digest(hex::bytes(&format!("{start}{}", file.name))?), on_disk(file.bytes)));
            found.extend(files.into_iter().filter_map(blob));
        }
        Ok(found)
    }

    pub(crate) fn remove_blob(&self, sha256: Digest) -> io::Result<()> {
        self.folder.disk.remove(&self.folder.blob_path(sha256))
    }

    pub(crate) fn remove_revision(&self, sha256: Digest) -> io::Result<()> {
        self.folder.disk.remove(&self.folder.revision_path(sha256))?;
        self.folder.disk.remove_if_empty(&self.folder.requests_of(sha256))
    }
}

impl RequestFile {
    fn parse(revision: Digest, file: Listed) -> Option<Self> {
        let (at, sha256) = file.name.split_once('-')?;
        let at = at.parse().ok()?;
        hex::bytes::<32>(sha256)?;
        Some(Self { revision, at, bytes: on_disk(file.bytes), name: file.name })
    }
}

/// What a file of so many bytes takes of the disk.
pub(crate) fn on_disk(bytes: u64) -> u64 {
    bytes.max(1).div_ceil(BLOCK) * BLOCK
}

pub(crate) fn digest_of(bytes: &[u8]) -> Digest {
    hex::bytes(&sha256_hex(bytes)).map(Digest).unwrap_or_default()
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(path) => write!(f, "folder not found: {}", path.display()),
            Self::NotARecord(path) => write!(
                f,
                "{} has other files and no records: give the folder of the setting `record.dir`, or one that is empty",
                path.display()
            ),
            Self::OtherFormat(path, format) => write!(
                f,
                "{} has records of the format `{format}`; this promptd reads `{}`: use the promptd that recorded them, or \
                 record into another folder",
                path.display(),
                FORMAT.trim_end()
            ),
            Self::Failed(path, error) => write!(f, "cannot use the folder {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for FolderError {}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path.display(), self.what)
    }
}
