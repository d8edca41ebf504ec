//! Which text files of a workspace are read, and files whose name is nearly one of theirs.

use std::collections::{BTreeMap, BTreeSet};

use super::{EntryKind, Manifest, Snapshot, Tree, manifest::MANIFEST, skill::SKILLS_FOLDER};
use crate::{
    finding::{Code, Finding, Place},
    profile::{FilePattern, ProfileSet},
};

/// The context files that are always looked for, in prompt order.
pub const CONTEXT_FILES: [&str; 3] = ["AGENTS.md", "SOUL.md", "IDENTITY.md"];
/// The standing checks of heartbeat turns.
pub const HEARTBEAT_FILE: &str = "HEARTBEAT.md";

/// The paths to read: the three context files, HEARTBEAT.md, the manifest's own, and what the profiles read.
pub(super) fn to_read(
    manifest: &Manifest,
    profiles: &ProfileSet,
    tree: &dyn Tree,
    previous: Option<&Snapshot>,
) -> BTreeSet<String> {
    let fixed = CONTEXT_FILES.iter().chain([&HEARTBEAT_FILE]).map(|path| (*path).to_owned());
    let configured = manifest.context.files.iter().map(|file| file.path.clone());
    let read_by_profiles = profiles.files().filter_map(|pattern| match pattern {
        FilePattern::Path(path) => Some(path.clone()),
        FilePattern::Newest { folder, .. } => newest(tree, folder, pattern, previous),
    });
    fixed.chain(configured).chain(read_by_profiles).collect()
}

/// The greatest name in the folder that matches. The folder is optional; where it may well be as it was but cannot be
/// listed, the last good version's file stays.
fn newest(tree: &dyn Tree, folder: &str, pattern: &FilePattern, previous: Option<&Snapshot>) -> Option<String> {
    let name = match tree.list(folder) {
        Ok(entries) => entries.into_iter().map(|entry| entry.name).filter(|name| pattern.matches_name(name)).max(),
        Err(error) if error.keeps_last_good() => {
            let known = previous?.documents.keys().filter_map(|path| in_folder(path, folder));
            known.filter(|name| pattern.matches_name(name)).max().map(str::to_owned)
        }
        Err(_) => None,
    };
    Some(join(folder, &name?))
}

/// The file's name, if it is right in the folder.
fn in_folder<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
    (parent == folder).then_some(name)
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
#[must_use]
pub fn join(folder: &str, below: &str) -> String {
    let slash = if folder.is_empty() || below.is_empty() { "" } else { "/" };
    format!("{folder}{slash}{below}")
}
