//! The skills of a workspace and its layers.

use std::{collections::BTreeMap, sync::Arc};

use super::{Layer, is_shared};
use crate::workspace::{
    Manifest, SKILL_FILE, Skill, Snapshot, Visibility,
    skill::{address, visibility},
};

/// All of them: of several with one name that of the nearest level; the server's shared ones are the farthest. `manifest` is that
/// of all levels.
pub(super) fn compose(own: &Snapshot, layers: &[Arc<Layer>], manifest: &Manifest) -> Vec<Skill> {
    let mut by_name: BTreeMap<&Arc<str>, (&Skill, bool)> = BTreeMap::new();
    let (shared, own_skills): (Vec<_>, Vec<_>) = own.skills.iter().partition(|skill| is_shared(skill));
    let of_layers = layers.iter().rev().flat_map(|layer| &layer.skills).map(|skill| (skill, true));
    let nearest_first = own_skills.into_iter().map(|skill| (skill, false)).chain(of_layers);
    for (skill, is_of_layer) in nearest_first.chain(shared.into_iter().map(|skill| (skill, false))) {
        by_name.entry(&skill.name).or_insert((skill, is_of_layer));
    }
    let exposed = own.settings.expose_paths && manifest.expose_paths;
    let one = |(skill, is_of_layer): (&Skill, bool)| {
        let visibility = match &skill.visibility {
            Visibility::Shown => visibility(&skill.name, &skill.folder_name, None, manifest),
            hidden @ Visibility::Hidden(_) => hidden.clone(),
        };
        // A path would say where the layer is.
        let location =
            if is_of_layer || !exposed { address(&own.id, &skill.name).into() } else { Arc::clone(&skill.location) };
        Skill { location, visibility, ..skill.clone() }
    };
    let mut skills: Vec<Skill> = by_name.into_values().map(one).collect();
    skills.sort_by_cached_key(|skill| (skill.name.to_lowercase(), Arc::clone(&skill.name)));
    skills
}

/// The name of the folder that a SKILL.md, or what is said of a skill, is in.
pub(super) fn folder_name(path: &str) -> &str {
    let folder = path.strip_suffix(SKILL_FILE).map_or(path, |folder| folder.trim_end_matches('/'));
    folder.rsplit('/').next().unwrap_or_default()
}
