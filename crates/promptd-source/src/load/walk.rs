//! Walking a path name by name, so that every link is seen and judged before it is followed.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    io,
    os::unix::fs::FileTypeExt,
    path::{Component, Path, PathBuf},
};

use super::probe::{Probe, Route, Seen, Signature, is_absence};
use crate::disk;
use promptd_core::workspace::ReadError;

/// The most links followed for one path, as on Linux.
const MAX_LINKS: usize = 40;

/// The walks of one load: each name is looked at once, so that all of them see one state.
#[derive(Default)]
pub(crate) struct Walk {
    pub(crate) nodes: BTreeMap<OsString, Node>,
    /// By canonical path, like the nodes. In the order of bytes: that of paths goes name by name, which was a tenth of a load.
    pub(crate) probes: BTreeMap<OsString, Probe>,
    pub(crate) torn: bool,
    /// The names of the files that count where a folder is listed in part.
    pub(crate) named: BTreeSet<Box<str>>,
}

#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) signature: Option<Signature>,
}

#[derive(Clone)]
pub(crate) enum Kind {
    Absent,
    Folder,
    File,
    Other(&'static str),
    Link(PathBuf),
    Failed(ReadError),
}

/// Where a path leads.
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) route: Route,
}

impl Walk {
    /// Follows `path` from the canonical folder `from` to what is there. `bases`: where it may end; absent on the way to
    /// a workspace, which may be anywhere.
    pub(crate) fn resolve(&mut self, from: &Path, path: &Path, bases: Option<&[PathBuf]>) -> Result<Found, ReadError> {
        let (path, route, kind) = self.follow(from, path, bases);
        Ok(Found { path, kind: kind?, route })
    }

    /// The canonical path that the absolute `path` leads to, whether something is there or not.
    pub(crate) fn destination(&mut self, path: &Path) -> PathBuf {
        self.follow(Path::new("/"), path, None).0
    }

    fn follow(
        &mut self,
        from: &Path,
        path: &Path,
        bases: Option<&[PathBuf]>,
    ) -> (PathBuf, Route, Result<Kind, ReadError>) {
        let inside = |path: &Path| bases.is_none_or(|bases| bases.iter().any(|base| is_at_or_below(path, base)));
        let mut at = from.to_path_buf();
        let mut route = Route { outer: bases.is_none(), ..Route::default() };
        let mut links = 0;
        // The names still to walk, the next one last.
        let mut ahead: Vec<OsString> = names(path);
        while let Some(name) = ahead.pop() {
            if name == "/" || name == ".." {
                step(&mut at, &name);
                continue;
            }
            step(&mut at, &name);
            let node = self.look(&at);
            match &node.kind {
                Kind::Link(target) => {
                    self.record(&at, &node, route);
                    at.pop();
                    links += 1;
                    if links > MAX_LINKS {
                        return (at, route, Err(ReadError::LinkLoop));
                    }
                    route.linked = true;
                    route.swapped |= name.as_encoded_bytes().starts_with(b"..");
                    ahead.extend(names(target));
                }
                Kind::Folder => {
                    // On the way to a workspace only links and the end matter; outside the bases, nothing does.
                    if inside(&at) && (!route.outer || ahead.is_empty()) {
                        self.record(&at, &node, route);
                    }
                }
                // What is not a folder ends the walk; it is recorded where it is, or hides, an allowed place.
                _ => {
                    let end = at.clone();
                    let is_end = ahead.is_empty();
                    ahead.iter().rev().for_each(|name| step(&mut at, name));
                    if !inside(&at) {
                        return (at, route, Err(ReadError::LinkOutside));
                    }
                    self.record(&end, &node, route);
                    let kind = match node.kind {
                        Kind::Failed(error) => Err(error),
                        Kind::Absent => Err(ReadError::Missing),
                        kind if is_end => Ok(kind),
                        _ => Err(ReadError::Missing),
                    };
                    let is_broken = kind.as_ref().is_err_and(|error| *error == ReadError::Missing) && links > 0;
                    return (at, route, if is_broken { Err(ReadError::LinkDangling) } else { kind });
                }
            }
        }
        let kind = if inside(&at) { Ok(Kind::Folder) } else { Err(ReadError::LinkOutside) };
        (at, route, kind)
    }

    /// The signature of what was seen at a canonical path.
    pub(crate) fn signature(&self, path: &Path) -> Option<Signature> {
        self.nodes.get(path.as_os_str()).and_then(|node| node.signature)
    }

    /// What is at a canonical path; looked at once a load.
    fn look(&mut self, path: &Path) -> Node {
        if let Some(node) = self.nodes.get(path.as_os_str()) {
            return node.clone();
        }
        let node = look(path);
        self.nodes.insert(path.into(), node.clone());
        node
    }

    fn record(&mut self, path: &Path, node: &Node, route: Route) {
        let seen = match (&node.kind, node.signature) {
            (Kind::Failed(_), _) => Seen::Failed,
            (Kind::Link(_), Some(signature)) => Seen::Link(signature),
            (Kind::Folder, Some(signature)) => Seen::Folder(signature.inode),
            (_, Some(signature)) => Seen::File(signature),
            (_, None) => Seen::Absent,
        };
        // What more is known of it stays.
        if !self.probes.get(path.as_os_str()).is_some_and(Probe::is_listing) {
            self.probe(path, seen, route);
        }
    }

    /// Records that reading it has failed, unless there is nothing to read any more: then it was torn.
    pub(crate) fn read_failed(&mut self, found: &Found, error: &io::Error) -> ReadError {
        let error = read_error(error);
        if is_failure(error) {
            self.probe(&found.path, Seen::Failed, found.route);
        }
        error
    }

    /// What has failed once stays so: the load may show it, so it is tried again even if it went well later.
    pub(crate) fn probe(&mut self, path: &Path, seen: Seen, route: Route) {
        let probe = self.probes.entry(path.into()).or_insert(Probe { seen, route });
        if probe.seen != Seen::Failed {
            probe.seen = seen;
        }
    }
}

/// Whether a canonical path is another one, or below it.
pub(crate) fn is_at_or_below(path: &Path, base: &Path) -> bool {
    let [path, base] = [path, base].map(|path| path.as_os_str().as_encoded_bytes());
    path.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || base == b"/")
}

fn look(path: &Path) -> Node {
    let meta = match disk::stat(path) {
        Ok(meta) => meta,
        Err(error) if is_absence(&error) => return Node { kind: Kind::Absent, signature: None },
        Err(error) => return Node { kind: Kind::Failed(read_error(&error)), signature: None },
    };
    let kind = meta.file_type();
    let kind = if kind.is_symlink() {
        disk::read_link(path).map_or_else(|error| Kind::Failed(read_error(&error)), Kind::Link)
    } else if kind.is_dir() {
        Kind::Folder
    } else if kind.is_file() {
        Kind::File
    } else if kind.is_fifo() {
        Kind::Other("a FIFO")
    } else if kind.is_socket() {
        Kind::Other("a socket")
    } else {
        Kind::Other("a device")
    };
    Node { kind, signature: Some(Signature::of(&meta)) }
}

/// Whether something is there and reading it failed: it may be as it was, and it is tried again.
pub(crate) fn is_failure(error: ReadError) -> bool {
    matches!(error, ReadError::Denied | ReadError::Failed(_))
}

/// Goes one name on, by the names alone.
fn step(at: &mut PathBuf, name: &OsStr) {
    if name == ".." {
        at.pop();
    } else {
        at.push(name);
    }
}

/// A path's names, the first one last; an absolute path's first is `/`.
fn names(path: &Path) -> Vec<OsString> {
    path.components()
        .filter(|part| !matches!(part, Component::CurDir))
        .map(|part| part.as_os_str().to_owned())
        .rev()
        .collect()
}

/// The system's error as a loader's.
pub(crate) fn read_error(error: &io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => ReadError::Denied,
        _ if is_absence(error) => ReadError::Missing,
        kind => ReadError::Failed(kind),
    }
}

#[cfg(test)]
mod tests;
