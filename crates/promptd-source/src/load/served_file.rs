//! Reading single files of a workspace for callers that do not share the file system.

use std::path::PathBuf;

use super::tree::DiskTree;
use crate::options::Options;
use promptd_core::workspace::{FileBytes, MANIFEST, ReadError, SKILL_FILE, Skill, Snapshot, Tree};

/// The most bytes given of a file.
const MAX_FILE_BYTES: usize = 1 << 20;

/// The prefix of a shared skill's folder.
const SHARED: &str = "@shared/";

/// Reads a file as it is on the disk now. `path` is relative to the workspace, or to the shared folders after `@shared/`. It
/// must be `workspace.yaml`, one of the documents, or SKILL.md or a bundled file of a skill, so that nothing else can be
/// named; links are followed as everywhere.
pub fn read_workspace_file(snapshot: &Snapshot, path: &str, options: &Options) -> Result<FileBytes, ReadError> {
    let own = vec![PathBuf::from(&*snapshot.root)];
    let (roots, path) = if path == MANIFEST || snapshot.documents.contains_key(path) {
        (own, path)
    } else if snapshot.skills.iter().any(|skill| is_of(skill, path)) {
        path.strip_prefix(SHARED).map_or((own, path), |path| (options.shared_skills.clone(), path))
    } else {
        return Err(ReadError::Missing);
    };
    let mut result = Err(ReadError::Missing);
    for root in roots {
        result = DiskTree::open(&root, &options.allowed_link_targets)
            .map_err(|(error, _)| error)
            .and_then(|tree| tree.read(path, MAX_FILE_BYTES));
        if result != Err(ReadError::Missing) {
            break;
        }
    }
    result
}

/// Whether a path is the skill's SKILL.md or one of its bundled files.
fn is_of(skill: &Skill, path: &str) -> bool {
    let file = path.strip_prefix(&*skill.folder).and_then(|rest| rest.strip_prefix('/'));
    file.is_some_and(|file| file == SKILL_FILE || skill.files.iter().any(|bundled| *bundled.path == *file))
}
