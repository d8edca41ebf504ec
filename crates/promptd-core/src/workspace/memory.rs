//! A tree in memory.

use std::collections::BTreeMap;

use super::tree::{Entry, EntryKind, FileBytes, ReadError, Tree};

/// A folder tree in memory, for tests and fuzzing: files, empty folders, and entries that fail to be read.
#[derive(Debug, Clone, Default)]
pub struct MemoryTree {
    nodes: BTreeMap<String, Node>,
}

#[derive(Debug, Clone)]
enum Node {
    File { bytes: Vec<u8>, total: u64 },
    Folder,
    Failing(ReadError),
}

impl MemoryTree {
    /// An empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With a file; the folders above it come by themselves.
    #[must_use]
    pub fn file(self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        let total = bytes.len() as u64;
        self.node(path, Node::File { bytes, total })
    }

    /// With a file that is `total` bytes long, of which only the head is held.
    #[must_use]
    pub fn head_of(self, path: &str, bytes: impl Into<Vec<u8>>, total: u64) -> Self {
        self.node(path, Node::File { bytes: bytes.into(), total })
    }

    /// With an empty folder.
    #[must_use]
    pub fn folder(self, path: &str) -> Self {
        self.node(path, Node::Folder)
    }

    /// With an entry that cannot be read.
    #[must_use]
    pub fn failing(self, path: &str, error: ReadError) -> Self {
        self.node(path, Node::Failing(error))
    }

    /// Without the entry at `path`.
    #[must_use]
    pub fn without(mut self, path: &str) -> Self {
        self.nodes.remove(path);
        self
    }

    fn node(mut self, path: &str, node: Node) -> Self {
        self.nodes.insert(path.to_owned(), node);
        self
    }

    /// The nodes below a folder, each with its path relative to it.
    fn below<'t>(&'t self, path: &'t str) -> impl Iterator<Item = (&'t str, &'t Node)> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let nodes = self.nodes.range(prefix.clone()..);
        nodes.map_while(move |(name, node)| {
            let rest = name.strip_prefix(prefix.as_str())?;
            Some((rest, node))
        })
    }
}

impl<P: Into<String>, B: Into<Vec<u8>>> FromIterator<(P, B)> for MemoryTree {
    fn from_iter<I: IntoIterator<Item = (P, B)>>(files: I) -> Self {
        files.into_iter().fold(Self::new(), |tree, (path, bytes)| tree.file(&path.into(), bytes))
    }
}

impl Tree for MemoryTree {
    fn read(&self, path: &str, limit: usize) -> Result<FileBytes, ReadError> {
        match self.nodes.get(path) {
            Some(Node::File { bytes, total }) => {
                Ok(FileBytes { bytes: bytes[..limit.min(bytes.len())].to_vec(), total: *total })
            }
            Some(Node::Failing(error)) => Err(*error),
            Some(Node::Folder) => Err(ReadError::WrongKind("a folder")),
            None if self.below(path).next().is_some() => Err(ReadError::WrongKind("a folder")),
            None => Err(ReadError::Missing),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>, ReadError> {
        match self.nodes.get(path) {
            Some(Node::Failing(error)) => return Err(*error),
            Some(Node::File { .. }) => return Err(ReadError::WrongKind("a file")),
            None if !path.is_empty() && self.below(path).next().is_none() => return Err(ReadError::Missing),
            Some(Node::Folder) | None => {}
        }
        let mut kinds = BTreeMap::new();
        for (rest, node) in self.below(path) {
            let (name, kind) = match rest.split_once('/') {
                Some((name, _)) => (name, EntryKind::Folder),
                None => (rest, node.kind()),
            };
            let known = kinds.entry(name.to_owned()).or_insert(kind);
            // What fails and has entries is a folder.
            if kind == EntryKind::Folder {
                *known = kind;
            }
        }
        Ok(kinds.into_iter().map(|(name, kind)| Entry { name, kind }).collect())
    }
}

impl Node {
    fn kind(&self) -> EntryKind {
        match self {
            Self::Folder => EntryKind::Folder,
            Self::File { .. } | Self::Failing(ReadError::Denied | ReadError::Failed(_)) => EntryKind::File,
            Self::Failing(_) => EntryKind::Other,
        }
    }
}
