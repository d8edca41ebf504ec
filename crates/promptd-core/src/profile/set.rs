//! All profiles: the built-in ones, and the operator's over them.

use std::{collections::BTreeSet, sync::Arc};

use sha2::{Digest as _, Sha256};

use super::{FilePattern, Profile};
use crate::digest::Digest;

/// All profiles that the service knows, in name order.
#[derive(Debug, Default, Clone)]
pub struct ProfileSet {
    profiles: Vec<Arc<Profile>>,
    files: BTreeSet<FilePattern>,
    hash: Arc<str>,
}

impl ProfileSet {
    /// The profile of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Profile>> {
        self.position(name).map(|index| &self.profiles[index])
    }

    /// The profile's place in name order, counted from 0.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.profiles.binary_search_by(|profile| profile.name.as_str().cmp(name)).ok()
    }

    /// All of them, in name order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Profile>> {
        self.profiles.iter()
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

    /// The same set with this profile instead of the one of its name, if it has one.
    #[must_use]
    pub fn keeping(&self, profile: &Arc<Profile>) -> Self {
        let others = self.profiles.iter().filter(|other| other.name != profile.name);
        Self::new(others.chain([profile]).cloned().collect())
    }

    pub(super) fn new(mut profiles: Vec<Arc<Profile>>) -> Self {
        profiles.sort_by(|a, b| a.name.cmp(&b.name));
        let mut hasher = Sha256::new();
        for profile in &profiles {
            hasher.update(profile.name.as_str());
            hasher.update([0]);
            hasher.update(profile.source.as_bytes());
            hasher.update([0]);
        }
        let files = profiles.iter().flat_map(|profile| profile.files().collect::<Vec<_>>()).collect();
        Self { hash: Digest(hasher.finalize().into()).to_hex().into(), profiles, files }
    }
}
