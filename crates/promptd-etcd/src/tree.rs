//! A published workspace as loading reads it.

use std::{collections::BTreeMap, io, sync::Arc};

use promptd_core::{
    digest::Digest,
    workspace::{Entry, EntryKind, FileBytes, ReadError, Tree},
};

/// The files of one published state; every one of them can be read.
pub(crate) struct PublishedTree {
    /// By path.
    pub(crate) files: BTreeMap<String, Arc<Blob>>,
}

/// The bytes of a file, wherever they are.
pub(crate) struct Blob {
    pub(crate) sha256: Digest,
    pub(crate) size: u64,
    pub(crate) bytes: Bytes,
}

/// Where the bytes of a file are.
pub(crate) enum Bytes {
    /// In memory.
    Held(Box<[u8]>),
    /// In the cache, which knows whether they are what they were.
    Cached(Box<ReadBlob>),
}

/// Reads a file's bytes from the cache.
pub(crate) type ReadBlob = dyn Fn() -> io::Result<Vec<u8>> + Send + Sync;

impl PublishedTree {
    /// The bytes of all files, by path; the error has the path.
    pub(crate) fn contents(&self) -> Result<BTreeMap<String, Vec<u8>>, String> {
        let read = |path: &String| {
            let read = self.read(path, usize::MAX).map_err(|error| format!("{path} {error}"))?;
            Ok((path.clone(), read.bytes))
        };
        self.files.keys().map(read).collect()
    }

    /// The paths below a folder, relative to it.
    fn below<'t>(&'t self, folder: &str) -> impl Iterator<Item = &'t str> + use<'t> {
        let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let length = start.len();
        let all = self.files.range(start.clone()..).map(|(path, _)| path.as_str());
        all.take_while(move |path| path.starts_with(&start)).map(move |path| &path[length..])
    }
}

impl Tree for PublishedTree {
    fn read(&self, path: &str, limit: usize) -> Result<FileBytes, ReadError> {
        let Some(blob) = self.files.get(path) else {
            let is_folder = self.below(path).next().is_some();
            return Err(if is_folder { ReadError::WrongKind("a folder") } else { ReadError::Missing });
        };
        let bytes = match &blob.bytes {
            Bytes::Held(bytes) => bytes[..bytes.len().min(limit)].to_vec(),
            Bytes::Cached(read) => {
                let mut bytes = read().map_err(|error| ReadError::Failed(error.kind()))?;
                bytes.truncate(limit);
                bytes
            }
        };
        Ok(FileBytes { bytes, total: blob.size })
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>, ReadError> {
        if self.files.contains_key(path) {
            return Err(ReadError::WrongKind("a file"));
        }
        let mut entries = BTreeMap::new();
        for below in self.below(path) {
            match below.split_once('/') {
                Some((folder, _)) => entries.insert(folder, EntryKind::Folder),
                None => entries.insert(below, EntryKind::File),
            };
        }
        if entries.is_empty() && !path.is_empty() {
            return Err(ReadError::Missing);
        }
        Ok(entries.into_iter().map(|(name, kind)| Entry { name: name.to_owned(), kind }).collect())
    }
}

#[cfg(test)]
mod tests {
    use promptd_core::workspace::MemoryTree;

    use super::*;

    #[test]
    fn it_reads_as_a_folder_with_the_same_files_does() {
        let paths = ["AGENTS.md", "a-b/x", "a/b/c", "a/d", "a.b", "z/y/x"];
        let blob = |path: &str| {
            let bytes = Bytes::Held(path.as_bytes().into());
            Arc::new(Blob { sha256: Digest::default(), size: path.len() as u64, bytes })
        };
        let tree = PublishedTree { files: paths.iter().map(|path| ((*path).to_owned(), blob(path))).collect() };
        let memory = paths.iter().fold(MemoryTree::new(), |tree, path| tree.file(path, path.as_bytes()));
        for path in paths.into_iter().chain(["", "a", "a/b", "a-b", "z", "z/y", "none", "a/none", "AGENTS.md/x", "a/"])
        {
            assert_eq!(tree.list(path), memory.list(path), "{path}");
            for limit in [0, 2, 100] {
                assert_eq!(tree.read(path, limit), memory.read(path, limit), "{path}");
            }
        }
    }
}
