//! Reading a skill's own files for callers that do not share the file system.

use std::path::PathBuf;

use super::tree::DiskTree;
use crate::options::Options;
use promptd_core::workspace::{FileBytes, ReadError, Skill, Tree};

/// The most bytes given of a skill's file.
const MAX_SKILL_FILE_BYTES: usize = 1 << 20;

/// The prefix of a shared skill's folder.
const SHARED: &str = "@shared/";

/// Reads a file of `skill` as it is on the disk now; `root` is the workspace's folder. `file` must be SKILL.md or one
/// of the skill's bundled files, so that nothing else can be named; links are followed as everywhere.
pub fn read_skill_file(root: &str, skill: &Skill, file: &str, options: &Options) -> Result<FileBytes, ReadError> {
    if file != "SKILL.md" && !skill.files.iter().any(|bundled| &*bundled.path == file) {
        return Err(ReadError::Missing);
    }
    let (roots, folder) = match skill.folder.strip_prefix(SHARED) {
        Some(folder) => (options.shared_skills.clone(), folder),
        None => (vec![PathBuf::from(root)], &*skill.folder),
    };
    let path = if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") };
    let mut result = Err(ReadError::Missing);
    for root in roots {
        result = DiskTree::open(&root, &options.allowed_link_targets)
            .map_err(|(error, _)| error)
            .and_then(|tree| tree.read(&path, MAX_SKILL_FILE_BYTES));
        if result != Err(ReadError::Missing) {
            break;
        }
    }
    result
}
