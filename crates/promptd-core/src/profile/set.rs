//! All profiles: the built-in ones, and the operator's over them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use sha2::{Digest as _, Sha256};

use super::{FilePattern, Profile, ProfileFile};
use crate::{digest::Digest, finding::Finding, yaml::nearest};

/// All profiles that the service knows, in name order.
#[derive(Debug, Default, Clone)]
pub struct ProfileSet {
    profiles: Vec<Arc<Profile>>,
    files: BTreeSet<FilePattern>,
    hash: Arc<str>,
    /// By profile: why its last good version stays in use.
    errors: BTreeMap<String, Finding>,
    /// What the profiles that are not built in were loaded from.
    operator: Vec<ProfileFile>,
}

impl ProfileSet {
    /// The profile of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Profile>> {
        self.position(name).map(|index| &self.profiles[index])
    }

    /// The profile of that name; the error names the one that may be meant.
    pub fn named(&self, name: &str) -> Result<&Arc<Profile>, String> {
        self.get(name).ok_or_else(|| {
            let names: Vec<_> = self.profiles.iter().map(|profile| profile.name.as_str()).collect();
            let hint = match nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known profiles are {}", names.join(", ")),
            };
            format!("unknown profile `{name}`; {hint}")
        })
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

    /// SHA-256 over all of their sources and errors, in hex: part of every revision.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Why the last good version of a profile stays in use, while its file is invalid or cannot be read: every prompt made
    /// with it carries the error.
    #[must_use]
    pub fn error(&self, name: &str) -> Option<&Finding> {
        self.errors.get(name)
    }

    /// The operator's files, from which [`load`](super::load()) makes the same profiles: of an invalid one its last good version.
    #[must_use]
    pub fn files_of_operator(&self) -> &[ProfileFile] {
        &self.operator
    }

    /// The same set, made of these files of the operator; of the profiles that an earlier set kept, it has the files.
    #[must_use]
    pub(super) fn of_files(mut self, files: Vec<ProfileFile>) -> Self {
        self.operator = files;
        self
    }

    /// The same set with an error of the profile of that name.
    #[must_use]
    pub fn with_error(mut self, name: &str, error: Finding) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(&*self.hash);
        hasher.update(format!("{name} {error:?}"));
        self.hash = Digest(hasher.finalize().into()).to_hex().into();
        self.errors.insert(name.to_owned(), error);
        self
    }

    /// The same set with this profile instead of the one of its name, if it has one.
    #[must_use]
    pub fn keeping(&self, profile: &Arc<Profile>) -> Self {
        let others = self.profiles.iter().filter(|other| other.name != profile.name);
        let set = Self::new(others.chain([profile]).cloned().collect()).of_files(self.operator.clone());
        self.errors.iter().fold(set, |set, (name, error)| set.with_error(name, error.clone()))
    }

    /// The same set with the operator's profiles of an earlier one that are missing here, each with the error: a file that
    /// cannot be read or parsed does not say which profile it has, so that any of them may be its own.
    #[must_use]
    pub fn keeping_missing(mut self, earlier: &Self, error: &Finding) -> Self {
        let missing = |set: &Self, known: &Profile| set.get(known.name.as_str()).is_none_or(|now| now.built_in);
        let is_new = |set: &Self, name: &str| set.operator.iter().all(|(known, _)| known != name);
        let kept: Vec<_> = earlier.operator.iter().filter(|(name, _)| is_new(&self, name)).cloned().collect();
        self.operator.extend(kept);
        earlier.iter().filter(|known| !known.built_in).fold(self, |set, known| {
            if !missing(&set, known) {
                return set;
            }
            set.keeping(known).with_error(known.name.as_str(), error.clone())
        })
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
        let hash = Digest(hasher.finalize().into()).to_hex().into();
        Self { profiles, files, hash, errors: BTreeMap::new(), operator: Vec::new() }
    }
}
