//! A workspace as it was published: which files it has, and who published it after which other one.

use std::{collections::BTreeMap, fmt};

use jiff::Timestamp;
use promptd_core::{digest::Digest, text::hex};
use serde::{Deserialize, Serialize};

/// The newest format of manifests that is read, and the one that is written.
pub const FORMAT: u32 = 1;
/// The most files of a workspace.
pub const MAX_FILES: usize = 4_000;
/// The most bytes of one file: etcd refuses requests of more than 1.5 MiB.
pub const MAX_FILE_BYTES: u64 = 1 << 20;
/// The most bytes of all files of a workspace.
pub const MAX_WORKSPACE_BYTES: u64 = 64 << 20;
/// The most bytes of a manifest: a publish writes it twice in one request.
pub(crate) const MAX_MANIFEST_BYTES: usize = 640 << 10;
/// The most bytes of a path in a workspace.
const MAX_PATH_BYTES: usize = 1_024;

/// A published state of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// 1 for the first state of a workspace, then one more for each.
    pub sequence: u64,
    /// The revision that it was published after; `None`: it is the first.
    pub parent: Option<Digest>,
    /// Who published it.
    pub author: String,
    /// Why.
    pub message: String,
    /// When, by the clock of who published it.
    pub time: Timestamp,
    /// The revision whose files it has again, where it ended a canary.
    pub again: Option<Digest>,
    /// Its files by path.
    pub files: BTreeMap<String, FileEntry>,
}

/// A file of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileEntry {
    /// Of its bytes.
    pub sha256: Digest,
    /// Its size in bytes.
    pub bytes: u64,
}

/// What is wrong with a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidManifest(pub(crate) String);

impl fmt::Display for InvalidManifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As JSON has it.
#[derive(Serialize, Deserialize)]
struct Written {
    format: u32,
    sequence: u64,
    parent: Option<String>,
    author: String,
    message: String,
    time: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    again: Option<String>,
    files: WrittenFiles,
}

/// The files of a state as JSON has them, by path.
#[derive(Serialize, Deserialize)]
pub(crate) struct WrittenFiles(BTreeMap<String, WrittenFile>);

#[derive(Serialize, Deserialize)]
struct WrittenFile {
    sha256: String,
    bytes: u64,
}

#[derive(Deserialize)]
struct FormatOnly {
    format: u32,
}

impl Manifest {
    /// Reads what etcd has. A manifest of a newer format is refused whole, since what it says may mean something else.
    pub fn read(json: &[u8]) -> Result<Self, InvalidManifest> {
        let invalid = |what: String| InvalidManifest(format!("the manifest is not valid: {what}"));
        if json.len() > MAX_MANIFEST_BYTES {
            return Err(invalid(format!("it has {} bytes, of {MAX_MANIFEST_BYTES} at most", json.len())));
        }
        let FormatOnly { format } = serde_json::from_slice(json).map_err(|error| invalid(error.to_string()))?;
        if format > FORMAT {
            let message =
                format!("the manifest has format {format}, and this promptd reads up to {FORMAT}: update promptd");
            return Err(InvalidManifest(message));
        }
        let written: Written = serde_json::from_slice(json).map_err(|error| invalid(error.to_string()))?;
        Self::check(written).map_err(invalid)
    }

    fn check(written: Written) -> Result<Self, String> {
        let Written { sequence, parent, author, message, time, again, files, .. } = written;
        Ok(Self {
            sequence,
            parent: parent.as_deref().map(read_digest).transpose()?,
            author,
            message,
            time: time.parse().map_err(|_| format!("`{time}` is not a time"))?,
            again: again.as_deref().map(read_digest).transpose()?,
            files: files.check()?,
        })
    }

    /// What etcd gets. Its SHA-256 is the name of this state.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let written = Written {
            format: FORMAT,
            sequence: self.sequence,
            parent: self.parent.map(Digest::to_hex),
            author: self.author.clone(),
            message: self.message.clone(),
            time: self.time.to_string(),
            again: self.again.map(Digest::to_hex),
            files: WrittenFiles::of(&self.files),
        };
        // Texts and numbers alone: writing them cannot fail.
        serde_json::to_vec(&written).unwrap_or_default()
    }
}

impl WrittenFiles {
    pub(crate) fn of(files: &BTreeMap<String, FileEntry>) -> Self {
        let file = |(path, file): (&String, &FileEntry)| {
            (path.clone(), WrittenFile { sha256: file.sha256.to_hex(), bytes: file.bytes })
        };
        Self(files.iter().map(file).collect())
    }

    /// The files, where they are some that a workspace can have.
    pub(crate) fn check(self) -> Result<BTreeMap<String, FileEntry>, String> {
        let Self(files) = self;
        if files.len() > MAX_FILES {
            return Err(format!("it has {} files, of {MAX_FILES} at most", files.len()));
        }
        if files.values().any(|file| file.bytes > MAX_FILE_BYTES) {
            return Err(format!("a file has more than {MAX_FILE_BYTES} bytes"));
        }
        if files.values().map(|file| file.bytes).sum::<u64>() > MAX_WORKSPACE_BYTES {
            return Err(format!("its files have more than {MAX_WORKSPACE_BYTES} bytes together"));
        }
        if let Some(path) = files.keys().find(|path| !is_path(path)) {
            return Err(format!("`{}` is not a path of a file", path.escape_debug()));
        }
        if let Some(path) = below_file(&files) {
            return Err(format!("`{path}` is below a path that is a file"));
        }
        let entry = |(path, file): (String, WrittenFile)| {
            Ok((path, FileEntry { sha256: read_digest(&file.sha256)?, bytes: file.bytes }))
        };
        files.into_iter().map(entry).collect()
    }
}

pub(crate) fn read_digest(text: &str) -> Result<Digest, String> {
    hex::bytes(text).map(Digest).ok_or_else(|| format!("`{text}` is not a SHA-256"))
}

/// Whether a path is relative, of plain names.
#[must_use]
pub fn is_path(path: &str) -> bool {
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.contains(|c: char| c.is_control());
    path.len() <= MAX_PATH_BYTES && path.split('/').all(is_name)
}

/// Whether a path can be published: one that [`is_path`] takes, of names that do not begin with a dot. Programs act on what such
/// files of a folder say, as git does on `.git/config`, and no workspace needs them.
#[must_use]
pub fn is_publishable(path: &str) -> bool {
    is_path(path) && !path.split('/').any(|name| name.starts_with('.'))
}

/// The first path that is below another, which would have to be a folder and a file.
pub(crate) fn below_file<T>(files: &BTreeMap<String, T>) -> Option<&str> {
    let above = |path: &str| path.match_indices('/').any(|(at, _)| files.contains_key(&path[..at]));
    files.keys().map(String::as_str).find(|path| above(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let file = |byte: u8| FileEntry { sha256: Digest([byte; 32]), bytes: 5 };
        Manifest {
            sequence: 2,
            parent: Some(Digest([7; 32])),
            author: "dana".to_owned(),
            message: "Shorter.".to_owned(),
            time: "2026-11-29T13:00:00Z".parse().unwrap(),
            again: None,
            files: [("AGENTS.md".to_owned(), file(1)), ("skills/tides/SKILL.md".to_owned(), file(2))].into(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Manifest::read(&manifest().write()), Ok(manifest()));
        let again = Manifest { again: Some(Digest([6; 32])), ..manifest() };
        assert_eq!(Manifest::read(&again.write()), Ok(again));
    }

    #[test]
    fn what_other_programs_act_on_cannot_be_published() {
        for path in [".git/config", ".git", "skills/tides/.envrc", "...", "a/.b/c"] {
            assert!(is_path(path) && !is_publishable(path), "{path}");
        }
        assert!(is_publishable("skills/tides/SKILL.md") && is_publishable("a.b/c.") && !is_publishable("/a"));
    }

    #[test]
    fn a_newer_format_and_whatever_is_no_manifest_say_what_is_wrong() {
        let text = String::from_utf8(manifest().write()).unwrap();
        let hash = Digest([1; 32]).to_hex();
        for (from, to, why) in [
            (
                "\"format\":1",
                "\"format\":2",
                "the manifest has format 2, and this promptd reads up to 1: update promptd",
            ),
            ("\"format\":1", "\"form\":1", "missing field `format`"),
            ("AGENTS.md", "../AGENTS.md", "`../AGENTS.md` is not a path of a file"),
            ("AGENTS.md", "/etc/passwd", "is not a path of a file"),
            ("AGENTS.md", "a\\u0000b", "`a\\0b` is not a path of a file"),
            ("AGENTS.md", "skills", "`skills/tides/SKILL.md` is below a path that is a file"),
            (hash.as_str(), "0101", "`0101` is not a SHA-256"),
            ("\"bytes\":5", "\"bytes\":1048577", "a file has more than 1048576 bytes"),
            ("2026-11-29T13:00:00Z", "noon", "`noon` is not a time"),
            ("{", "[", "the manifest is not valid"),
        ] {
            assert!(text.contains(from), "{from}");
            let error = Manifest::read(text.replacen(from, to, 1).as_bytes()).unwrap_err();
            assert!(error.to_string().contains(why), "{error} instead of {why}");
        }
    }
}
