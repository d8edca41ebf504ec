//! The [`Tree`] over files on disk: pinned, recording, safe.
//!
//! The workspace's folder is opened once and everything is opened beneath it. Paths are walked name by name, so that
//! every link is checked before it is followed, and each name is looked at once a load: `..data` means the same folder
//! for the first file and the last. Each step is recorded in the [`ReadSet`].

use std::{
    cell::RefCell,
    ffi::OsString,
    fs, io,
    path::{Component, Path, PathBuf},
};

use cap_std::fs::Dir;

use super::{
    probe::{Route, Seen, Signature, counts, names_hash},
    read_set::ReadSet,
    walk::{Found, Kind, Walk, is_failure},
};
use crate::disk;
use promptd_core::workspace::{Entry, EntryKind, FileBytes, ReadError, Tree, is_called_one_of};

/// A folder on disk.
pub(crate) struct DiskTree {
    /// The canonical path.
    root: PathBuf,
    /// Where links may lead, canonical: the root, and what the config allows, whether it exists or not.
    bases: Vec<PathBuf>,
    dir: Dir,
    walk: RefCell<Walk>,
}

impl DiskTree {
    /// Opens `path`, absolute, wherever its links lead: the operator made them. Where there is no folder, the read set
    /// has the place where one would appear.
    pub(crate) fn open(path: &Path, allowed_link_targets: &[PathBuf]) -> Result<Self, (ReadError, ReadSet)> {
        let mut walk = Walk::default();
        let found = walk.resolve(Path::new("/"), path, None);
        let opened = found.and_then(|found| match found.kind {
            Kind::Folder => match disk::open_folder(&found.path) {
                Ok(dir) => Ok((found.path, dir)),
                Err(error) => Err(walk.read_failed(&found, &error)),
            },
            kind => Err(not_a_folder(&kind)),
        });
        let (root, dir) = match opened {
            Ok(opened) => opened,
            Err(error) => return Err((error, ReadSet::new(walk, None))),
        };
        let allowed: Vec<PathBuf> = allowed_link_targets.iter().map(|target| walk.destination(target)).collect();
        let bases = std::iter::once(root.clone()).chain(allowed).collect();
        Ok(Self { root, bases, dir, walk: RefCell::new(walk) })
    }

    /// What has been read.
    pub(crate) fn into_read_set(self) -> ReadSet {
        let walk = self.walk.into_inner();
        let root = walk.signature(&self.root).map(|signature| signature.inode);
        ReadSet::new(walk, root)
    }

    fn find(&self, path: &str) -> Result<Found, ReadError> {
        let path = Path::new(path);
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(ReadError::Missing);
        }
        self.walk.borrow_mut().resolve(&self.root, path, Some(&self.bases))
    }

    fn read_found(&self, found: &Found, limit: usize) -> Result<FileBytes, ReadError> {
        let base = self.bases.iter().find(|base| found.path.starts_with(base)).ok_or(ReadError::LinkOutside)?;
        let below = found.path.strip_prefix(base).map_err(|_| ReadError::LinkOutside)?;
        let read = |dir: &Dir| self.read_below(dir, below, found, limit).map_err(|error| self.failed(found, &error));
        if *base == self.root {
            return read(&self.dir);
        }
        // Its probe has had its route since the tree was opened.
        let folder = Found { path: base.clone(), kind: Kind::Folder, route: Route::default() };
        read(&disk::open_folder(base).map_err(|error| self.failed(&folder, &error))?)
    }

    fn read_below(&self, dir: &Dir, below: &Path, found: &Found, limit: usize) -> io::Result<FileBytes> {
        let path = &found.path;
        let file = disk::open(dir, below, path)?;
        let meta = disk::stat_open(&file, path)?;
        let mut walk = self.walk.borrow_mut();
        walk.torn |= walk.signature(path) != Some(Signature::of(&meta));
        if !meta.is_file() {
            // Swapped since it was looked at; the next load sees what it is.
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(FileBytes { bytes: disk::read(file, path, limit, meta.len())?, total: meta.len() })
    }

    /// Whether the folder that was found for `path` holds the entry of that path: by a link, it is inside itself.
    fn holds(&self, found: &Found, path: &str) -> bool {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        !path.is_empty() && self.find(parent).is_ok_and(|parent| parent.path.starts_with(&found.path))
    }

    /// A folder's entries; `only`: of its files those of these names.
    fn list_found(&self, found: &Found, only: Option<&[&str]>) -> io::Result<Vec<(OsString, fs::FileType)>> {
        let mut names = disk::list(&found.path)?;
        let mut walk = self.walk.borrow_mut();
        let signature = walk.signature(&found.path);
        if let Some(only) = only {
            names.retain(|(name, kind)| counts(name, *kind, only));
            let is_known =
                walk.probes.get(found.path.as_os_str()).is_some_and(|probe| matches!(probe.seen, Seen::Listing(..)));
            if let (Some(signature), false) = (signature, is_known) {
                walk.named.extend(only.iter().map(|name| Box::from(*name)));
                walk.probe(&found.path, Seen::Part(signature, names_hash(&names)), found.route);
            }
        } else if let Some(signature) = signature {
            walk.probe(&found.path, Seen::Listing(signature, names_hash(&names)), found.route);
        }
        Ok(names)
    }

    fn entries(&self, path: &str, only: Option<&[&str]>) -> Result<Vec<Entry>, ReadError> {
        let found = self.find(path)?;
        let Kind::Folder = found.kind else { return Err(not_a_folder(&found.kind)) };
        if self.holds(&found, path) {
            return Err(ReadError::LinkLoop);
        }
        let listed = self.list_found(&found, only).map_err(|error| self.failed(&found, &error))?;
        let mut entries: Vec<Entry> = listed
            .into_iter()
            .map(|(name, kind)| match name.into_string() {
                Ok(name) => Entry { kind: self.entry(path, &name, kind), name },
                Err(name) => Entry { name: name.to_string_lossy().into_owned(), kind: EntryKind::Other },
            })
            .collect();
        entries.sort();
        Ok(entries)
    }

    fn failed(&self, found: &Found, error: &io::Error) -> ReadError {
        self.walk.borrow_mut().read_failed(found, error)
    }

    fn entry(&self, folder: &str, name: &str, kind: fs::FileType) -> EntryKind {
        if kind.is_dir() {
            EntryKind::Folder
        } else if kind.is_file() {
            EntryKind::File
        } else if kind.is_symlink() {
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            match self.find(&path).map(|found| found.kind) {
                Ok(Kind::Folder) => EntryKind::Folder,
                Ok(Kind::File) => EntryKind::File,
                // Whoever opens it as what it may well be gets the error.
                Err(error) if is_failure(error) => EntryKind::Folder,
                _ => EntryKind::Other,
            }
        } else {
            EntryKind::Other
        }
    }
}

impl Tree for DiskTree {
    fn read(&self, path: &str, limit: usize) -> Result<FileBytes, ReadError> {
        let found = self.find(path)?;
        match found.kind {
            Kind::File => self.read_found(&found, limit),
            Kind::Folder => Err(ReadError::WrongKind("a folder")),
            Kind::Other(what) => Err(ReadError::WrongKind(what)),
            Kind::Failed(error) => Err(error),
            Kind::Absent | Kind::Link(_) => Err(ReadError::Missing),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>, ReadError> {
        self.entries(path, None)
    }

    fn list_only(&self, path: &str, names: &[&str]) -> Result<Vec<Entry>, ReadError> {
        let mut entries = self.entries(path, Some(names))?;
        // By a link, a file of another name is among them.
        entries.retain(|entry| entry.kind != EntryKind::File || is_called_one_of(&entry.name, names));
        Ok(entries)
    }
}

fn not_a_folder(kind: &Kind) -> ReadError {
    match kind {
        Kind::Failed(error) => *error,
        Kind::File => ReadError::WrongKind("a file"),
        Kind::Other(what) => ReadError::WrongKind(what),
        Kind::Absent | Kind::Link(_) | Kind::Folder => ReadError::Missing,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn tree(at: &Path) -> DiskTree {
        DiskTree::open(at, &[]).map_err(|(error, _)| error).unwrap()
    }

    fn read(at: &Path, path: &str) -> Result<String, ReadError> {
        tree(at).read(path, 1 << 20).map(|file| String::from_utf8(file.bytes).unwrap())
    }

    #[test]
    fn a_folder_that_is_inside_itself_is_not_listed() {
        let dir = tempfile::tempdir().unwrap();
        let ws = dir.path().join("ws");
        fs::create_dir_all(ws.join("skills/a/inner")).unwrap();
        symlink(".", ws.join("skills/self")).unwrap();
        symlink("../..", ws.join("skills/a/up")).unwrap();
        symlink(&ws, ws.join("root")).unwrap();
        symlink("a", ws.join("skills/b")).unwrap();
        let tree = tree(&ws);
        for inside_itself in ["skills/self", "skills/a/up", "root", "skills/b/up"] {
            assert_eq!(tree.list(inside_itself), Err(ReadError::LinkLoop), "{inside_itself}");
        }
        for folder in ["", "skills", "skills/a", "skills/b", "skills/b/inner"] {
            assert!(tree.list(folder).is_ok(), "{folder}");
        }
    }

    #[test]
    fn links_stay_inside_or_go_where_the_config_allows() {
        let dir = tempfile::tempdir().unwrap();
        let (ws, shared) = (dir.path().join("ws"), dir.path().join("shared"));
        fs::create_dir_all(ws.join("docs")).unwrap();
        fs::create_dir_all(&shared).unwrap();
        fs::write(ws.join("docs/REAL.md"), "inside").unwrap();
        fs::write(shared.join("S.md"), "shared").unwrap();
        symlink("docs/REAL.md", ws.join("relative")).unwrap();
        symlink("../ws/docs/REAL.md", ws.join("out-and-in")).unwrap();
        symlink(ws.join("docs/REAL.md"), ws.join("absolute")).unwrap();
        symlink("../shared/S.md", ws.join("outside")).unwrap();
        symlink("/etc/passwd", ws.join("host")).unwrap();
        symlink("nowhere", ws.join("dangling")).unwrap();
        symlink("loop", ws.join("loop")).unwrap();
        for inside in ["docs/REAL.md", "relative", "out-and-in", "absolute"] {
            assert_eq!(read(&ws, inside).as_deref(), Ok("inside"), "{inside}");
        }
        assert_eq!(read(&ws, "outside"), Err(ReadError::LinkOutside));
        assert_eq!(read(&ws, "host"), Err(ReadError::LinkOutside));
        assert_eq!(read(&ws, "dangling"), Err(ReadError::LinkDangling));
        assert_eq!(read(&ws, "loop"), Err(ReadError::LinkLoop));
        assert_eq!(read(&ws, "absent"), Err(ReadError::Missing));
        assert_eq!(read(&ws, "../shared/S.md"), Err(ReadError::Missing));
        let allowing = DiskTree::open(&ws, std::slice::from_ref(&shared)).map_err(|(error, _)| error).unwrap();
        assert_eq!(allowing.read("outside", 9).unwrap().bytes, b"shared");
        let shared = fs::canonicalize(&shared).unwrap();
        assert!(allowing.into_read_set().outer_paths().any(|path| path == shared), "on the way");
    }

    #[test]
    fn only_regular_files_are_read_and_only_so_much() {
        let dir = tempfile::tempdir().unwrap();
        let ws = dir.path();
        rustix::fs::mkfifoat(rustix::fs::CWD, ws.join("fifo"), rustix::fs::Mode::from(0o600)).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(ws.join("socket")).unwrap();
        fs::create_dir(ws.join("folder")).unwrap();
        fs::File::create(ws.join("huge")).unwrap().set_len(20 << 30).unwrap();
        symlink("/dev/zero", ws.join("zero")).unwrap();
        symlink("huge", ws.join("to-file")).unwrap();
        symlink("folder", ws.join("to-folder")).unwrap();
        symlink("none", ws.join("to-none")).unwrap();
        assert_eq!(read(ws, "fifo"), Err(ReadError::WrongKind("a FIFO")));
        assert_eq!(read(ws, "socket"), Err(ReadError::WrongKind("a socket")));
        assert_eq!(read(ws, "folder"), Err(ReadError::WrongKind("a folder")));
        assert_eq!(read(ws, "zero"), Err(ReadError::LinkOutside));
        let huge = tree(ws).read("huge", 1_000).unwrap();
        assert_eq!((huge.bytes.len(), huge.total), (1_000, 20 << 30));
        let kinds: Vec<_> = tree(ws).list("").unwrap().into_iter().map(|e| (e.name, e.kind)).collect();
        let expected = [
            ("fifo", EntryKind::Other),
            ("folder", EntryKind::Folder),
            ("huge", EntryKind::File),
            ("socket", EntryKind::Other),
            ("to-file", EntryKind::File),
            ("to-folder", EntryKind::Folder),
            ("to-none", EntryKind::Other),
            ("zero", EntryKind::Other),
        ];
        assert_eq!(kinds, expected.map(|(name, kind)| (name.to_owned(), kind)));
    }

    #[test]
    fn a_read_set_is_current_until_one_of_its_inputs_changes() {
        let dir = tempfile::tempdir().unwrap();
        let ws = dir.path();
        fs::create_dir_all(ws.join("skills/a")).unwrap();
        fs::write(ws.join("AGENTS.md"), "one").unwrap();
        let read_set = || {
            let tree = tree(ws);
            let _ = tree.read("AGENTS.md", 99);
            let _ = tree.read("SOUL.md", 99);
            let _ = tree.list("skills");
            tree.into_read_set()
        };
        let unchanged = read_set();
        fs::write(ws.join("app.log"), "no input").unwrap();
        fs::write(ws.join("skills/.swap"), "comes").unwrap();
        fs::remove_file(ws.join("skills/.swap")).unwrap();
        assert!(unchanged.is_current());
        let changes: [&dyn Fn(); 4] = [
            &|| fs::write(ws.join("AGENTS.md"), "two").unwrap(),
            &|| fs::write(ws.join("SOUL.md"), "new").unwrap(),
            &|| fs::create_dir(ws.join("skills/b")).unwrap(),
            &|| fs::remove_file(ws.join("AGENTS.md")).unwrap(),
        ];
        for change in changes {
            let before = read_set();
            change();
            assert!(!before.is_current());
        }
    }

    /// What is read in between is seen by no other check: each folder and file is as it was before and after.
    #[test]
    fn a_file_that_is_not_the_one_looked_at_makes_a_load_torn() {
        let dir = tempfile::tempdir().unwrap();
        let ws = dir.path();
        for (folder, text) in [("live", "one"), ("other", "two")] {
            fs::create_dir(ws.join(folder)).unwrap();
            for file in ["A", "B"] {
                fs::write(ws.join(folder).join(file), text).unwrap();
            }
        }
        let swap = |from: &str, to: &str| {
            fs::rename(ws.join("live"), ws.join(from)).unwrap();
            fs::rename(ws.join(to), ws.join("live")).unwrap();
        };
        for swapped in 0..=2 {
            let tree = tree(ws);
            let (in_between, after) = ["live/A", "live/B"].split_at(swapped);
            assert!(in_between.iter().chain(after).all(|file| tree.find(file).is_ok()));
            swap("away", "other");
            assert!(in_between.iter().all(|file| tree.read(file, 9).unwrap().bytes == b"two"));
            swap("other", "away");
            assert!(after.iter().all(|file| tree.read(file, 9).unwrap().bytes == b"one"));
            assert_eq!(tree.into_read_set().is_current(), swapped == 0, "{swapped}");
        }
    }

    #[test]
    fn one_load_sees_one_generation_of_a_swapped_folder() {
        let dir = tempfile::tempdir().unwrap();
        let ws = dir.path();
        for generation in ["..1", "..2"] {
            fs::create_dir(ws.join(generation)).unwrap();
            for name in ["AGENTS.md", "SOUL.md"] {
                fs::write(ws.join(generation).join(name), generation).unwrap();
                if generation == "..1" {
                    symlink(format!("..data/{name}"), ws.join(name)).unwrap();
                }
            }
        }
        symlink("..1", ws.join("..data")).unwrap();
        let tree = tree(ws);
        assert_eq!(tree.read("AGENTS.md", 9).unwrap().bytes, b"..1");
        symlink("..2", ws.join("..tmp")).unwrap();
        fs::rename(ws.join("..tmp"), ws.join("..data")).unwrap();
        assert_eq!(tree.read("SOUL.md", 9).unwrap().bytes, b"..1");
        let read_set = tree.into_read_set();
        assert!(!read_set.is_current());
        assert_eq!(read_set.quiet_for(), None, "a swapped folder's files need no rest");
    }
}
