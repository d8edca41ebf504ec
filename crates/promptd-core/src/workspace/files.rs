//! Which text files of a workspace are read, and files whose name is nearly one of theirs.

use std::collections::{BTreeMap, BTreeSet};

use super::{EntryKind, Manifest, Tree, manifest::MANIFEST, skill::SKILLS_FOLDER};
use crate::{
    finding::{Code, Finding, Place},
    profile::{FilePattern, ProfileSet},
};

/// The context files that are always looked for, in prompt order.
pub const CONTEXT_FILES: [&str; 3] = ["AGENTS.md", "SOUL.md", "IDENTITY.md"];
/// The standing checks of heartbeat turns.
pub const HEARTBEAT_FILE: &str = "HEARTBEAT.md";

/// The paths to read: the three context files, HEARTBEAT.md, the manifest's own, and what the profiles read.
pub(super) fn to_read(manifest: &Manifest, profiles: &ProfileSet, tree: &dyn Tree) -> BTreeSet<String> {
    let fixed = CONTEXT_FILES.iter().chain([&HEARTBEAT_FILE]).map(|path| (*path).to_owned());
    let configured = manifest.context.files.iter().map(|file| file.path.clone());
    let read_by_profiles = profiles.files().filter_map(|pattern| match pattern {
        FilePattern::Path(path) => Some(path.clone()),
        FilePattern::Newest { folder, .. } => newest(tree, folder, pattern),
    });
    fixed.chain(configured).chain(read_by_profiles).collect()
}

/// The greatest name in the folder that matches. A folder that cannot be listed has none: it is optional.
fn newest(tree: &dyn Tree, folder: &str, pattern: &FilePattern) -> Option<String> {
    let names = tree.list(folder).ok()?.into_iter().map(|entry| entry.name);
    let name = names.filter(|name| pattern.matches_name(name)).max()?;
    Some(join(folder, &name))
}

/// Reports names that differ only in case from one that is read, and `workspace.yml`.
pub(super) fn near_misses(tree: &dyn Tree, read: &BTreeSet<String>) -> Vec<Finding> {
    let always = CONTEXT_FILES.iter().chain([&HEARTBEAT_FILE, &MANIFEST]).copied();
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for path in read.iter().map(String::as_str).chain(always) {
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
    names.iter().find(|read| read.to_lowercase() == lower).copied()
}

/// The path `below` a folder; either may be empty, which is the place itself.
pub(super) fn join(folder: &str, below: &str) -> String {
    let slash = if folder.is_empty() || below.is_empty() { "" } else { "/" };
    format!("{folder}{slash}{below}")
}
