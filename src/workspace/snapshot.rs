//! A workspace as it stood at one moment: immutable, and all that assembly reads besides the turn.

use std::{collections::BTreeMap, fmt, sync::Arc};

use super::{Document, Manifest, Skill};
use crate::{finding::Finding, id::Id, profile::ProfileSet, prompt::Prepared, settings::Settings};

/// A workspace at one revision.
#[derive(Debug)]
pub struct Snapshot {
    /// The workspace's id.
    pub id: Id,
    /// Its absolute path, for prompts that may show it.
    pub root: Arc<str>,
    /// Its settings.
    pub manifest: Manifest,
    /// Every text file that the manifest or a profile names, by path. A file that is missing is not here; one
    /// with only white space is, with an empty text.
    pub documents: BTreeMap<Arc<str>, Document>,
    /// Every skill found, in the order of the skills block: name, case folded, then bytes.
    pub skills: Vec<Skill>,
    /// The profiles it was loaded with.
    pub profiles: Arc<ProfileSet>,
    /// The server's settings it was loaded with.
    pub settings: Arc<Settings>,
    /// All there is to say about the files, the notes for `check` alone included.
    pub findings: Vec<Finding>,
    /// SHA-256 of every input by name (`workspace.yaml`, `AGENTS.md`, `skills/git/SKILL.md`, `@shared/…`), for telling
    /// which paths changed.
    pub inputs: BTreeMap<Arc<str>, Arc<str>>,
    /// The hash of all of the above that assembly can see.
    pub revision: Revision,
    /// What prompts of this revision share: rendered once, at first use. Begins as its default.
    pub prepared: Prepared,
}

/// The name of a snapshot's content: 64 lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision(pub Arc<str>);

impl Revision {
    /// The hex digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Snapshot {
    /// Whether prompts may show absolute paths.
    #[must_use]
    pub fn exposes_paths(&self) -> bool {
        self.settings.expose_paths && self.manifest.expose_paths
    }

    /// What prompts show as the workspace: its absolute path, or its id where paths are hidden.
    #[must_use]
    pub fn shown_root(&self) -> &str {
        if self.exposes_paths() { &self.root } else { self.id.as_str() }
    }
}
