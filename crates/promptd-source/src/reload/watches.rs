//! The folders being watched, and for whom.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::{
    events::{Feed, WatchError},
    load::read_set::Trace,
    status::Status,
};

/// Who wants to know: an index into the reload loop's subjects.
pub(crate) type Subject = u32;

/// All watches of the process, on one feed.
pub(crate) struct Watches {
    /// Absent, and perhaps why: nothing is watched.
    feed: Result<Box<dyn Feed>, Option<WatchError>>,
    /// By canonical path; ordered, so that a folder's subtree is one range.
    folders: BTreeMap<PathBuf, Watch>,
    /// Subjects by the paths that lead to their folder. Apart from the folders' own subjects, since one folder can
    /// hold ten thousand workspaces and an event in it concerns one.
    homes: HashMap<PathBuf, BTreeSet<Subject>>,
    /// How many folders are watched now.
    count: usize,
}

#[derive(Default)]
struct Watch {
    /// Device and inode of the folder that is watched; absent: not watched, or no longer trusted.
    watched: Option<(u64, u64)>,
    subjects: BTreeSet<Subject>,
    /// How many subjects have it on the way to their folder.
    homes: u32,
}

impl Watches {
    /// Without a feed nothing is watched; the error is why there is none, if there ought to be one.
    pub(crate) fn new(feed: Result<Box<dyn Feed>, Option<WatchError>>) -> Self {
        Self { feed, folders: BTreeMap::new(), homes: HashMap::new(), count: 0 }
    }

    /// Watches what `next` names for `subject`, and lets go of what only `last` named. The error is the first reason
    /// why events cannot be relied on for this subject.
    pub(crate) fn follow(
        &mut self,
        subject: Subject,
        last: &Trace,
        next: &Trace,
        status: &Status,
    ) -> Result<(), WatchError> {
        let (old, new) = (last.folders(), next.folders());
        for (folder, home_only) in &new {
            if old.get(folder) != Some(home_only) {
                let watch = self.folders.entry(folder.to_path_buf()).or_default();
                if *home_only { watch.homes += 1 } else { _ = watch.subjects.insert(subject) }
            }
        }
        for path in next.home() {
            self.homes.entry(path.to_path_buf()).or_default().insert(subject);
        }
        let mut result = Ok(());
        for folder in new.keys() {
            if let Err(error) = self.ensure(folder, status) {
                result = result.and(Err(error));
            }
        }
        for (folder, home_only) in &old {
            if new.get(folder) != Some(home_only) {
                self.release(folder, subject, *home_only);
            }
        }
        let kept: BTreeSet<&Path> = next.home().collect();
        for path in last.home().filter(|path| !kept.contains(path)) {
            if let Some(subjects) = self.homes.get_mut(path) {
                subjects.remove(&subject);
                if subjects.is_empty() {
                    self.homes.remove(path);
                }
            }
        }
        status.set_watches(self.count);
        result
    }

    /// Makes sure that the folder that is there now is the one watched.
    fn ensure(&mut self, folder: &Path, status: &Status) -> Result<(), WatchError> {
        let (Some(watch), Ok(meta)) = (self.folders.get_mut(folder), fs::symlink_metadata(folder)) else {
            return Ok(()); // Gone: the trace no longer holds, and that is found.
        };
        let there = Some((meta.dev(), meta.ino()));
        let feed = match &mut self.feed {
            Ok(feed) => feed,
            Err(reason) => return reason.map_or(Ok(()), Err),
        };
        if watch.watched != there {
            if watch.watched.take().is_some() {
                self.count -= 1;
                feed.unwatch(folder);
            }
            match feed.watch(folder) {
                Ok(()) => {
                    self.count += 1;
                    watch.watched = there;
                }
                Err(WatchError::Missing) => {}
                Err(error) => {
                    status.watch_failed(error);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn release(&mut self, folder: &Path, subject: Subject, home_only: bool) {
        let Some(watch) = self.folders.get_mut(folder) else { return };
        if home_only {
            watch.homes -= 1;
        } else {
            watch.subjects.remove(&subject);
        }
        if watch.homes == 0 && watch.subjects.is_empty() {
            let was_watched = watch.watched.is_some();
            self.folders.remove(folder);
            if let (true, Ok(feed)) = (was_watched, &mut self.feed) {
                self.count -= 1;
                feed.unwatch(folder);
            }
        }
    }

    /// The subjects that may be concerned by a change at `path`.
    pub(crate) fn concerned(&self, path: &Path) -> BTreeSet<Subject> {
        let of = |folder: &Path| self.folders.get(folder).into_iter().flat_map(|watch| &watch.subjects);
        let homes = self.homes.get(path).into_iter().flatten();
        path.parent().into_iter().flat_map(of).chain(of(path)).chain(homes).copied().collect()
    }

    /// Stops to trust every watch at and below `path`, since it may look at a folder that is elsewhere now, and gives
    /// the subjects that had one.
    pub(crate) fn forget(&mut self, path: &Path) -> BTreeSet<Subject> {
        let mut subjects = BTreeSet::new();
        for (folder, watch) in self.folders.range_mut(path.to_path_buf()..) {
            if !folder.starts_with(path) {
                break;
            }
            if watch.watched.take().is_some() {
                self.count -= 1;
                subjects.extend(&watch.subjects);
                if let Ok(feed) = &mut self.feed {
                    feed.unwatch(folder);
                }
            }
        }
        subjects
    }
}
