//! What a load has read, kept so that the same snapshot can be loaded again without the disk.

use std::{cell::RefCell, collections::BTreeMap, sync::Arc};

use super::tree::{Entry, FileBytes, ReadError, Tree};

/// The most bytes of files that are kept of one load.
pub const MAX_CAPTURED_BYTES: usize = 64 << 20;

/// A tree that keeps everything that is read through it.
pub struct Capturing<'a> {
    tree: &'a dyn Tree,
    /// What an earlier load has read: files that are the same are held once.
    known: Option<&'a Captured>,
    seen: RefCell<Captured>,
}

/// The files and folders that a load has looked at, as they were. A tree of nothing else.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Captured {
    /// By path.
    pub files: BTreeMap<String, Result<CapturedFile, ReadError>>,
    /// The entries of each folder that was listed: all of them, or those that were asked for.
    pub folders: BTreeMap<String, Result<Vec<Entry>, ReadError>>,
    /// The bytes of all files.
    bytes: usize,
}

/// A file as far as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedFile {
    /// The bytes read.
    pub bytes: Arc<[u8]>,
    /// The file's real size in bytes.
    pub total: u64,
}

impl<'a> Capturing<'a> {
    /// Keeps what is read of a tree.
    #[must_use]
    pub fn new(tree: &'a dyn Tree, known: Option<&'a Captured>) -> Self {
        Self { tree, known, seen: RefCell::default() }
    }

    /// What was read; `None`: more than [`MAX_CAPTURED_BYTES`].
    #[must_use]
    pub fn finish(self) -> Option<Captured> {
        let seen = self.seen.into_inner();
        (seen.bytes <= MAX_CAPTURED_BYTES).then_some(seen)
    }

    fn keep(&self, path: &str, read: Result<&FileBytes, ReadError>) {
        let mut seen = self.seen.borrow_mut();
        let held = match seen.files.get(path) {
            Some(Ok(file)) => Some(file.bytes.len()),
            Some(Err(_)) | None => None,
        };
        // One read may want less of a file than another.
        if held.is_some_and(|held| read.is_ok_and(|file| file.bytes.len() <= held)) || seen.bytes > MAX_CAPTURED_BYTES {
            return;
        }
        let file = read.map(|file| CapturedFile { bytes: self.held_once(path, &file.bytes), total: file.total });
        seen.bytes += file.as_ref().map_or(0, |file| file.bytes.len());
        seen.bytes -= held.unwrap_or_default();
        seen.files.insert(path.to_owned(), file);
    }

    fn held_once(&self, path: &str, bytes: &[u8]) -> Arc<[u8]> {
        match self.known.and_then(|known| known.files.get(path)) {
            Some(Ok(known)) if *known.bytes == *bytes => Arc::clone(&known.bytes),
            _ => bytes.into(),
        }
    }
}

impl Tree for Capturing<'_> {
    fn read(&self, path: &str, limit: usize) -> Result<FileBytes, ReadError> {
        let read = self.tree.read(path, limit);
        self.keep(path, read.as_ref().map_err(|error| *error));
        read
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>, ReadError> {
        let listed = self.tree.list(path);
        self.seen.borrow_mut().folders.insert(path.to_owned(), listed.clone());
        listed
    }

    fn list_only(&self, path: &str, names: &[&str]) -> Result<Vec<Entry>, ReadError> {
        let listed = self.tree.list_only(path, names);
        // Where all of the folder is known, the rest of it was asked for too.
        self.seen.borrow_mut().folders.entry(path.to_owned()).or_insert_with(|| listed.clone());
        listed
    }
}

impl Tree for Captured {
    fn read(&self, path: &str, limit: usize) -> Result<FileBytes, ReadError> {
        let file = self.files.get(path).ok_or(ReadError::Missing)?.as_ref().map_err(|error| *error)?;
        Ok(FileBytes { bytes: file.bytes[..limit.min(file.bytes.len())].to_vec(), total: file.total })
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>, ReadError> {
        self.folders.get(path).cloned().unwrap_or(Err(ReadError::Missing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::MemoryTree;

    fn tree() -> MemoryTree {
        MemoryTree::new().file("a.md", "abcdef").file("b/c.md", "x").failing("denied", ReadError::Denied)
    }

    #[test]
    fn what_was_read_is_read_again_and_nothing_else() {
        let tree = tree();
        let capturing = Capturing::new(&tree, None);
        for (path, limit) in [("a.md", 0), ("a.md", 4), ("a.md", 2), ("denied", 9), ("no", 9), ("b", 9)] {
            assert_eq!(capturing.read(path, limit), tree.read(path, limit));
        }
        for path in ["", "b", "no"] {
            assert_eq!(capturing.list(path), tree.list(path));
        }
        let captured = capturing.finish().unwrap();
        for (path, limit) in [("a.md", 0), ("a.md", 4), ("a.md", 2), ("denied", 9), ("no", 9), ("b", 9)] {
            assert_eq!(captured.read(path, limit), tree.read(path, limit), "{path} {limit}");
        }
        for path in ["", "b", "no"] {
            assert_eq!(captured.list(path), tree.list(path), "{path}");
        }
        assert_eq!(captured.bytes, 4);
        assert_eq!(captured.read("b/c.md", 9), Err(ReadError::Missing), "it was not read");
    }

    #[test]
    fn a_file_that_is_the_same_is_held_once() {
        let one = MemoryTree::new().file("a", "same").file("b", "old");
        let two = MemoryTree::new().file("a", "same").file("b", "new");
        let capture = |tree: &MemoryTree, known: Option<&Captured>| {
            let capturing = Capturing::new(tree, known);
            for path in ["a", "b"] {
                capturing.read(path, 9).unwrap();
            }
            capturing.finish().unwrap()
        };
        let first = capture(&one, None);
        let second = capture(&two, Some(&first));
        let bytes = |captured: &Captured, path: &str| Arc::clone(&captured.files[path].as_ref().unwrap().bytes);
        assert!(Arc::ptr_eq(&bytes(&first, "a"), &bytes(&second, "a")));
        assert_eq!((&*bytes(&first, "b"), &*bytes(&second, "b")), (&b"old"[..], &b"new"[..]));
    }

    #[test]
    fn too_much_is_not_kept() {
        let tree = MemoryTree::new().file("a", vec![b'x'; MAX_CAPTURED_BYTES]).file("b", "x");
        let capturing = Capturing::new(&tree, None);
        capturing.read("a", usize::MAX).unwrap();
        capturing.read("b", usize::MAX).unwrap();
        assert_eq!(capturing.finish(), None);
    }
}
