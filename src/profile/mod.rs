//! Profiles: the recipes that prompts are assembled by, as data.

mod file;

pub use file::FilePattern;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{finding::Finding, id::Id};

/// All profiles that the service knows, by name.
#[derive(Debug, Default)]
pub struct ProfileSet {
    profiles: BTreeMap<Id, Arc<Profile>>,
    files: BTreeSet<FilePattern>,
    hash: Arc<str>,
}

/// A recipe.
#[derive(Debug)]
pub struct Profile {
    /// Its name.
    pub name: Id,
    /// Its place in its set, counted from 0 in name order.
    pub index: usize,
}

impl ProfileSet {
    /// The profile of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Profile>> {
        self.profiles.get(name)
    }

    /// All of them, in name order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Profile>> {
        self.profiles.values()
    }

    /// Every workspace file that any of them reads, beyond the context files.
    pub fn files(&self) -> impl Iterator<Item = &FilePattern> {
        self.files.iter()
    }

    /// SHA-256 over all of their sources, in hex: part of every revision.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }
}

/// A profile's file: its name without folder, such as `harbour.yaml`, and its bytes.
pub type ProfileFile = (String, Vec<u8>);

/// Loads the built-in profiles and the operator's, which extend or override them by name. An invalid file keeps its
/// version from `previous`; each finding's place is `profiles/{file name}`.
#[must_use]
pub fn load(files: &[ProfileFile], previous: Option<&ProfileSet>) -> (ProfileSet, Vec<Finding>) {
    let _ = (files, previous);
    (ProfileSet::default(), Vec::new())
}

/// The profile used where nothing is said.
#[must_use]
pub fn default_id() -> Id {
    #[expect(clippy::expect_used, reason = "a literal of the grammar")]
    Id::parse("five-layer").expect("a valid id")
}
