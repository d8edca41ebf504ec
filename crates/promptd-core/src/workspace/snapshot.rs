//! A workspace as it was at one moment: immutable, and all that assembly reads besides the turn.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use super::{
    CONTEXT_FILES, Document, Layer, MANIFEST, Manifest, Marks, Nested, Revision, SKILL_FILE, Skill, files::join,
    layers, revision,
};
use crate::{
    finding::{Code, Finding, Place},
    id::Id,
    profile::ProfileSet,
    settings::Settings,
};

/// A workspace at one revision.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The workspace's id.
    pub id: Id,
    /// Its absolute path, for prompts that may show it.
    pub root: Arc<str>,
    /// Its settings.
    pub manifest: Manifest,
    /// Where its `workspace.yaml` sets what.
    pub marks: Arc<Marks>,
    /// The settings that a layer's `workspace.yaml` gives, by key, with the name of that file.
    pub inherited: BTreeMap<String, Arc<str>>,
    /// SHA-256 of the `workspace.yaml` that `manifest` came from, in hex; empty where there is none. It differs from
    /// the one in `inputs` while an invalid file is on disk.
    pub manifest_sha256: Arc<str>,
    /// Every text file that the manifest or a profile names, by path. A file that is missing is not here; one
    /// with only white space is, with an empty text. A document that is the same in the next revision is shared with it.
    pub documents: BTreeMap<Arc<str>, Arc<Document>>,
    /// The files that should be among the documents, are there, and cannot be used, each with the reason.
    pub unusable: BTreeMap<Arc<str>, Finding>,
    /// The context files of folders below the root, which hold where a turn works there.
    pub nested: Arc<Nested>,
    /// Every skill found, in the order of the skills block: name, case folded, then bytes.
    pub skills: Vec<Skill>,
    /// The layers below it, from far to near; empty: it extends none.
    pub layers: Vec<Arc<Layer>>,
    /// What its own files gave, if it extends others.
    pub own: Option<Arc<Self>>,
    /// The profiles it was loaded with.
    pub profiles: Arc<ProfileSet>,
    /// The server's settings it was loaded with.
    pub settings: Arc<Settings>,
    /// All findings about the files, the notes for `promptd check` included.
    pub findings: Vec<Finding>,
    /// Those that every response carries until they are fixed, most severe first: parts that are stale, unreadable,
    /// refused or not where the settings say. What a document or a shown skill brings along is in its own findings,
    /// and what the workspace's own filters hide is named in neither.
    pub active: Vec<Finding>,
    /// SHA-256 of every input by name (`workspace.yaml`, `AGENTS.md`, `skills/git/SKILL.md`, `@shared/…`), for telling
    /// which paths changed.
    pub inputs: BTreeMap<Arc<str>, Arc<str>>,
    /// The hash of all of the above that assembly can see.
    pub revision: Revision,
}

impl Snapshot {
    /// The document at a path.
    #[must_use]
    pub fn document(&self, path: &str) -> Option<&Document> {
        self.documents.get(path).map(|document| &**document)
    }

    /// Whether prompts may show absolute paths.
    #[must_use]
    pub fn exposes_paths(&self) -> bool {
        self.settings.expose_paths && self.manifest.expose_paths
    }

    /// The same workspace with errors that every response carries, since it could not be loaded again; each replaces the
    /// one of its code and place.
    #[must_use]
    pub fn with_errors(&self, errors: impl IntoIterator<Item = Finding>) -> Self {
        let mut snapshot = self.clone();
        for error in errors {
            for findings in [&mut snapshot.findings, &mut snapshot.active] {
                findings.retain(|finding| (finding.code, &finding.place) != (error.code, &error.place));
                findings.insert(0, error.clone());
            }
        }
        snapshot.revision = revision::of(&snapshot);
        snapshot
    }

    /// The context files that are there, in prompt order; then the nested ones of all folders, by path.
    pub fn context_files(&self) -> impl Iterator<Item = &Document> {
        let configured = self.manifest.context.files.iter().map(|file| file.path.as_str());
        let paths = CONTEXT_FILES.into_iter().chain(configured);
        paths.filter_map(|path| self.document(path)).chain(self.nested.documents())
    }

    /// Whether a part of it is of an earlier version than what is on disk: that is invalid, or could not be read.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        if let Some(own) = &self.own {
            return own.is_behind();
        }
        let is_input = |path: &str, sha256: &str| self.inputs.get(path).is_some_and(|input| **input == *sha256);
        let manifest = self.manifest_sha256.is_empty() && !self.inputs.contains_key(MANIFEST);
        let documents = self.documents.values().map(|document| &**document).chain(self.nested.documents());
        let is_of_before = |finding: &Finding| {
            finding.place == Place::Unplaced && matches!(finding.code, Code::LoadFailed | Code::FileUnreadable)
        };
        !(manifest || is_input(MANIFEST, &self.manifest_sha256))
            || documents.into_iter().any(|document| !is_input(&document.path, &document.sha256))
            || self.skills.iter().any(|skill| !is_input(&join(&skill.folder, SKILL_FILE), &skill.sha256))
            || self.active.iter().any(is_of_before)
    }

    /// How many bytes of text it holds, about; what it shares with its layers counts there.
    #[must_use]
    pub fn weight(&self) -> usize {
        if let Some(own) = &self.own {
            return own.weight();
        }
        let documents: usize = self.documents.values().map(|document| document.weight()).sum();
        let skills: usize = self.skills.iter().map(|skill| skill.file.weight()).sum();
        documents + skills + self.nested.weight()
    }

    /// The `workspace.yaml` that gives a setting, by its key, as reports name it: that of a layer, or the workspace's own.
    pub(crate) fn file_of_setting(&self, key: &str) -> &Arc<str> {
        static OWN: LazyLock<Arc<str>> = LazyLock::new(|| MANIFEST.into());
        self.inherited.get(key).unwrap_or(&OWN)
    }

    /// The workspace whose file it is, as its own files gave it, and the file's path there. `file` is a name as findings and
    /// reports have it.
    #[must_use]
    pub fn home<'s>(&'s self, file: &'s str) -> Option<(&'s Self, &'s str)> {
        match layers::in_layer(file) {
            None => Some((self.own.as_deref().unwrap_or(self), file)),
            Some((id, path)) => {
                let layer = self.layers.iter().find(|layer| layer.id().as_str() == id)?;
                Some((layer.own(), path))
            }
        }
    }

    /// A document, or a nested context file.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&Document> {
        self.document(path).or_else(|| self.nested.document(path))
    }

    /// What prompts show as the workspace: its absolute path, or its id where paths are hidden.
    #[must_use]
    pub fn shown_root(&self) -> &str {
        if self.exposes_paths() { &self.root } else { self.id.as_str() }
    }
}
