//! Which text files a workspace is read for.

use std::collections::BTreeSet;

use super::{Manifest, Tree};
use crate::profile::{FilePattern, ProfileSet};

/// The context files that are always looked for, in prompt order.
pub const CONTEXT_FILES: [&str; 3] = ["AGENTS.md", "SOUL.md", "IDENTITY.md"];
/// The standing checks of heartbeat turns.
pub const HEARTBEAT_FILE: &str = "HEARTBEAT.md";

/// The paths to read: the three context files, HEARTBEAT.md, the manifest's own, and what the profiles read.
pub(super) fn wanted(manifest: &Manifest, profiles: &ProfileSet, tree: &dyn Tree) -> BTreeSet<String> {
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

/// The path `below` a folder; either may be empty, which is the place itself.
pub(super) fn join(folder: &str, below: &str) -> String {
    let slash = if folder.is_empty() || below.is_empty() { "" } else { "/" };
    format!("{folder}{slash}{below}")
}
