//! Reading the files of a pattern that are older than the newest, which is all that a snapshot has of them.

use std::path::Path;

use super::tree::DiskTree;
use crate::{
    external::{External, is_folder},
    options::Options,
};
use promptd_core::{
    profile::FilePattern,
    workspace::{EntryKind, FileBytes, ReadError, Snapshot, Tree, join},
};

/// The most bytes read of a file; of a longer one its beginning.
const MAX_FILE_BYTES: usize = 200 << 10;

/// A file's path in its workspace, and what was read of it.
pub type OlderFile = (String, FileBytes);

/// Reads the files that a pattern can name as they are now, except for the greatest name: the last `most` before it, in order. None,
/// where there are fewer than two, or the pattern names one file. Of a canary they are those of the stable side.
pub fn read_older_files(
    external: Option<&dyn External>,
    snapshot: &Snapshot,
    pattern: &FilePattern,
    most: usize,
    options: &Options,
) -> Result<Vec<OlderFile>, ReadError> {
    match external.filter(|_| !is_folder(snapshot)) {
        Some(external) => {
            let tree = external.workspace(&snapshot.id).and_then(|workspace| workspace.tree);
            read(&*tree.ok_or(ReadError::Missing)?, pattern, most)
        }
        None => {
            let tree = DiskTree::open(Path::new(&*snapshot.root), &options.allowed_link_targets);
            read(&tree.map_err(|(error, _)| error)?, pattern, most)
        }
    }
}

fn read(tree: &dyn Tree, pattern: &FilePattern, most: usize) -> Result<Vec<OlderFile>, ReadError> {
    let FilePattern::Newest { folder, .. } = pattern else { return Ok(Vec::new()) };
    let entries = match tree.list(folder) {
        Ok(entries) => entries,
        Err(ReadError::Missing) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let files = entries.into_iter().filter(|entry| entry.kind == EntryKind::File);
    let mut names: Vec<String> = files.map(|entry| entry.name).filter(|name| pattern.matches_name(name)).collect();
    names.sort();
    names.pop();
    let names = names.split_off(names.len().saturating_sub(most));
    let paths = names.iter().map(|name| join(folder, name));
    paths.map(|path| tree.read(&path, MAX_FILE_BYTES).map(|file| (path, file))).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Arc};

    use promptd_core::{id::Id, profile::ProfileSet};

    use super::*;
    use crate::load::workspace::load_once;

    #[test]
    fn the_last_files_before_the_newest_are_read() {
        let home = tempfile::tempdir().unwrap();
        let (options, profiles) = (Options::default(), Arc::new(ProfileSet::built_in()));
        let notes = FilePattern::parse("notes/????-??-??.md").unwrap();
        let load = || {
            let id = Id::parse("ws").unwrap();
            load_once(&id, home.path().to_str().unwrap(), home.path(), &options, &profiles).unwrap()
        };
        let read = |most| {
            let files = read_older_files(None, &load(), &notes, most, &options).unwrap();
            let text = |(path, file): OlderFile| (path, String::from_utf8(file.bytes).unwrap());
            files.into_iter().map(text).collect::<Vec<_>>()
        };
        assert_eq!(read(5), []);
        fs::create_dir_all(home.path().join("notes/2026-03-00.md")).unwrap();
        for name in ["2026-03-03.md", "2026-03-01.md", "2026-02-28.md", "2026-03-02.md", "plan.md"] {
            assert_eq!(read(0), []);
            fs::write(home.path().join("notes").join(name), name).unwrap();
        }
        let of = |day: &str| (format!("notes/2026-{day}.md"), format!("2026-{day}.md"));
        assert_eq!(read(2), [of("03-01"), of("03-02")]);
        assert_eq!(read(5), [of("02-28"), of("03-01"), of("03-02")]);
        fs::write(home.path().join("notes/2026-02-28.md"), vec![b'x'; MAX_FILE_BYTES + 1]).unwrap();
        assert_eq!(read(5)[0].1.len(), MAX_FILE_BYTES);
    }
}
