//! What a load has looked at, by path, in little memory: one text has all paths.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

use super::probe::Probe;

/// Probes by canonical path, in the order of the paths' bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Probes {
    /// One after the other.
    paths: Box<[u8]>,
    /// Where each path ends.
    ends: Box<[usize]>,
    found: Box<[Probe]>,
}

impl Probes {
    /// From paths that are in order, each once.
    pub(crate) fn from_sorted<'a>(probes: impl IntoIterator<Item = (&'a Path, Probe)>) -> Self {
        let (mut paths, mut ends, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for (path, probe) in probes {
            paths.extend_from_slice(path.as_os_str().as_bytes());
            ends.push(paths.len());
            found.push(probe);
        }
        Self { paths: paths.into(), ends: ends.into(), found: found.into() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Path, &Probe)> {
        self.found.iter().enumerate().map(|(index, probe)| (self.path(index), probe))
    }

    pub(crate) fn get(&self, path: &Path) -> Option<&Probe> {
        let (mut from, mut to) = (0, self.found.len());
        while from < to {
            let middle = from.midpoint(to);
            match self.path(middle).as_os_str().cmp(path.as_os_str()) {
                std::cmp::Ordering::Equal => return self.found.get(middle),
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Greater => to = middle,
            }
        }
        None
    }

    fn path(&self, index: usize) -> &Path {
        let end = |index: usize| self.ends.get(index).copied().unwrap_or_default();
        let start = index.checked_sub(1).map_or(0, end);
        Path::new(OsStr::from_bytes(self.paths.get(start..end(index)).unwrap_or_default()))
    }
}
