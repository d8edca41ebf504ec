//! Files outside the workspaces: profiles, the server's config, tokens, certificates.
//!
//! They are followed by the same rules as workspaces: read whole or not at all, and never in the middle of a save.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use super::{read_set::ReadSet, tree::DiskTree};
use promptd_core::workspace::{EntryKind, FileBytes, ReadError, Tree};

/// The longest file; of a longer one nothing is read, rather than a part that could say something else.
const MAX_FILE_BYTES: usize = 4 << 20;

/// Files to follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileSet {
    /// These, by absolute path.
    Paths(Vec<PathBuf>),
    /// Every file of a folder whose name ends like this.
    Folder {
        /// Absolute.
        path: PathBuf,
        /// `.yaml`, say.
        suffix: &'static str,
    },
}

/// The files' bytes, or why they could not be read. A folder that does not exist has no files; one that cannot be read
/// is listed itself.
pub type Contents = BTreeMap<PathBuf, Result<Vec<u8>, ReadError>>;

/// Reads the files once.
#[must_use]
pub fn read(set: &FileSet) -> Contents {
    load(set).1
}

pub(crate) fn load(set: &FileSet) -> (ReadSet, Contents) {
    let tree = match DiskTree::open(Path::new("/"), &[]) {
        Ok(tree) => tree,
        Err((error, read)) => return (read, named(set).iter().map(|path| (path.clone(), Err(error))).collect()),
    };
    let paths: Vec<PathBuf> = match set {
        FileSet::Paths(paths) => paths.clone(),
        FileSet::Folder { path, suffix } => {
            let entries = match tree.list(&below_root(path)) {
                Ok(entries) => entries,
                Err(ReadError::Missing) => Vec::new(),
                Err(error) => return (tree.into_read_set(), Contents::from([(path.clone(), Err(error))])),
            };
            let chosen = entries.into_iter().filter(|e| e.kind != EntryKind::Folder && e.name.ends_with(suffix));
            chosen.filter(|e| !e.name.starts_with('.')).map(|e| path.join(e.name)).collect()
        }
    };
    let contents = paths.into_iter().map(|path| {
        let read = tree.read(&below_root(&path), MAX_FILE_BYTES);
        (path, read.and_then(whole))
    });
    let contents = contents.collect();
    (tree.into_read_set(), contents)
}

/// What the set names, whatever is there.
fn named(set: &FileSet) -> &[PathBuf] {
    match set {
        FileSet::Paths(paths) => paths,
        FileSet::Folder { path, .. } => std::slice::from_ref(path),
    }
}

fn whole(file: FileBytes) -> Result<Vec<u8>, ReadError> {
    if file.total > MAX_FILE_BYTES as u64 {
        Err(ReadError::Failed(io::ErrorKind::FileTooLarge))
    } else {
        Ok(file.bytes)
    }
}

fn below_root(path: &Path) -> String {
    path.to_string_lossy().trim_start_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// The names that a folder gives, each with its text or `None` where it cannot be read.
    fn given(folder: &Path) -> Vec<(String, Option<String>)> {
        let contents = read(&FileSet::Folder { path: folder.into(), suffix: ".yaml" });
        let text = |bytes: Result<Vec<u8>, ReadError>| bytes.ok().map(|bytes| String::from_utf8(bytes).unwrap());
        contents
            .into_iter()
            .map(|(path, bytes)| (path.file_name().unwrap().to_string_lossy().into(), text(bytes)))
            .collect()
    }

    #[test]
    fn a_folder_gives_its_visible_files_of_the_suffix() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["calm.yaml", ".hidden.yaml", "calm.yaml~", "notes.md", "folder.yaml/inside.yaml"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        symlink("calm.yaml", folder.path().join("linked.yaml")).unwrap();
        let calm = Some("calm.yaml".to_owned());
        assert_eq!(given(folder.path()), [("calm.yaml".to_owned(), calm.clone()), ("linked.yaml".to_owned(), calm)]);
    }

    #[test]
    fn a_file_that_is_too_long_is_not_read_in_part() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("tokens.yaml");
        for (bytes, expected) in [
            (MAX_FILE_BYTES, Ok(MAX_FILE_BYTES)),
            (MAX_FILE_BYTES + 1, Err(ReadError::Failed(io::ErrorKind::FileTooLarge))),
        ] {
            fs::File::create(&path).unwrap().set_len(bytes as u64).unwrap();
            let contents = read(&FileSet::Paths(vec![path.clone()]));
            assert_eq!(contents[&path].as_ref().map(Vec::len).map_err(|error| *error), expected);
        }
    }

    #[test]
    fn a_folder_that_is_not_there_gives_nothing_and_what_is_no_folder_is_listed_itself() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(given(&home.path().join("absent")), []);
        fs::write(home.path().join("file"), "").unwrap();
        assert_eq!(given(&home.path().join("file")), [("file".to_owned(), None)]);
    }
}
