//! What a load has looked at: its inputs, as they were.
//!
//! A load reads lazily, so its read set *is* the list of inputs: every file read or missed, every folder walked or
//! listed, every link followed. Comparing a read set with the disk takes stat calls alone. That is how a load proves that
//! nothing changed while it read, and how the sweep finds what no event reported.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    path::Path,
    time::Duration,
};

use promptd_core::workspace::is_called_one_of;

use super::{
    probe::{Inode, Probe, Seen, Signature, is_absence},
    probes::Probes,
    walk::Walk,
};
use crate::disk;

/// What a load has looked at.
#[derive(Debug, Default)]
pub(crate) struct ReadSet {
    probes: Probes,
    /// The workspace's folder; absent where there is none.
    root: Option<Inode>,
    /// Something changed while it was read: the read set is of no single state.
    torn: bool,
    /// The names of the files that count where a folder was listed in part.
    named: Box<[Box<str>]>,
}

fn union(one: &[Box<str>], other: &[Box<str>]) -> Box<[Box<str>]> {
    one.iter().chain(other).cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

/// How a file has lost its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// It is not there; nothing says since when.
    Missing,
    /// It has been empty for so long.
    Empty(Duration),
}

impl ReadSet {
    /// What one tree has recorded.
    pub(crate) fn new(walk: Walk, root: Option<Inode>) -> Self {
        let Walk { probes, torn, named, .. } = walk;
        let probes = Probes::from_sorted(probes.iter().map(|(path, probe)| (Path::new(path), *probe)));
        Self { probes, root, torn, named: named.into_iter().collect() }
    }

    /// What several trees have recorded, the workspace's first.
    pub(crate) fn join(sets: impl IntoIterator<Item = Self>) -> Self {
        let sets: Vec<Self> = sets.into_iter().collect();
        let [first, others @ ..] = &*sets else { return Self::default() };
        if others.is_empty() {
            return sets.into_iter().next().unwrap_or_default();
        }
        let mut probes: Vec<_> = sets.iter().flat_map(|set| set.probes.iter()).collect();
        probes.sort_by(|(a, x), (b, y)| a.as_os_str().cmp(b.as_os_str()).then(y.rank().cmp(&x.rank())));
        probes.dedup_by(|(a, _), (b, _)| a == b);
        Self {
            probes: Probes::from_sorted(probes.into_iter().map(|(path, probe)| (path, *probe))),
            root: first.root,
            torn: sets.iter().any(|set| set.torn),
            named: others.iter().fold(first.named.clone(), |named, other| union(&named, &other.named)),
        }
    }

    /// What is known of each path from this load and an older one: where this one failed, or did not look, the older one still
    /// counts. Nothing of it does if the workspace's folder is another one by now.
    pub(crate) fn over(self, older: &Self) -> Self {
        if self.root.is_some() && self.root != older.root {
            return self;
        }
        let mut probes: BTreeMap<_, _> = older.probes.iter().map(|(path, probe)| (path.as_os_str(), *probe)).collect();
        for (path, probe) in self.probes.iter() {
            if probe.seen != Seen::Failed || !probes.contains_key(path.as_os_str()) {
                probes.insert(path.as_os_str(), *probe);
            }
        }
        let probes = Probes::from_sorted(probes.into_iter().map(|(path, probe)| (Path::new(path), probe)));
        let named = union(&self.named, &older.named);
        Self { probes, root: older.root, torn: self.torn, named }
    }

    /// Whether the disk still is as it was.
    pub(crate) fn is_current(&self) -> bool {
        !self.torn && self.probes.iter().all(|(path, probe)| probe.seen.is_current(path, &self.named))
    }

    /// Whether another load saw the very same: then what it read is the same too. Never true of what could not be read.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        !self.torn && !other.torn && !self.has_failures() && self.root == other.root && self.probes == other.probes
    }

    /// Whether something could not be read.
    pub(crate) fn has_failures(&self) -> bool {
        self.probes.iter().any(|(_, probe)| probe.seen == Seen::Failed)
    }

    /// How long ago the newest loose file changed, as it was when read; `None` where none was read, or its time is ahead
    /// of the clock.
    pub(crate) fn quiet_for(&self) -> Option<Duration> {
        self.loose_files().filter_map(|(_, signature)| signature.age()).min()
    }

    /// Like [`Self::quiet_for`], as the files are on the disk now.
    pub(crate) fn quiet_for_now(&self) -> Option<Duration> {
        self.loose_files().filter_map(|(path, _)| Signature::of(&disk::stat(path).ok()?).age()).min()
    }

    fn loose_files(&self) -> impl Iterator<Item = (&Path, Signature)> {
        self.probes.iter().filter_map(|(path, probe)| Some((path, probe.loose_file()?)))
    }

    /// The files with content here that are empty or missing in `next`: what the middle of a save looks like. A file
    /// that the next load had no reason to read is not lost, and neither is one whose folder is gone or replaced: no
    /// editor does that.
    pub(crate) fn losses_in<'a>(&'a self, next: &'a Self) -> impl Iterator<Item = (&'a Path, Loss)> {
        let is_same_root = self.root == next.root;
        self.probes.iter().filter(move |_| is_same_root).filter_map(move |(path, probe)| {
            let had_content = !probe.route.outer && probe.loose_file().is_some_and(|signature| signature.size > 0);
            let loss = if had_content { next.loss_of(path, probe.route.linked)? } else { return None };
            path.parent().filter(|folder| self.still_has_folder(folder)).map(|_| (path, loss))
        })
    }

    /// Absent where the file has content, or there was no reason to read it.
    fn loss_of(&self, path: &Path, linked: bool) -> Option<Loss> {
        let emptied = |now: Signature| (now.size == 0).then(|| now.age().map_or(Loss::Missing, Loss::Empty));
        match self.get(path).map(|probe| probe.seen) {
            Some(Seen::Absent) => Some(Loss::Missing),
            Some(Seen::File(signature)) => emptied(signature),
            Some(_) => None,
            None if linked => None,
            None => match disk::stat(path) {
                Ok(meta) if meta.is_file() => emptied(Signature::of(&meta)),
                Ok(_) => None,
                Err(_) => Some(Loss::Missing),
            },
        }
    }

    fn still_has_folder(&self, folder: &Path) -> bool {
        let Some(then) = self.get(folder).and_then(Probe::folder) else { return true };
        match disk::stat(folder) {
            Ok(meta) => Inode::of(&meta) == then,
            Err(error) => !is_absence(&error),
        }
    }

    fn get(&self, path: &Path) -> Option<&Probe> {
        self.probes.get(path)
    }

    /// Whether an event at `path` may have changed an input; `renamed`: an entry was created, removed or renamed.
    pub(crate) fn is_touched_by(&self, path: &Path, renamed: bool) -> bool {
        let is_listed = || match path.parent().and_then(|folder| self.get(folder)).map(|probe| probe.seen) {
            Some(Seen::Listing(..)) => true,
            Some(Seen::Part(..)) => self.counts(path),
            _ => false,
        };
        self.get(path).is_some() || renamed && is_listed()
    }

    /// Whether what has come to a folder that is listed in part, or has gone from it, counts there. A folder that has gone is one
    /// of the probes.
    fn counts(&self, path: &Path) -> bool {
        let is_named = path.file_name().and_then(OsStr::to_str).is_some_and(|name| is_called_one_of(name, &self.named));
        is_named || disk::stat(path).is_ok_and(|meta| !meta.is_file())
    }

    /// The folders to watch, each with whether only one name in it matters, on the way to the workspace.
    pub(crate) fn folders(&self) -> BTreeMap<&Path, bool> {
        let mut folders = BTreeMap::new();
        for (path, probe) in self.probes.iter() {
            if let Some(parent) = path.parent() {
                *folders.entry(parent).or_insert(true) &= probe.route.outer;
            }
            if probe.is_listing() {
                folders.insert(path, false);
            }
        }
        folders
    }

    /// The paths that lead to the workspace's folder: its own, and every link on the way.
    pub(crate) fn outer_paths(&self) -> impl Iterator<Item = &Path> {
        self.probes.iter().filter(|(_, probe)| probe.route.outer).map(|(path, _)| path)
    }
}

#[cfg(test)]
mod tests;
