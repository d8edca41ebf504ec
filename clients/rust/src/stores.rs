//! Where last good answers are kept: in memory, or in a folder.

use std::{
    collections::HashMap,
    fmt, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use serde::{Deserialize, Serialize};

const MAX_ENTRIES: usize = 256;

/// A prompt that is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) revision: String,
    pub(crate) profile: String,
    /// Those that are not of the conversation; none: this revision gives nothing to keep.
    pub(crate) messages: Vec<KeptMessage>,
    /// The names of those that come behind the conversation.
    pub(crate) behind: Vec<String>,
    /// Whether the profile carries the conversation as messages.
    pub(crate) carries: bool,
    pub(crate) allowed_tools: Vec<String>,
    /// When the service last gave this revision.
    pub(crate) confirmed: SystemTime,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptMessage {
    pub(crate) role: i32,
    pub(crate) name: String,
    pub(crate) content: String,
    pub(crate) ephemeral: bool,
}

/// Answers of before, for when no server can be reached: off unless a client is given one.
#[derive(Clone)]
pub struct LastGood(pub(crate) Arc<Store>);

pub(crate) enum Store {
    Memory(Mutex<Used>),
    Folder(PathBuf),
}

/// Entries, and when each was used, in uses of all.
#[derive(Default)]
pub(crate) struct Used {
    entries: HashMap<String, (u64, Entry)>,
    uses: u64,
}

impl fmt::Debug for LastGood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastGood")
    }
}

impl LastGood {
    /// Keeps the 256 answers that were used last, for as long as the process runs.
    #[must_use]
    pub fn memory() -> Self {
        Self(Arc::new(Store::Memory(Mutex::default())))
    }

    /// Keeps the 256 answers that were written last, each a file that only its owner can read, written whole or not at all. Texts of
    /// ephemeral messages are never written.
    #[must_use]
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        Self(Arc::new(Store::Folder(path.into())))
    }
}

impl Store {
    pub(crate) fn get(&self, key: &str) -> Option<Entry> {
        match self {
            Self::Memory(used) => {
                let mut used = used.lock().unwrap_or_else(PoisonError::into_inner);
                used.uses += 1;
                let now = used.uses;
                let (at, entry) = used.entries.get_mut(key)?;
                *at = now;
                Some(entry.clone())
            }
            Self::Folder(folder) => serde_json::from_slice(&fs::read(file(folder, key)).ok()?).ok(),
        }
    }

    /// Keeps an entry in place of the one before. A full disk must not cost an answer that is there.
    pub(crate) fn put(&self, key: &str, entry: Entry) {
        match self {
            Self::Memory(used) => {
                let mut used = used.lock().unwrap_or_else(PoisonError::into_inner);
                used.uses += 1;
                let now = used.uses;
                used.entries.insert(key.to_owned(), (now, entry));
                if used.entries.len() > MAX_ENTRIES {
                    let oldest = used.entries.iter().min_by_key(|(_, (at, _))| *at).map(|(key, _)| key.clone());
                    used.entries.remove(&oldest.unwrap_or_default());
                }
            }
            Self::Folder(folder) => {
                if let Err(error) = write(folder, key, entry) {
                    tracing::warn!(%error, "the last good answer cannot be kept");
                }
            }
        }
    }
}

fn file(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("{key}.json"))
}

fn write(folder: &Path, key: &str, mut entry: Entry) -> io::Result<()> {
    for message in entry.messages.iter_mut().filter(|message| message.ephemeral) {
        message.content.clear();
    }
    make_private(folder)?;
    // Such a file is its owner's alone.
    let mut made = tempfile::NamedTempFile::new_in(folder)?;
    made.write_all(&serde_json::to_vec(&entry)?)?;
    made.persist(file(folder, key)).map_err(|error| error.error)?;
    let age = |path: &PathBuf| fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let files = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
    if files.len() > MAX_ENTRIES {
        files.sort_by_key(age);
        for old in &files[..files.len() - MAX_ENTRIES] {
            // Another process may have removed it.
            let _ = fs::remove_file(old);
        }
    }
    Ok(())
}

fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(revision: &str) -> Entry {
        let message =
            |content: &str, ephemeral| KeptMessage { role: 1, name: "a".into(), content: content.into(), ephemeral };
        Entry {
            revision: revision.into(),
            profile: "five-layer".into(),
            messages: vec![message("kept", false), message("for this turn", true)],
            behind: vec![],
            carries: true,
            allowed_tools: vec![],
            confirmed: SystemTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_store_keeps_the_newest_and_forgets_the_oldest() {
        let home = tempfile::tempdir().unwrap();
        for last_good in [LastGood::memory(), LastGood::folder(home.path().join("kept"))] {
            for number in 0..=MAX_ENTRIES {
                last_good.0.put(&format!("key{number}"), entry(&number.to_string()));
            }
            assert!(last_good.0.get("key0").is_none());
            let newest = last_good.0.get(&format!("key{MAX_ENTRIES}")).unwrap();
            assert_eq!(newest.revision, MAX_ENTRIES.to_string());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_is_its_owners_and_has_no_ephemeral_text() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("kept");
        let last_good = LastGood::folder(&folder);
        last_good.0.put("key", entry("1"));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&file(&folder, "key"))), (0o700, 0o600));
        let text = fs::read_to_string(file(&folder, "key")).unwrap();
        assert!(text.contains("kept") && !text.contains("for this turn"), "{text}");
        fs::write(file(&folder, "key"), "{").unwrap();
        assert!(last_good.0.get("key").is_none(), "what cannot be read is not there");
    }
}
