//! Walking a path name by name, so that every link is seen and judged before it is followed.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    os::unix::fs::FileTypeExt,
    path::{Component, Path, PathBuf},
};

use super::read_set::{Probe, Seen, Sig, is_absence};
use promptd_core::workspace::ReadError;

/// The most links followed for one path, as Linux has it.
const MAX_LINKS: usize = 40;

/// What a walk has seen so far.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) nodes: BTreeMap<PathBuf, Node>,
    pub(crate) probes: BTreeMap<PathBuf, Probe>,
    pub(crate) torn: bool,
}

#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) sig: Option<Sig>,
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
    pub(crate) way: Way,
}

/// How a path got there.
#[derive(Clone, Copy, Default)]
pub(crate) struct Way {
    swapped: bool,
    linked: bool,
    home: bool,
}

impl Record {
    /// Follows `path` from the canonical folder `from`, name by name. `bases`: where it may end; absent on the way
    /// to a workspace, where it may end anywhere.
    pub(crate) fn resolve(&mut self, from: &Path, path: &Path, bases: Option<&[PathBuf]>) -> Result<Found, ReadError> {
        let inside = |path: &Path| bases.is_none_or(|bases| bases.iter().any(|base| path.starts_with(base)));
        let mut at = from.to_path_buf();
        let mut kind = Kind::Folder;
        let mut way = Way { home: bases.is_none(), ..Way::default() };
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
                    self.record(&here, &node, way);
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(ReadError::LinkLoop);
                    }
                    way.linked = true;
                    way.swapped |= name.as_encoded_bytes().starts_with(b"..");
                    ahead.extend(names(target));
                }
                Kind::Folder => {
                    // On the way to a workspace only links and the end tell of a change; outside the bases, nothing.
                    if is_inside && (!way.home || is_end) {
                        self.record(&here, &node, way);
                    }
                    at = here;
                }
                // What is not a folder ends the walk.
                _ => {
                    if !is_inside {
                        return Err(ReadError::LinkOutside);
                    }
                    self.record(&here, &node, way);
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
        Ok(Found { path: at, kind, way })
    }

    /// What stands at a canonical path; looked at once a load.
    fn look(&mut self, path: &Path) -> Node {
        if let Some(node) = self.nodes.get(path) {
            return node.clone();
        }
        let node = look(path);
        self.nodes.insert(path.to_path_buf(), node.clone());
        node
    }

    fn record(&mut self, path: &Path, node: &Node, way: Way) {
        let seen = match (&node.kind, node.sig) {
            (Kind::Link(_), Some(sig)) => Seen::Link(sig),
            (Kind::Folder, Some(sig)) => Seen::Folder(sig.dev, sig.ino),
            (_, Some(sig)) => Seen::File(sig),
            (Kind::Failed(_), None) => Seen::Hidden,
            (_, None) => Seen::Absent,
        };
        if !matches!(self.probes.get(path), Some(Probe { seen: Seen::Listing(..), .. })) {
            self.probe(path, seen, way);
        }
    }

    pub(crate) fn probe(&mut self, path: &Path, seen: Seen, way: Way) {
        let Way { swapped, linked, home } = way;
        self.probes.entry(path.to_path_buf()).and_modify(|probe| probe.seen = seen).or_insert(Probe {
            seen,
            swapped,
            linked,
            home,
        });
    }
}

fn look(path: &Path) -> Node {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if is_absence(&error) => return Node { kind: Kind::Absent, sig: None },
        Err(error) => return Node { kind: Kind::Failed(read_error(&error)), sig: None },
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
    Node { kind, sig: Some(Sig::of(&meta)) }
}

/// A path's names, the first one last; an absolute path's first is `/`.
fn names(path: &Path) -> Vec<OsString> {
    path.components()
        .filter(|part| !matches!(part, Component::CurDir))
        .map(|part| part.as_os_str().to_owned())
        .rev()
        .collect()
}

/// What the system says, in a loader's words.
pub(crate) fn read_error(error: &io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => ReadError::Denied,
        _ if is_absence(error) => ReadError::Missing,
        kind => ReadError::Failed(kind),
    }
}
