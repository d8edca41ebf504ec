//! Which of the skills found are shown.

use std::{collections::BTreeMap, sync::Arc};

use super::{SKILL_FILE, Skill, Visibility};
use crate::{
    finding::{Code, Finding, Place},
    workspace::{
        Manifest,
        collector::{Audience, Collector},
        files::join,
        manifest::MANIFEST,
    },
};

/// Whether prompts show a skill, and why not.
pub(in crate::workspace) fn visibility(
    name: &str,
    folder_name: &str,
    hidden_by: Option<String>,
    manifest: &Manifest,
) -> Visibility {
    let hidden = |reason: &str| Visibility::Hidden(reason.to_owned());
    if !manifest.skills_enabled {
        hidden("`skills.enabled` of workspace.yaml is false")
    } else if manifest.skills.blocks(name, folder_name) {
        hidden("the blocklist of workspace.yaml matches it")
    } else if !manifest.skills.admits(name, folder_name) {
        hidden("the allowlist of workspace.yaml does not match it")
    } else if let Some(hidden_by) = hidden_by {
        Visibility::Hidden(format!("its front matter has `{hidden_by}`"))
    } else if !manifest.admits_skill(name, folder_name) {
        hidden("a layer's `skills` do not admit it")
    } else {
        Visibility::Shown
    }
}

/// Of several skills with one name the first stays; the others leave a finding on it.
pub(super) fn one_of_each_name(skills: Vec<Skill>, manifest: &Manifest, collector: &mut Collector) -> Vec<Skill> {
    let mut by_name: BTreeMap<Arc<str>, Skill> = BTreeMap::new();
    for skill in skills {
        match by_name.get_mut(&skill.name) {
            None => drop(by_name.insert(Arc::clone(&skill.name), skill)),
            Some(first) => {
                let message = format!(
                    "it has the same name as {}/{SKILL_FILE}, which is used; this one is left out",
                    first.folder
                );
                let place = Place::file(join(&skill.folder, SKILL_FILE));
                let finding = Finding::new(Code::SkillDuplicate, place, message);
                if manifest.skills_enabled {
                    first.findings.push(finding);
                } else {
                    collector.report(finding, Audience::Operators);
                }
            }
        }
    }
    by_name.into_values().collect()
}

/// An allowlist that matches nothing shows nothing: where it was not meant to, only a warning can say so.
pub(in crate::workspace) fn report_dead_allowlist(skills: &[Skill], manifest: &Manifest, collector: &mut Collector) {
    let Some(allow) = &manifest.skills.allow else { return };
    let all = || allow.as_slice().iter().any(|glob| glob == "*");
    let dead = !allow.as_slice().is_empty() && !skills.iter().any(|skill| allow.matches(&skill.name));
    if manifest.skills_enabled && dead && !all() {
        let message = "`skills.allowlist` matches no skill of the workspace, so no skill is shown";
        collector.report(Finding::new(Code::SkillAllowlistEmpty, Place::file(MANIFEST), message), Audience::Callers);
    }
}
