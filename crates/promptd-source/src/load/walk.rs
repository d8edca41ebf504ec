//! Walking a path name by name, so that every link is seen and judged before it is followed.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    os::unix::fs::FileTypeExt,
    path::{Component, Path, PathBuf},
};

use super::probe::{Probe, Route, Seen, Signature, is_absence};
use promptd_core::workspace::ReadError;

/// The most links followed for one path, as on Linux.
const MAX_LINKS: usize = 40;

/// The walks of one load: each name is looked at once, so that all of them see one state.
#[derive(Default)]
pub(crate) struct Walk {
    pub(crate) nodes: BTreeMap<PathBuf, Node>,
    pub(crate) probes: BTreeMap<PathBuf, Probe>,
    pub(crate) torn: bool,
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
    /// Follows `path` from the canonical folder `from`, name by name. `bases`: where it may end; absent on the way to a
    /// workspace, which may be anywhere.
    pub(crate) fn resolve(&mut self, from: &Path, path: &Path, bases: Option<&[PathBuf]>) -> Result<Found, ReadError> {
        let inside = |path: &Path| bases.is_none_or(|bases| bases.iter().any(|base| path.starts_with(base)));
        let mut at = from.to_path_buf();
        let mut kind = Kind::Folder;
        let mut route = Route { outer: bases.is_none(), ..Route::default() };
        let mut links = 0;
        // The names still to walk, the next one last.
        let mut ahead: Vec<OsString> = names(path);
        while let Some(name) = ahead.pop() {
            if name == "/" {
                at = PathBuf::from("/");
                continue;
            }
            if name == ".." {
                at.pop();
                continue;
            }
            let here = at.join(&name);
            let node = self.look(&here);
            let (is_end, is_inside) = (ahead.is_empty(), inside(&here));
            match &node.kind {
                Kind::Link(target) => {
                    self.record(&here, &node, route);
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(ReadError::LinkLoop);
                    }
                    route.linked = true;
                    route.swapped |= name.as_encoded_bytes().starts_with(b"..");
                    ahead.extend(names(target));
                }
                Kind::Folder => {
                    // On the way to a workspace only links and the end matter; outside the bases, nothing does.
                    if is_inside && (!route.outer || is_end) {
                        self.record(&here, &node, route);
                    }
                    at = here;
                }
                // What is not a folder ends the walk.
                _ => {
                    if !is_inside {
                        return Err(ReadError::LinkOutside);
                    }
                    self.record(&here, &node, route);
                    at = here;
                    kind = match node.kind {
                        Kind::Failed(error) => return Err(error),
                        kind if is_end => kind,
                        _ => Kind::Absent,
                    };
                    break;
                }
            }
        }
        if !inside(&at) {
            return Err(ReadError::LinkOutside);
        }
        if matches!(kind, Kind::Absent) {
            return Err(if links > 0 { ReadError::LinkDangling } else { ReadError::Missing });
        }
        Ok(Found { path: at, kind, route })
    }

    /// What is at a canonical path; looked at once a load.
    fn look(&mut self, path: &Path) -> Node {
        if let Some(node) = self.nodes.get(path) {
            return node.clone();
        }
        let node = look(path);
        self.nodes.insert(path.to_path_buf(), node.clone());
        node
    }

    fn record(&mut self, path: &Path, node: &Node, route: Route) {
        let seen = match (&node.kind, node.signature) {
            (Kind::Link(_), Some(signature)) => Seen::Link(signature),
            (Kind::Folder, Some(signature)) => Seen::Folder(signature.inode),
            (_, Some(signature)) => Seen::File(signature),
            (Kind::Failed(_), None) => Seen::Hidden,
            (_, None) => Seen::Absent,
        };
        if !self.probes.get(path).is_some_and(Probe::is_listing) {
            self.probe(path, seen, route);
        }
    }

    pub(crate) fn probe(&mut self, path: &Path, seen: Seen, route: Route) {
        self.probes.entry(path.to_path_buf()).and_modify(|probe| probe.seen = seen).or_insert(Probe { seen, route });
    }
}

fn look(path: &Path) -> Node {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if is_absence(&error) => return Node { kind: Kind::Absent, signature: None },
        Err(error) => return Node { kind: Kind::Failed(read_error(&error)), signature: None },
    };
    let kind = meta.file_type();
    let kind = if kind.is_symlink() {
        fs::read_link(path).map_or_else(|error| Kind::Failed(read_error(&error)), Kind::Link)
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
