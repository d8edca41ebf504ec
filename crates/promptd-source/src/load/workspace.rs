//! Reading a workspace, and a folder of workspaces.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use promptd_core::{
    finding::{Code, Finding, Place},
    id::Id,
    profile::ProfileSet,
    settings::Settings,
    workspace::{self, Entry, FileBytes, Load, ReadError, Snapshot, Tree},
};

use super::{read_set::ReadSet, tree::DiskTree};
use crate::options::Options;

/// What loading a workspace depends on besides its files.
pub(crate) struct Inputs<'a> {
    pub(crate) options: &'a Options,
    pub(crate) settings: &'a Arc<Settings>,
    pub(crate) profiles: &'a Arc<ProfileSet>,
    /// The last good version.
    pub(crate) previous: Option<&'a Snapshot>,
}

/// What became of loading a workspace.
pub(crate) enum Loading {
    Loaded(Box<Snapshot>),
    /// `workspace.yaml` is invalid and was never valid.
    Invalid(Vec<Finding>),
    /// The workspace's folder cannot be opened.
    Unopened(ReadError),
}

pub(crate) fn load(id: &Id, path: &Path, inputs: &Inputs<'_>) -> (ReadSet, Loading) {
    load_as(id, &path.to_string_lossy(), path, inputs)
}

/// The same with the path that prompts show.
fn load_as(id: &Id, root: &str, path: &Path, inputs: &Inputs<'_>) -> (ReadSet, Loading) {
    let tree = match DiskTree::open(path, &inputs.options.allowed_link_targets) {
        Ok(tree) => tree,
        Err((error, read)) => return (read, Loading::Unopened(error)),
    };
    let shared = open_shared(inputs.options);
    let shared_skills: Vec<(&str, &dyn Tree)> =
        shared.iter().map(|(path, tree)| (path.as_str(), tree as &dyn Tree)).collect();
    let load = || {
        workspace::load(&Load {
            id,
            root,
            tree: &tree,
            shared_skills: &shared_skills,
            profiles: Arc::clone(inputs.profiles),
            settings: Arc::clone(inputs.settings),
            previous: inputs.previous,
        })
    };
    // A bug that one workspace brings out must not end reloading for all. Nothing outlives the load but what the trees
    // have recorded, which is complete after each step.
    let result = catch_unwind(AssertUnwindSafe(load)).unwrap_or_else(|_| {
        let message = "loading this workspace failed inside the service";
        Err(vec![Finding::new(Code::LoadFailed, Place::Unplaced, message)])
    });
    let shared = shared.into_iter().map(|(_, tree)| tree.into_read_set());
    let read = ReadSet::join(std::iter::once(tree.into_read_set()).chain(shared));
    (read, result.map_or_else(Loading::Invalid, |snapshot| Loading::Loaded(Box::new(snapshot))))
}

/// Loads a workspace as the reload loop would, but once.
pub(crate) fn load_once(
    id: &Id,
    root: &str,
    path: &Path,
    options: &Options,
    profiles: &Arc<ProfileSet>,
) -> Result<Snapshot, Vec<Finding>> {
    let settings = Arc::new(options.settings.clone());
    match load_as(id, root, path, &Inputs { options, settings: &settings, profiles, previous: None }).1 {
        Loading::Loaded(snapshot) => Ok(*snapshot),
        Loading::Invalid(findings) => Err(findings),
        Loading::Unopened(error) => Err(vec![folder_unreadable(error)]),
    }
}

/// The workspace's own folder cannot be read.
pub(crate) fn folder_unreadable(error: ReadError) -> Finding {
    Finding::new(Code::FileUnreadable, Place::Unplaced, format!("the workspace's folder {error}"))
}

/// Lists a folder of workspaces; they may be links to any place, since the operator made them.
pub(crate) fn list_root(path: &Path) -> (ReadSet, Result<Vec<Entry>, ReadError>) {
    match DiskTree::open(path, &[PathBuf::from("/")]) {
        Ok(tree) => {
            let listed = tree.list("");
            (tree.into_read_set(), listed)
        }
        Err((error, read)) => (read, Err(error)),
    }
}

fn open_shared(options: &Options) -> Vec<(String, SharedTree)> {
    let open = |path: &PathBuf| match DiskTree::open(path, &options.allowed_link_targets) {
        Ok(tree) => SharedTree::Open(tree),
        Err((error, read)) => SharedTree::Unopened(error, read),
    };
    options.shared_skills.iter().map(|path| (path.to_string_lossy().into_owned(), open(path))).collect()
}

/// A shared skill folder, whether it can be opened or not.
enum SharedTree {
    Open(DiskTree),
    Unopened(ReadError, ReadSet),
}

impl SharedTree {
    fn into_read_set(self) -> ReadSet {
        match self {
            Self::Open(tree) => tree.into_read_set(),
            Self::Unopened(_, read) => read,
        }
    }
}

impl Tree for SharedTree {
    fn read(&self, path: &str, limit: usize) -> Result<FileBytes, ReadError> {
        match self {
            Self::Open(tree) => tree.read(path, limit),
            Self::Unopened(error, _) => Err(*error),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>, ReadError> {
        match self {
            Self::Open(tree) => tree.list(path),
            Self::Unopened(error, _) => Err(*error),
        }
    }
}
