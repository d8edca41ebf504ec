//! Reading single files of a workspace for callers that do not share the file system.

use std::path::Path;

use super::tree::DiskTree;
use crate::{
    external::{External, ExternalWorkspace, is_folder},
    options::Options,
};
use promptd_core::{
    canary::Side,
    workspace::{FileBytes, MANIFEST, ReadError, SKILL_FILE, Skill, Snapshot, Tree},
};

/// The most bytes given of a file.
const MAX_FILE_BYTES: usize = 1 << 20;

/// The prefix of a shared skill's folder.
const SHARED: &str = "@shared/";

/// Reads a file as it is on the disk now. `path` is relative to the workspace, or to the shared folders after `@shared/`. It
/// must be `workspace.yaml`, one of the documents, or SKILL.md or a bundled file of a skill, so that nothing else can be
/// named; links are followed as everywhere.
pub fn read_workspace_file(snapshot: &Snapshot, path: &str, options: &Options) -> Result<FileBytes, ReadError> {
    read(snapshot, path, options, |path| read_below(Path::new(&*snapshot.root), path, options))
}

/// The same where workspaces are not only folders. `side`: which one of a canary the snapshot is.
pub fn read_file_beside(
    external: &dyn External,
    snapshot: &Snapshot,
    side: Side,
    path: &str,
    options: &Options,
) -> Result<FileBytes, ReadError> {
    if is_folder(snapshot) {
        return read_workspace_file(snapshot, path, options);
    }
    read(snapshot, path, options, |path| {
        let ExternalWorkspace { tree, candidate, .. } = external.workspace(&snapshot.id).ok_or(ReadError::Missing)?;
        // Where the canary has ended just now, what there is now is read.
        let tried = candidate.filter(|_| side == Side::Candidate).map(|(_, tree)| tree);
        tried.or(tree).ok_or(ReadError::Missing)?.read(path, MAX_FILE_BYTES)
    })
}

/// Reads one of the files that may be named: `own` those of the workspace itself.
fn read(
    snapshot: &Snapshot,
    path: &str,
    options: &Options,
    own: impl FnOnce(&str) -> Result<FileBytes, ReadError>,
) -> Result<FileBytes, ReadError> {
    if path == MANIFEST || snapshot.file(path).is_some() {
        return own(path);
    }
    if !snapshot.skills.iter().any(|skill| is_of(skill, path)) {
        return Err(ReadError::Missing);
    }
    let Some(shared) = path.strip_prefix(SHARED) else { return own(path) };
    let mut found = options.shared_skills.iter().map(|root| read_below(root, shared, options));
    found.find(|read| *read != Err(ReadError::Missing)).unwrap_or(Err(ReadError::Missing))
}

fn read_below(root: &Path, path: &str, options: &Options) -> Result<FileBytes, ReadError> {
    let tree = DiskTree::open(root, &options.allowed_link_targets).map_err(|(error, _)| error)?;
    tree.read(path, MAX_FILE_BYTES)
}

/// Whether a path is the skill's SKILL.md or one of its bundled files.
fn is_of(skill: &Skill, path: &str) -> bool {
    let file = path.strip_prefix(&*skill.folder).and_then(|rest| rest.strip_prefix('/'));
    file.is_some_and(|file| file == SKILL_FILE || skill.files.iter().any(|bundled| *bundled.path == *file))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, sync::Arc};

    use promptd_core::{id::Id, profile::ProfileSet};

    use super::*;
    use crate::load::workspace::load_once;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn files_of_skills_are_read_from_where_the_skill_is_and_no_others() {
        let home = tempfile::tempdir().unwrap();
        let [ws, first, second] = ["ws", "first", "second"].map(|name| home.path().join(name));
        let skill = |name: &str, of: &str| format!("---\nname: {name}\ndescription: Of {of}.\n---\n");
        for (folder, of, names) in [
            (&ws, "ws", &["tides"][..]),
            (&first, "first", &["moon"]),
            (&second, "second", &["moon", "stars", "tides"]),
        ] {
            for name in names {
                let folder = if of == "ws" { folder.join("skills").join(name) } else { folder.join(name) };
                write(&folder.join("SKILL.md"), &skill(name, of));
                write(&folder.join("notes.txt"), of);
            }
        }
        let options = Options { shared_skills: vec![first.clone(), second.clone()], ..Options::default() };
        let (id, profiles) = (Id::parse("ws").unwrap(), Arc::new(ProfileSet::built_in()));
        let snapshot = load_once(&id, ws.to_str().unwrap(), &ws, &options, &profiles).unwrap();
        // What is not there when it is loaded is of no skill.
        for path in [
            "SKILL.md",
            "skills/SKILL.md",
            "skills/tides/late.txt",
            "skills/tides/late/SKILL.md",
            "skills/late/SKILL.md",
        ] {
            write(&ws.join(path), "late");
        }
        let read = |path: &str| {
            read_workspace_file(&snapshot, path, &options).map(|file| String::from_utf8(file.bytes).unwrap())
        };
        for (path, text) in [
            ("skills/tides/SKILL.md", skill("tides", "ws")),
            ("skills/tides/notes.txt", "ws".to_owned()),
            ("@shared/moon/SKILL.md", skill("moon", "first")),
            ("@shared/moon/notes.txt", "first".to_owned()),
            ("@shared/stars/SKILL.md", skill("stars", "second")),
            ("@shared/stars/notes.txt", "second".to_owned()),
        ] {
            assert_eq!(read(path), Ok(text), "{path}");
        }
        for path in [
            "SKILL.md",
            "skills/SKILL.md",
            "skills/tides",
            "skills/tides/",
            "skills/tidesSKILL.md",
            "skills/tides/late.txt",
            "skills/tides/late/SKILL.md",
            "skills/late/SKILL.md",
            "@shared/tides/notes.txt",
            "@shared/skills/tides/SKILL.md",
            "moon/SKILL.md",
        ] {
            assert_eq!(read(path), Err(ReadError::Missing), "{path}");
        }

        // The first folder that has something there decides, even where that cannot be read.
        fs::remove_file(first.join("moon/notes.txt")).unwrap();
        assert_eq!(read("@shared/moon/notes.txt").as_deref(), Ok("second"));
        fs::create_dir(first.join("moon/notes.txt")).unwrap();
        assert_eq!(read("@shared/moon/notes.txt"), Err(ReadError::WrongKind("a folder")));
        fs::remove_dir_all(&first).unwrap();
        assert_eq!(read("@shared/moon/SKILL.md"), Ok(skill("moon", "second")));
    }
}
