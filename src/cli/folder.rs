//! What a folder looks like: a workspace, a folder of workspaces, or neither. A command that was given the wrong one says
//! what was meant.

use std::{
    fs,
    path::{Path, PathBuf},
};

use promptd_core::workspace::{CONTEXT_FILES, HEARTBEAT_FILE, MANIFEST};

use super::Failure;

/// How many folders are looked at: a folder of workspaces shows what it is with its first ones.
const MAX_FOLDERS: usize = 1_000;

/// Fails where a folder given as an argument does not exist.
pub(super) fn must_exist(path: &Path, shown: &str) -> Result<(), Failure> {
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(Failure::run(format!("not a folder: {shown}"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Failure::run(format!("folder not found: {shown}")))
        }
        Err(error) => Err(Failure::run(format!("cannot read the folder {shown}: {error}"))),
    }
}

/// Why a folder, given as one of workspaces, is not one. A workspace with others in it may be meant as such.
pub(super) fn is_not_a_root(path: &Path, shown: &str) -> Option<String> {
    let mistaken = is_workspace(path) && workspaces_in(path).is_empty();
    mistaken.then(|| format!("{shown} is a workspace itself, and has no folders that are"))
}

/// Why a folder, given as a workspace, is a folder of workspaces instead.
pub(super) fn is_not_a_workspace(path: &Path, shown: &str) -> Option<String> {
    let inner = if is_workspace(path) { Vec::new() } else { workspaces_in(path) };
    let names: Vec<_> = inner.iter().take(3).map(|name| format!("`{name}`")).collect();
    let more = if inner.len() > names.len() { " and others" } else { "" };
    (!inner.is_empty())
        .then(|| format!("{shown} has no files of a workspace, but its folders {}{more} have", names.join(", ")))
}

/// What a folder lacks to be of use as a workspace.
pub(super) fn lacks_files(path: &Path, shown: &str) -> Option<String> {
    let files = CONTEXT_FILES.into_iter().chain([HEARTBEAT_FILE, MANIFEST]).collect::<Vec<_>>().join(", ");
    (!is_workspace(path)).then(|| {
        format!(
            "{shown} has no files of a workspace: {files} or skills/NAME/SKILL.md; `promptd init {shown}` writes some"
        )
    })
}

fn is_workspace(path: &Path) -> bool {
    let has = |name: &&str| path.join(name).is_file();
    CONTEXT_FILES.iter().chain(&[HEARTBEAT_FILE, MANIFEST]).any(has)
        || folders(&path.join("skills")).any(|skill| skill.join("SKILL.md").is_file())
}

/// The names of the folders that are workspaces, in order.
fn workspaces_in(path: &Path) -> Vec<String> {
    let inner = folders(path).filter(|folder| is_workspace(folder));
    let mut names: Vec<_> =
        inner.filter_map(|folder| Some(folder.file_name()?.to_string_lossy().into_owned())).collect();
    names.sort();
    names
}

fn folders(path: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).take(MAX_FOLDERS)
}
