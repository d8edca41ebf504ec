//! What is followed, and reading it from the disk.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::watch;

use crate::{
    load::{
        files::{Contents, FileSet, read_files},
        mounts,
        read_set::Trace,
        tree::RealTree,
    },
    options::Options,
    status::Status,
    store::{State, Store},
};
use promptd_core::{
    finding::{Code, Finding, Place},
    id::Id,
    profile::ProfileSet,
    settings::Settings,
    workspace::{self, Entry, FileBytes, Load, ReadError, Snapshot, Tree},
};

/// Something followed.
pub(crate) struct Item {
    pub(crate) what: What,
    /// Of the newest load that counted.
    pub(crate) trace: Trace,
}

pub(crate) enum What {
    /// A folder of workspaces.
    Root(PathBuf),
    /// A workspace; `listed`: it is there since a root lists it, and goes when that no longer does.
    Workspace { id: Id, path: PathBuf, listed: bool },
    /// Other files.
    Files(FileSet, Sink),
}

/// Who gets the files' contents.
pub(crate) enum Sink {
    Profiles,
    Receivers(watch::Sender<Arc<Contents>>),
}

/// What a load has read, and the trace of reading it.
pub(crate) struct Reading {
    pub(crate) trace: Trace,
    pub(crate) payload: Payload,
}

pub(crate) enum Payload {
    Root(Result<Vec<Entry>, ReadError>),
    Workspace(Result<Box<Snapshot>, Vec<Finding>>),
    /// The workspace's folder cannot be opened.
    Gone(ReadError),
    Files(Contents),
}

/// What reading depends on.
pub(crate) struct Sources<'a> {
    pub(crate) options: &'a Options,
    pub(crate) settings: &'a Arc<Settings>,
    pub(crate) profiles: &'a Arc<ProfileSet>,
    pub(crate) store: &'a Store,
    pub(crate) status: &'a Status,
}

impl Item {
    pub(crate) fn new(what: What) -> Self {
        Self { what, trace: Trace::default() }
    }

    /// The id, if it is a workspace.
    pub(crate) fn workspace_id(&self) -> Option<&Id> {
        match &self.what {
            What::Workspace { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Whether it lies on a file system that sends no events.
    pub(crate) fn on_silent_file_system(&self) -> bool {
        let path = match &self.what {
            What::Root(path) | What::Workspace { path, .. } | What::Files(FileSet::Folder { path, .. }, _) => {
                Some(path.as_path())
            }
            What::Files(FileSet::Paths(paths), _) => paths.first().and_then(|path| path.parent()),
        };
        path.is_some_and(mounts::is_silent)
    }

    /// Reads it.
    pub(crate) fn read(&self, sources: &Sources<'_>) -> Reading {
        sources.status.loaded();
        match &self.what {
            What::Root(path) => read_root(path),
            What::Workspace { id, path, .. } => read_workspace(id, path, sources),
            What::Files(set, _) => {
                let (trace, contents) = read_files(set);
                Reading { trace, payload: Payload::Files(contents) }
            }
        }
    }
}

fn read_root(path: &Path) -> Reading {
    match RealTree::open(path, &[PathBuf::from("/")]) {
        Ok(tree) => {
            let listed = tree.list("");
            Reading { trace: tree.into_trace(), payload: Payload::Root(listed) }
        }
        Err((error, trace)) => Reading { trace, payload: Payload::Root(Err(error)) },
    }
}

fn read_workspace(id: &Id, path: &Path, sources: &Sources<'_>) -> Reading {
    let tree = match RealTree::open(path, &sources.options.allowed_link_targets) {
        Ok(tree) => tree,
        Err((error, trace)) => return Reading { trace, payload: Payload::Gone(error) },
    };
    let current = sources.store.get(id.as_str());
    let previous = match current.as_deref() {
        Some(State::Ready(loaded)) => Some(&*loaded.snapshot),
        _ => None,
    };
    let shared = open_shared(sources.options);
    let shared_skills: Vec<(&str, &dyn Tree)> =
        shared.iter().map(|(path, tree)| (path.as_str(), tree as &dyn Tree)).collect();
    let load = || {
        workspace::load(&Load {
            id,
            root: &path.to_string_lossy(),
            tree: &tree,
            shared_skills: &shared_skills,
            profiles: Arc::clone(sources.profiles),
            settings: Arc::clone(sources.settings),
            previous,
        })
    };
    // A fault of ours that one workspace brings out must not end reloading for all. Nothing outlives the load but
    // what the trees have recorded, which is complete after each step.
    let result = catch_unwind(AssertUnwindSafe(load)).unwrap_or_else(|_| {
        let message = "loading this workspace failed inside the service";
        Err(vec![Finding::new(Code::LoadFailed, Place::Unplaced, message)])
    });
    let traces = std::iter::once(tree.into_trace()).chain(shared.into_iter().map(|(_, tree)| tree.into_trace()));
    Reading { trace: Trace::join(traces), payload: Payload::Workspace(result.map(Box::new)) }
}

fn open_shared(options: &Options) -> Vec<(String, SharedTree)> {
    let open = |path: &PathBuf| match RealTree::open(path, &options.allowed_link_targets) {
        Ok(tree) => SharedTree::Open(tree),
        Err((error, trace)) => SharedTree::Missing(error, trace),
    };
    options.shared_skills.iter().map(|path| (path.to_string_lossy().into_owned(), open(path))).collect()
}

/// Loads a workspace as the loop would, but once.
pub(crate) fn load_once(
    id: &Id,
    path: &Path,
    options: &Options,
    profiles: &Arc<ProfileSet>,
) -> Result<Snapshot, Vec<Finding>> {
    let settings = Arc::new(options.settings.clone());
    let (store, status) = (Store::default(), Status::default());
    let sources = Sources { options, settings: &settings, profiles, store: &store, status: &status };
    match read_workspace(id, path, &sources).payload {
        Payload::Workspace(result) => result.map(|snapshot| *snapshot),
        Payload::Gone(error) => Err(vec![folder_unreadable(error)]),
        Payload::Root(_) | Payload::Files(_) => Err(Vec::new()),
    }
}

/// The workspace's own folder cannot be read.
pub(crate) fn folder_unreadable(error: ReadError) -> Finding {
    Finding::new(Code::FileUnreadable, Place::Unplaced, format!("the workspace's folder {error}"))
}

/// A shared skill folder, there or not.
enum SharedTree {
    Open(RealTree),
    Missing(ReadError, Trace),
}

impl SharedTree {
    fn into_trace(self) -> Trace {
        match self {
            Self::Open(tree) => tree.into_trace(),
            Self::Missing(_, trace) => trace,
        }
    }
}

impl Tree for SharedTree {
    fn read(&self, path: &str, limit: usize) -> Result<FileBytes, ReadError> {
        match self {
            Self::Open(tree) => tree.read(path, limit),
            Self::Missing(error, _) => Err(*error),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>, ReadError> {
        match self {
            Self::Open(tree) => tree.list(path),
            Self::Missing(error, _) => Err(*error),
        }
    }
}
