//! Context files in folders below the root, `context.nested`: which there are, and which of them hold where a turn works.

mod load;
mod search;
#[cfg(test)]
mod tests;

pub(super) use load::load;
pub use load::{MAX_NESTED_BYTES, MAX_NESTED_FILES};
use search::never_searched;
pub use search::{MAX_NESTED_DEPTH, MAX_NESTED_FOLDERS};

use std::{borrow::Borrow, collections::BTreeMap, fmt, ops::Bound, sync::Arc};

use super::{Document, ReadError, files::join};
use crate::{finding::Finding, id::Id, turn::WorkingDirectory, yaml::nearest};

/// The nested context files of a workspace, and the folders that were searched for them. Empty where `context.nested` is.
///
/// A file that the workspace shows everywhere, since it is always looked for or one of `context.files`, is not among them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Nested {
    /// `context.nested`: the names that are looked for in each folder.
    pub(super) names: Vec<String>,
    /// The files by path.
    pub(super) documents: BTreeMap<Arc<str>, Arc<Document>>,
    /// Files that are there and cannot be used, each with the reason.
    pub(super) unusable: BTreeMap<Arc<str>, Finding>,
    /// The folders below the root that were listed, by path, each with the reason if it was not searched all the same.
    pub(super) folders: BTreeMap<Box<str>, Option<Unsearched>>,
    /// Whether there are more folders.
    pub(super) is_partial: bool,
}

/// Why a folder was not searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsearched {
    /// It has a name such as `.git`: nobody works there.
    Name,
    /// It has a file such as `CACHEDIR.TAG`, which says that a tool makes what is in it.
    Mark(&'static str),
    /// It is the workspace's folder of skills, which have rules of their own.
    Skills,
    /// It is too deep.
    Depth,
    /// Its name has characters that a path cannot have.
    Characters,
    /// It could not be listed.
    Unlisted(ReadError),
}

/// Why a turn's working directory is not one of the folders that were searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFound<'a> {
    /// There is none of this path; `near`: one that is nearly called so.
    Missing {
        /// The first folder on the way that is not there.
        folder: &'a str,
        /// One beside it whose name is similar.
        near: Option<&'a str>,
    },
    /// It is beyond the limit of folders, or not there.
    Beyond {
        /// The first folder on the way that is not known.
        folder: &'a str,
    },
    /// It was not searched.
    Unsearched {
        /// The first folder on the way that was not.
        folder: &'a str,
        /// Why.
        why: Unsearched,
    },
}

impl Nested {
    /// The files by path, the root's first.
    pub fn documents(&self) -> impl Iterator<Item = &Document> {
        self.documents.values().map(|document| &**document)
    }

    /// A file; `None`: there is none of that path, or it cannot be used.
    #[must_use]
    pub fn document(&self, path: &str) -> Option<&Document> {
        self.documents.get(path).map(|document| &**document)
    }

    /// Why a file that is there cannot be used.
    #[must_use]
    pub fn unusable(&self, path: &str) -> Option<&Finding> {
        self.unusable.get(path)
    }

    /// The folders below the root that were searched, by path.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().filter(|(_, unsearched)| unsearched.is_none()).map(|(path, _)| &**path)
    }

    /// Whether the file at `path` would be one of them if it were there.
    #[must_use]
    pub fn looks_for(&self, path: &str) -> bool {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        self.names.iter().any(|looked_for| looked_for == name)
    }

    /// The paths of the files that hold in a folder: the root's first, its own last; in each folder in the order of the names.
    pub fn paths_for<'s>(&'s self, directory: &'s WorkingDirectory) -> impl Iterator<Item = &'s str> {
        let folders = std::iter::once("").chain(directory.way().take(MAX_NESTED_DEPTH));
        folders.flat_map(move |folder| self.names.iter().filter_map(move |name| self.path_of(&join(folder, name))))
    }

    fn path_of(&self, path: &str) -> Option<&str> {
        let usable = self.documents.get_key_value(path).map(|(path, _)| &**path);
        usable.or_else(|| self.unusable.get_key_value(path).map(|(path, _)| &**path))
    }

    /// The first folder on the way to a working directory that was not searched; `None`: all of them were.
    #[must_use]
    pub fn not_found<'a>(&'a self, directory: &'a WorkingDirectory) -> Option<NotFound<'a>> {
        directory.way().find_map(|folder| match self.folders.get(folder) {
            Some(None) => None,
            Some(Some(why)) => Some(NotFound::Unsearched { folder, why: *why }),
            None => Some(match never_searched(folder) {
                Some(why) => NotFound::Unsearched { folder, why },
                None if self.is_partial => NotFound::Beyond { folder },
                None => NotFound::Missing { folder, near: self.nearly(folder) },
            }),
        })
    }

    /// The folder beside `folder` whose name is most like its name.
    fn nearly(&self, folder: &str) -> Option<&str> {
        let parent = folder.rsplit_once('/').map_or(0, |(parent, _)| parent.len() + 1);
        let beside = below(&self.folders, &folder[..parent]).map(|(path, _)| &**path);
        nearest(folder, beside.filter(|path| !path[parent..].contains('/')))
    }

    /// The same in a workspace that extends their own.
    pub(super) fn of_layer(self: &Arc<Self>, id: &Id) -> Arc<Self> {
        if self.documents.is_empty() && self.unusable.is_empty() {
            return Arc::clone(self);
        }
        let documents = self.documents.iter().map(|(path, document)| (path.clone(), Arc::new(document.of_layer(id))));
        Arc::new(Self { documents: documents.collect(), ..Self::clone(self) })
    }

    /// How many bytes of text they have.
    pub(super) fn weight(&self) -> usize {
        let names: usize = self.folders.keys().map(|path| path.len()).sum();
        names + self.documents.values().map(|document| document.weight()).sum::<usize>()
    }
}

/// What of a map by path is below a folder, which is given with the `/` at its end.
fn below<'m, K: Ord + Borrow<str>, V>(map: &'m BTreeMap<K, V>, folder: &str) -> impl Iterator<Item = (&'m K, &'m V)> {
    let from = map.range::<str, _>((Bound::Included(folder), Bound::Unbounded));
    from.take_while(move |(path, _)| (*path).borrow().starts_with(folder))
}

impl fmt::Display for NotFound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { folder, near } => {
                write!(f, "`{folder}` is not a folder of the workspace")?;
                if let Some(near) = near { write!(f, "; did you mean `{near}`?") } else { Ok(()) }
            }
            Self::Beyond { folder } => {
                write!(
                    f,
                    "`{folder}` is not among the {MAX_NESTED_FOLDERS} folders that are searched for context files"
                )
            }
            Self::Unsearched { folder, why } => write!(f, "`{folder}` is not searched for context files: {why}"),
        }
    }
}

impl fmt::Display for Unsearched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("folders of that name never are"),
            Self::Mark(file) => write!(f, "it has a {file}, so that a tool makes what is in it"),
            Self::Skills => f.write_str("skills have rules of their own"),
            Self::Depth => write!(f, "it is deeper than {MAX_NESTED_DEPTH} levels"),
            Self::Characters => f.write_str("its name has characters that a path cannot have"),
            Self::Unlisted(error) => write!(f, "it {error}"),
        }
    }
}
