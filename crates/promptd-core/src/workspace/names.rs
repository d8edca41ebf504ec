//! Files whose name is nearly one that is read.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    EntryKind, Tree,
    manifest::MANIFEST,
    skill::SKILLS_FOLDER,
    wanted::{CONTEXT_FILES, HEARTBEAT_FILE, join},
};
use crate::finding::{Code, Finding, Place};

/// Tells of names that differ from a wanted one in case alone, and of `workspace.yml`.
pub(super) fn near_misses(tree: &dyn Tree, wanted: &BTreeSet<String>) -> Vec<Finding> {
    let always = CONTEXT_FILES.iter().chain([&HEARTBEAT_FILE, &MANIFEST]).copied();
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for path in wanted.iter().map(String::as_str).chain(always) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        folders.entry(folder).or_default().insert(name);
    }
    let mut findings = Vec::new();
    for (folder, names) in folders {
        for entry in tree.list(folder).unwrap_or_default() {
            let meant = match entry.kind {
                EntryKind::Folder if folder.is_empty() => nearly(&entry.name, &[SKILLS_FOLDER].into()),
                EntryKind::Folder => None,
                EntryKind::File | EntryKind::Other => nearly(&entry.name, &names),
            };
            if let Some(meant) = meant {
                let message = format!("not read: did you mean {meant}? Names are case-sensitive");
                findings.push(Finding::new(Code::FileNameCase, Place::file(join(folder, &entry.name)), message));
            }
        }
    }
    findings
}

/// The name that `name` is nearly, but is not.
fn nearly<'n>(name: &str, names: &BTreeSet<&'n str>) -> Option<&'n str> {
    if names.contains(name) {
        return None;
    }
    let lower = name.to_lowercase();
    if lower == "workspace.yml" {
        return names.get(MANIFEST).copied();
    }
    names.iter().find(|wanted| wanted.to_lowercase() == lower).copied()
}
