//! A revision's files and settings, to the folder and back.

use std::{collections::BTreeMap, io, sync::Arc};

use promptd_core::{
    digest::Digest,
    id::Id,
    profile::{self, ProfileSet},
    settings::{RiskPolicy, Settings, SkillLimits},
    workspace::{Captured, CapturedFile, Entry, EntryKind, FORMAT, MAX_PREVIOUS, Origin, ReadError},
};
use prost::Message as _;

use crate::{
    folder::{Damage, Folder, Locked},
    format::{
        StoredEntry, StoredError, StoredFile, StoredFolder, StoredRevision, StoredSettings, StoredShared, StoredTree,
    },
};

/// Writes a revision with all that it needs; says how much of the disk that takes. Its ephemeral prompt must have been removed.
pub(crate) fn store(locked: &Locked<'_>, origin: &Origin) -> io::Result<(Digest, u64)> {
    let mut written = 0;
    let mut put = |bytes: &[u8]| {
        let (sha256, took) = locked.put_blob(bytes)?;
        written += took;
        Ok::<_, io::Error>(sha256)
    };
    let stored = StoredRevision {
        prompts: FORMAT.to_owned(),
        workspace: origin.id.to_string(),
        root: origin.root.to_string(),
        settings: Some(settings_to_stored(&origin.settings)),
        profiles: profiles_to_stored(&origin.profiles, &mut put)?,
        tree: Some(tree_to_stored(&origin.tree, &mut put)?),
        shared_skills: (origin.shared_skills.iter())
            .map(|(path, tree)| Ok(StoredShared { path: path.clone(), tree: Some(tree_to_stored(tree, &mut put)?) }))
            .collect::<io::Result<_>>()?,
        previous: match &origin.previous {
            None => Vec::new(),
            Some(previous) => {
                let (sha256, took) = store(locked, previous)?;
                written += took;
                sha256.0.to_vec()
            }
        },
        layers: (origin.layers.iter())
            .map(|layer| {
                let (sha256, took) = store(locked, layer)?;
                written += took;
                Ok(sha256.0.to_vec())
            })
            .collect::<io::Result<_>>()?,
    };
    let (sha256, took) = locked.put_revision(&stored.encode_to_vec())?;
    Ok((sha256, written + took))
}

type Put<'p> = dyn FnMut(&[u8]) -> io::Result<Digest> + 'p;

fn profiles_to_stored(profiles: &ProfileSet, put: &mut Put<'_>) -> io::Result<Vec<StoredFile>> {
    let files = profiles.files_of_operator().iter();
    let one = |(name, bytes): &profile::ProfileFile| {
        let sha256 = put(bytes)?.0.to_vec();
        Ok(StoredFile { path: name.clone(), sha256, total: bytes.len() as u64, error: None })
    };
    files.map(one).collect()
}

fn tree_to_stored(tree: &Captured, put: &mut Put<'_>) -> io::Result<StoredTree> {
    let mut files = Vec::with_capacity(tree.files.len());
    for (path, file) in &tree.files {
        let path = path.clone();
        files.push(match file {
            Ok(file) => StoredFile { path, sha256: put(&file.bytes)?.0.to_vec(), total: file.total, error: None },
            Err(error) => StoredFile { path, error: Some(error_to_stored(*error)), ..StoredFile::default() },
        });
    }
    let folder = |(path, entries): (&String, &Result<Vec<Entry>, ReadError>)| StoredFolder {
        path: path.clone(),
        entries: entries.iter().flatten().map(entry_to_stored).collect(),
        error: entries.as_ref().err().map(|error| error_to_stored(*error)),
    };
    Ok(StoredTree { files, folders: tree.folders.iter().map(folder).collect() })
}

fn entry_to_stored(entry: &Entry) -> StoredEntry {
    let kind = match entry.kind {
        EntryKind::File => "file",
        EntryKind::Folder => "folder",
        EntryKind::Other => "other",
    };
    StoredEntry { name: entry.name.clone(), kind: kind.to_owned() }
}

fn error_to_stored(error: ReadError) -> StoredError {
    let (error, detail) = match error {
        ReadError::Missing => ("missing", ""),
        ReadError::WrongKind(kind) => ("wrong_kind", kind),
        ReadError::LinkOutside => ("link_outside", ""),
        ReadError::LinkDangling => ("link_dangling", ""),
        ReadError::LinkLoop => ("link_loop", ""),
        ReadError::Denied => ("denied", ""),
        ReadError::Failed(_) => ("failed", ""),
    };
    StoredError { error: error.to_owned(), detail: detail.to_owned() }
}

/// What else is where a regular file or a folder is needed.
const KINDS: [&str; 5] = ["a file", "a folder", "a FIFO", "a socket", "a device"];

fn error_from(stored: &StoredError) -> ReadError {
    match stored.error.as_str() {
        "missing" => ReadError::Missing,
        "wrong_kind" => {
            let kind = KINDS.into_iter().find(|kind| *kind == stored.detail);
            ReadError::WrongKind(kind.unwrap_or("something else"))
        }
        "link_outside" => ReadError::LinkOutside,
        "link_dangling" => ReadError::LinkDangling,
        "link_loop" => ReadError::LinkLoop,
        "denied" => ReadError::Denied,
        _ => ReadError::Failed(io::ErrorKind::Other),
    }
}

fn settings_to_stored(settings: &Settings) -> StoredSettings {
    let Settings { expose_paths, max_file_bytes, skills, max_value_chars, max_variable_chars, risks } = settings;
    let SkillLimits { max_description_chars, max_shown, max_block_chars } = skills;
    StoredSettings {
        expose_paths: *expose_paths,
        max_file_bytes: *max_file_bytes as u64,
        max_description_chars: *max_description_chars as u64,
        max_shown: *max_shown as u64,
        max_block_chars: *max_block_chars as u64,
        max_value_chars: *max_value_chars as u64,
        max_variable_chars: *max_variable_chars as u64,
        risks: match risks {
            RiskPolicy::Report => "report",
            RiskPolicy::Strip => "strip",
            RiskPolicy::Refuse => "refuse",
        }
        .to_owned(),
    }
}

fn settings_from(stored: &StoredSettings) -> Settings {
    let size = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
    Settings {
        expose_paths: stored.expose_paths,
        max_file_bytes: size(stored.max_file_bytes),
        skills: SkillLimits {
            max_description_chars: size(stored.max_description_chars),
            max_shown: size(stored.max_shown),
            max_block_chars: size(stored.max_block_chars),
        },
        max_value_chars: size(stored.max_value_chars),
        max_variable_chars: size(stored.max_variable_chars),
        risks: match stored.risks.as_str() {
            "strip" => RiskPolicy::Strip,
            "refuse" => RiskPolicy::Refuse,
            _ => RiskPolicy::Report,
        },
    }
}

/// A revision as it was recorded.
pub struct RecordedRevision {
    /// What it was loaded from.
    pub origin: Origin,
    /// Whether its prompts have the version that this promptd assembles.
    pub has_same_prompts: bool,
    /// The version of its prompts.
    pub prompts: String,
}

impl Folder {
    /// A revision, by the name of its file. The error has everything of it that is damaged or missing.
    pub fn revision(&self, sha256: Digest) -> Result<RecordedRevision, Vec<Damage>> {
        let mut reading = Reading { folder: self, blobs: BTreeMap::new(), damaged: Vec::new() };
        let revision = reading.revision(sha256, 0);
        revision.filter(|_| reading.damaged.is_empty()).ok_or(reading.damaged)
    }

    /// The workspace of a revision.
    pub fn workspace_of(&self, sha256: Digest) -> Result<String, Damage> {
        Ok(self.stored_revision(sha256)?.workspace)
    }

    pub(crate) fn stored_revision(&self, sha256: Digest) -> Result<StoredRevision, Damage> {
        let bytes = self.read_revision(sha256)?;
        StoredRevision::decode(&*bytes).map_err(|error| Damage {
            path: self.revision_path(sha256),
            what: format!("is damaged: {error}"),
            is_gone: false,
        })
    }
}

/// A revision that is being read: what is damaged is noted, and the rest is read.
struct Reading<'f> {
    folder: &'f Folder,
    /// What was read; one that is damaged is empty here, and noted once.
    blobs: BTreeMap<Digest, Arc<[u8]>>,
    damaged: Vec<Damage>,
}

impl Reading<'_> {
    /// `None`: it has no files that could be read.
    fn revision(&mut self, sha256: Digest, depth: usize) -> Option<RecordedRevision> {
        let stored = self.folder.stored_revision(sha256).map_err(|damage| self.damaged.push(damage)).ok()?;
        let id = Id::parse(&stored.workspace).map_err(|error| {
            let what = format!("is damaged: the workspace's id {error}");
            self.damaged.push(Damage { path: self.folder.revision_path(sha256), what, is_gone: false });
        });
        let profiles: Vec<_> =
            stored.profiles.iter().map(|file| (file.path.clone(), self.blob(file).to_vec())).collect();
        let previous = digest(&stored.previous).filter(|_| depth < MAX_PREVIOUS);
        let previous = previous.and_then(|previous| Some(Arc::new(self.revision(previous, depth + 1)?.origin)));
        // Layers have no layers of their own.
        let layers = stored.layers.iter().filter(|_| depth == 0).filter_map(|layer| digest(layer));
        let layers = layers.filter_map(|layer| Some(Arc::new(self.revision(layer, 1)?.origin))).collect();
        let shared = stored.shared_skills.iter();
        let shared_skills = shared.map(|shared| (shared.path.clone(), self.tree(shared.tree.as_ref()))).collect();
        let origin = Origin {
            id: id.ok()?,
            root: stored.root.as_str().into(),
            tree: self.tree(stored.tree.as_ref()),
            shared_skills,
            profiles: Arc::new(profile::load(&profiles, None).0),
            settings: Arc::new(settings_from(&stored.settings.unwrap_or_default())),
            previous,
            layers,
        };
        Some(RecordedRevision { origin, has_same_prompts: stored.prompts == FORMAT, prompts: stored.prompts })
    }

    fn tree(&mut self, stored: Option<&StoredTree>) -> Captured {
        let mut tree = Captured::default();
        for file in stored.iter().flat_map(|tree| &tree.files) {
            let read = match &file.error {
                Some(error) => Err(error_from(error)),
                None => Ok(CapturedFile { bytes: self.blob(file), total: file.total }),
            };
            tree.files.insert(file.path.clone(), read);
        }
        for folder in stored.iter().flat_map(|tree| &tree.folders) {
            let listed = match &folder.error {
                Some(error) => Err(error_from(error)),
                None => Ok(folder.entries.iter().map(entry_from).collect()),
            };
            tree.folders.insert(folder.path.clone(), listed);
        }
        tree
    }

    fn blob(&mut self, file: &StoredFile) -> Arc<[u8]> {
        let sha256 = digest(&file.sha256).unwrap_or_default();
        if let Some(bytes) = self.blobs.get(&sha256) {
            return Arc::clone(bytes);
        }
        let read = self.folder.read_blob(sha256).unwrap_or_else(|damage| {
            self.damaged.push(Damage { what: format!("{} (it is {})", damage.what, file.path), ..damage });
            Vec::new()
        });
        let bytes: Arc<[u8]> = read.into();
        self.blobs.insert(sha256, Arc::clone(&bytes));
        bytes
    }
}

fn entry_from(stored: &StoredEntry) -> Entry {
    let kind = match stored.kind.as_str() {
        "file" => EntryKind::File,
        "folder" => EntryKind::Folder,
        _ => EntryKind::Other,
    };
    Entry { name: stored.name.clone(), kind }
}

/// The digest of 32 bytes.
pub(crate) fn digest(bytes: &[u8]) -> Option<Digest> {
    bytes.try_into().ok().map(Digest)
}

impl StoredRevision {
    /// The names of the blobs that it needs.
    pub(crate) fn blobs(&self) -> impl Iterator<Item = Digest> {
        let trees = self.tree.iter().chain(self.shared_skills.iter().filter_map(|shared| shared.tree.as_ref()));
        let files = trees.flat_map(|tree| &tree.files).chain(&self.profiles);
        files.filter_map(|file| digest(&file.sha256))
    }
}
