//! Layers: a workspace over the ones that it `extends`, each loaded by itself.
//!
//! Loading never looks at another workspace. [`compose()`] makes one snapshot of what a workspace's own files gave and of what its
//! layers' gave, wherever they come from; so an edit of a layer needs no file of its heirs to be read again. What heirs have of
//! a layer is made once, in [`Layer`], and shared by all of them.

mod compose;
mod documents;
mod find;
mod hidden;
#[cfg(test)]
mod properties;
mod settings;
mod skills;
#[cfg(test)]
mod tests;

pub use compose::compose;
pub use find::{MAX_LAYER_DEPTH, MAX_LAYERS};
pub use hidden::HiddenLayers;

use std::{collections::BTreeMap, sync::Arc};

use super::{Document, Nested, Skill, Snapshot, Visibility, skill::SHARED_FOLDER};
use crate::{
    finding::{Finding, Place},
    globs::SkillFilter,
    id::Id,
};

/// What findings and reports call the layers' folders: a file of a layer is `@layers/ID/PATH`.
pub const LAYERS_FOLDER: &str = "@layers";

/// A workspace as those that extend it see it: its files have the names that findings and reports of heirs have for them.
#[derive(Debug)]
pub struct Layer {
    own: Arc<Snapshot>,
    documents: BTreeMap<Arc<str>, Arc<Document>>,
    nested: Arc<Nested>,
    /// Without the shared ones, which every workspace has by itself.
    skills: Vec<Skill>,
    filter: Arc<SkillFilter>,
    /// What every response says of it until it is fixed.
    active: Vec<Finding>,
}

impl Layer {
    /// What a workspace's own files gave, for those that extend it.
    #[must_use]
    pub fn new(own: Arc<Snapshot>) -> Self {
        let id = &own.id;
        let of_layer = |(path, document): (&Arc<str>, &Arc<Document>)| (path.clone(), Arc::new(document.of_layer(id)));
        let skills = own.skills.iter().filter(|skill| !is_shared(skill));
        let shared = format!("{SHARED_FOLDER}/");
        let is_own =
            |finding: &&Finding| !matches!(&finding.place, Place::File { path, .. } if path.starts_with(&shared));
        Self {
            documents: own.documents.iter().map(of_layer).collect(),
            nested: own.nested.of_layer(id),
            skills: skills.map(|skill| skill_of(id, skill)).collect(),
            filter: Arc::new(own.manifest.skills.clone()),
            active: own.active.iter().filter(is_own).map(|of_layer| finding(id, of_layer)).collect(),
            own,
        }
    }

    /// The workspace's id.
    #[must_use]
    pub fn id(&self) -> &Id {
        &self.own.id
    }

    /// What its own files gave.
    #[must_use]
    pub fn own(&self) -> &Arc<Snapshot> {
        &self.own
    }
}

/// The id of the layer that a file is of and the file's path there, by its name in findings and reports; `None`: it is the
/// workspace's own, or a shared one.
#[must_use]
pub fn in_layer(file: &str) -> Option<(&str, &str)> {
    let rest = file.strip_prefix(LAYERS_FOLDER)?.strip_prefix('/')?;
    Some(rest.split_once('/').unwrap_or((rest, "")))
}

/// The name of a layer's file in findings and reports.
#[must_use]
pub fn file(id: &Id, path: &str) -> Arc<str> {
    let slash = if path.is_empty() { "" } else { "/" };
    format!("{LAYERS_FOLDER}/{id}{slash}{path}").into()
}

/// A layer's finding, as its heirs have it.
pub(super) fn finding(id: &Id, finding: &Finding) -> Finding {
    let place = match &finding.place {
        Place::File { path, line, column } => {
            Place::File { path: file(id, path).to_string(), line: *line, column: *column }
        }
        Place::Unplaced | Place::Field(_) => Place::file(&*file(id, "")),
    };
    Finding { place, ..finding.clone() }
}

fn is_shared(skill: &Skill) -> bool {
    skill.folder.strip_prefix(SHARED_FOLDER).is_some_and(|rest| rest.starts_with('/'))
}

fn skill_of(id: &Id, skill: &Skill) -> Skill {
    let visibility = match &skill.visibility {
        Visibility::Shown => Visibility::Shown,
        Visibility::Hidden(why) => Visibility::Hidden(format!("in its layer {why}")),
    };
    Skill {
        folder: file(id, &skill.folder),
        findings: skill.findings.iter().map(|of_layer| finding(id, of_layer)).collect(),
        visibility,
        ..skill.clone()
    }
}
