//! Profiles: the recipes that prompts are assembled by, as data.

use std::{collections::BTreeMap, sync::Arc};

use crate::id::Id;

/// All profiles that the service knows, by name.
#[derive(Debug, Default)]
pub struct ProfileSet {
    profiles: BTreeMap<Id, Arc<Profile>>,
}

/// A recipe.
#[derive(Debug)]
pub struct Profile {
    /// Its name.
    pub name: Id,
}

impl ProfileSet {
    /// The profile of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Profile>> {
        self.profiles.get(name)
    }
}

/// The profile used where nothing is said.
#[must_use]
pub fn default_id() -> Id {
    #[expect(clippy::expect_used, reason = "a literal of the grammar")]
    Id::parse("five-layer").expect("a valid id")
}
