//! Files whose name is nearly one that is read.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    EntryKind, Tree,
    manifest::MANIFEST,
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
            if entry.kind == EntryKind::Folder || names.contains(entry.name.as_str()) {
                continue;
            }
            if let Some(meant) = meant(&entry.name, &names) {
                let message = format!("not read: did you mean {meant}? Names are case-sensitive");
                findings.push(Finding::new(Code::FileNameCase, Place::file(join(folder, &entry.name)), message));
            }
        }
    }
    findings
}

fn meant<'n>(name: &str, names: &BTreeSet<&'n str>) -> Option<&'n str> {
    let lower = name.to_lowercase();
    if lower == "workspace.yml" {
        return names.get(MANIFEST).copied();
    }
    names.iter().find(|wanted| wanted.to_lowercase() == lower).copied()
}
