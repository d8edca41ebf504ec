//! What is followed, the state that following it has, and loading it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use promptd_core::{
    id::Id,
    workspace::{Entry, ReadError},
};
use rustix::fs::statfs;
use tokio::sync::watch;

use super::debounce::{Debounce, Event};
use crate::{
    events::WatchError,
    external::{External, ExternalWorkspace},
    load::{
        files::{self, Contents, FileSet},
        read_set::ReadSet,
        workspace::{self, Inputs, Loading},
    },
};

/// A target's number; never used twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TargetId(u32);

impl TargetId {
    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Something followed, and all that is known of it.
pub(crate) struct Target {
    pub(crate) kind: Kind,
    /// Of the newest load that counted.
    pub(crate) read_set: ReadSet,
    /// What was known of each path before the newest load, if that one has failures: what it could not see, such as a file in a
    /// folder that could not be listed, still had content before.
    pub(crate) before_failures: Option<ReadSet>,
    pub(crate) debounce: Debounce,
    /// When it is due, as the agenda has it.
    pub(crate) scheduled: Option<Instant>,
    /// Its events cannot be had or relied on.
    pub(crate) polled: bool,
    /// Why it is not watched.
    pub(crate) watch_error: Option<WatchError>,
    /// It is a workspace that has an error now.
    pub(crate) failing: bool,
    /// What an operator should see to.
    pub(crate) problems: Vec<String>,
}

pub(crate) enum Kind {
    /// A folder of workspaces.
    Root(PathBuf),
    /// A workspace; `listed`: it exists because a root lists it, and goes when that no longer does.
    Workspace { id: Id, path: PathBuf, listed: bool },
    /// Which workspaces there are that are not folders.
    Externals,
    /// A workspace that is not a folder.
    External(Id),
    /// The folder of profiles.
    Profiles(FileSet),
    /// Other files, and who gets their contents.
    Files(FileSet, watch::Sender<Arc<Contents>>),
}

/// What a load of a target gives.
pub(crate) enum Content {
    Root(Result<Vec<Entry>, ReadError>),
    Externals(Vec<Id>),
    Workspace(Loading),
    Files(Contents),
}

impl Target {
    pub(crate) fn new(kind: Kind, now: Instant) -> Self {
        let mut debounce = Debounce::default();
        debounce.apply(&Event::Added, now);
        Self {
            kind,
            read_set: ReadSet::default(),
            before_failures: None,
            debounce,
            scheduled: None,
            polled: false,
            watch_error: None,
            failing: false,
            problems: Vec::new(),
        }
    }

    /// The id, if it is a workspace.
    pub(crate) fn workspace_id(&self) -> Option<&Id> {
        match &self.kind {
            Kind::Workspace { id, .. } | Kind::External(id) => Some(id),
            _ => None,
        }
    }

    /// Whether it is a workspace that goes when a list no longer has it.
    pub(crate) fn is_listed(&self) -> bool {
        matches!(self.kind, Kind::Workspace { listed: true, .. } | Kind::External(_))
    }

    /// The id, if it is a workspace that is not a folder.
    pub(crate) fn external_id(&self) -> Option<&Id> {
        if let Kind::External(id) = &self.kind { Some(id) } else { None }
    }

    /// Loads it; `external` is what was read of it where it is a workspace that is not a folder.
    pub(crate) fn load(&self, external: Option<ExternalWorkspace>, inputs: &Inputs<'_>) -> (ReadSet, Content) {
        match &self.kind {
            Kind::Root(path) => {
                let (read_set, listed) = workspace::list_root(path);
                (read_set, Content::Root(listed))
            }
            Kind::Workspace { id, path, .. } => {
                let (read_set, loading) = workspace::load(id, path, inputs);
                (read_set, Content::Workspace(loading))
            }
            Kind::Externals => {
                let ids = inputs.external.map(External::ids).unwrap_or_default();
                (ReadSet::default(), Content::Externals(ids))
            }
            Kind::External(id) => {
                let (read_set, loading) = workspace::load_external(id, external, inputs);
                (read_set, Content::Workspace(loading))
            }
            Kind::Profiles(set) | Kind::Files(set, _) => {
                let (read_set, contents) = files::load(set);
                (read_set, Content::Files(contents))
            }
        }
    }

    /// Takes over what the newest load that counts has read.
    pub(crate) fn has_read(&mut self, read_set: ReadSet) {
        let before = std::mem::replace(&mut self.read_set, read_set);
        let older = self.before_failures.take();
        self.before_failures = self.read_set.has_failures().then(|| match older {
            Some(older) => before.over(&older),
            None => before,
        });
    }

    /// Whether something of it could not be read, or watched for another reason than a limit.
    pub(crate) fn has_failures(&self) -> bool {
        let unwatched = matches!(self.watch_error, Some(WatchError::Denied | WatchError::Other));
        unwatched || self.read_set.has_failures()
    }

    /// Whether it is on a file system that sends no events.
    pub(crate) fn sends_no_events(&self) -> bool {
        let path = match &self.kind {
            Kind::Root(path) | Kind::Workspace { path, .. } => Some(path.as_path()),
            Kind::Externals | Kind::External(_) => None,
            Kind::Profiles(set) | Kind::Files(set, _) => match set {
                FileSet::Folder { path, .. } => Some(path.as_path()),
                FileSet::Paths(paths) => paths.first().and_then(|path| path.parent()),
            },
        };
        path.is_some_and(is_silent)
    }
}

/// NFS, SMB (two of them), CIFS, 9P, FUSE (and VirtioFS), Ceph, AFS: `f_type` as in `linux/magic.h`.
const SILENT: [u32; 8] = [0x6969, 0x517B, 0xFE53_4D42, 0xFF53_4D42, 0x0102_1997, 0x6573_5546, 0x00C3_6400, 0x5346_414F];

/// Whether the file system sends no events for changes made elsewhere; where the system does not say, it does.
fn is_silent(path: &Path) -> bool {
    // The field's type differs by platform; the magic numbers all fit 32 bits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "only the low 32 bits carry the number")]
    statfs(path).is_ok_and(|fs| SILENT.contains(&(fs.f_type as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock, testing::read_set};

    #[test]
    fn a_failure_is_what_could_not_be_read_or_watched_but_for_limits() {
        for (watch_error, is_failure) in [
            (None, false),
            (Some(WatchError::Denied), true),
            (Some(WatchError::Other), true),
            (Some(WatchError::WatchLimit), false),
            (Some(WatchError::InstanceLimit), false),
            (Some(WatchError::Missing), false),
        ] {
            let mut target = Target::new(Kind::Root("/".into()), clock::now());
            target.watch_error = watch_error;
            assert_eq!(target.has_failures(), is_failure, "{watch_error:?}");
        }
        // What is longer than any name can be cannot be read.
        let mut target = Target::new(Kind::Root("/".into()), clock::now());
        target.read_set = read_set(Path::new(&format!("/{}", "x".repeat(300))), &[]);
        assert!(target.has_failures());
    }
}
