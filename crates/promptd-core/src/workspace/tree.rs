//! The folder that a workspace is loaded from, as loading sees it.

use std::fmt;

use crate::finding::{Code, Finding, Place};

/// A folder tree to read from. `source` has the one over real files; tests and fuzzing use one in memory.
///
/// Paths are relative, with `/` between names, no `.`, no `..`, and no leading `/`; the root is the empty path.
/// Implementations keep to the safety rules: only regular files, links followed only to allowed places.
pub trait Tree {
    /// Reads at most `limit` bytes of a file.
    fn read(&self, path: &str, limit: usize) -> Result<FileBytes, ReadError>;

    /// Lists a folder's entries, in name order by bytes. Links are resolved: the kind is the target's. A folder that is
    /// inside itself by a link is [`ReadError::LinkLoop`].
    fn list(&self, path: &str) -> Result<Vec<Entry>, ReadError>;

    /// The same, but of the regular files only those called one of `names`, without regard to the case of ASCII letters. Where
    /// other files come and go, nothing has changed for who asked.
    fn list_only(&self, path: &str, names: &[&str]) -> Result<Vec<Entry>, ReadError> {
        let mut entries = self.list(path)?;
        entries.retain(|entry| entry.kind != EntryKind::File || is_called_one_of(&entry.name, names));
        Ok(entries)
    }
}

/// Whether a name is one of `names`, without regard to the case of ASCII letters.
pub fn is_called_one_of(name: &str, names: &[impl AsRef<str>]) -> bool {
    names.iter().any(|one| one.as_ref().eq_ignore_ascii_case(name))
}

/// A file's bytes, up to the reader's limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileBytes {
    /// The bytes read.
    pub bytes: Vec<u8>,
    /// The file's real size in bytes.
    pub total: u64,
}

impl FileBytes {
    /// Whether the file goes on where the limit ended.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        (self.bytes.len() as u64) < self.total
    }
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name; names that are not UTF-8 are given with U+FFFD and cannot be read.
    pub name: String,
    /// What it is, links resolved.
    pub kind: EntryKind,
}

/// What an entry is, links resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// Anything else: a FIFO, a socket, a device, a link that cannot be followed.
    Other,
}

/// Why a file or folder could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadError {
    /// It does not exist.
    Missing,
    /// It is a folder, FIFO, socket or device where a regular file is needed; or no folder where one is.
    WrongKind(&'static str),
    /// A link leads outside the workspace to a place that the server's config does not name.
    LinkOutside,
    /// The target of a link does not exist.
    LinkDangling,
    /// Links lead in a circle.
    LinkLoop,
    /// The service has no permission.
    Denied,
    /// The system failed to read it.
    Failed(std::io::ErrorKind),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("does not exist"),
            Self::WrongKind(kind) => write!(f, "is {kind}, not a regular file"),
            Self::LinkOutside => f.write_str("is a link to a place outside the workspace"),
            Self::LinkDangling => f.write_str("is a link whose target does not exist"),
            Self::LinkLoop => f.write_str("is a link in a circle of links"),
            Self::Denied => f.write_str("cannot be read by the service: permission denied"),
            Self::Failed(kind) => write!(f, "could not be read: {kind}"),
        }
    }
}

/// What a path was read as, for a finding's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadAs {
    File,
    Folder,
}

impl ReadError {
    /// The finding for the file or folder at `path`.
    pub(super) fn into_finding(self, path: &str, read_as: ReadAs) -> Finding {
        let code = match self {
            Self::LinkOutside => Code::LinkOutside,
            Self::LinkDangling | Self::LinkLoop => Code::LinkBroken,
            Self::Missing | Self::WrongKind(_) | Self::Denied | Self::Failed(_) => Code::FileUnreadable,
        };
        let message = match (self, read_as) {
            (Self::WrongKind(kind), ReadAs::Folder) => format!("the folder is {kind}, not a folder"),
            (_, ReadAs::Folder) => format!("the folder {self}"),
            (_, ReadAs::File) => format!("the file {self}"),
        };
        Finding::new(code, Place::file(path), message)
    }

    /// Whether the last good version stays in use: the file may well be as it was. Where something else has taken its
    /// place, it is gone.
    pub(super) fn keeps_last_good(self) -> bool {
        matches!(self, Self::Denied | Self::Failed(_))
    }
}
