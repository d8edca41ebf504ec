//! Events from the file system, as hints that something may have changed.
//!
//! Events are never trusted: they can be missing, late, double, or name the wrong thing. They say where to look, and
//! the sweep finds what they did not say.

use std::{
    io,
    path::{Path, PathBuf},
    sync::mpsc::Sender,
};

use notify::{
    Config, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode, ModifyKind},
};

/// Watches single folders, not what is below them, and sends hints.
pub trait Feed: Send {
    /// Begins to watch a folder.
    fn watch(&mut self, folder: &Path) -> Result<(), WatchError>;
    /// Ends it; a folder that is not watched is no error.
    fn unwatch(&mut self, folder: &Path);
}

/// Makes a feed that sends to the sender given.
pub type OpenFeed = Box<dyn FnOnce(HintSender) -> Result<Box<dyn Feed>, WatchError> + Send>;

/// Where a feed sends its hints.
#[derive(Clone)]
pub struct HintSender(pub(super) Sender<crate::reload::Message>);

impl HintSender {
    /// Sends a hint; once the source has stopped, it goes nowhere.
    pub fn send(&self, hint: Hint) {
        let _ = self.0.send(crate::reload::Message::Hint(hint));
    }
}

/// Something may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// What stands at a path, or a file's content.
    Changed {
        /// Where.
        path: PathBuf,
        /// How much.
        change: Change,
    },
    /// Anything: the feed has lost track.
    Lost,
}

/// How much has changed at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A file's attributes, or something that cannot be told.
    Content,
    /// A file's bytes, by a writer that may not be done.
    Written,
    /// A writer has closed the file.
    Closed,
    /// An entry appeared.
    Appeared,
    /// An entry went, or was renamed: watches at and below it may look at something else now.
    Went,
}

/// Why a folder cannot be watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WatchError {
    /// `fs.inotify.max_user_watches` is reached.
    WatchLimit,
    /// `fs.inotify.max_user_instances`, or the process's limit on open files, is reached.
    InstanceLimit,
    /// No permission.
    Denied,
    /// It is gone.
    Missing,
    /// Anything else.
    Other,
}

impl WatchError {
    /// Every reason, in the order of its labels.
    pub const ALL: [Self; 5] = [Self::WatchLimit, Self::InstanceLimit, Self::Denied, Self::Missing, Self::Other];

    /// The reason as a metric's label.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::WatchLimit => "watch_limit",
            Self::InstanceLimit => "instance_limit",
            Self::Denied => "denied",
            Self::Missing => "missing",
            Self::Other => "other",
        }
    }

    /// What an operator can do about it.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::WatchLimit => {
                "the limit on inotify watches is reached: raise the sysctl fs.inotify.max_user_watches; until then edits \
                 are found by polling"
            }
            Self::InstanceLimit => {
                "no inotify instance is to be had: raise the sysctl fs.inotify.max_user_instances or the limit on open \
                 files; until then edits are found by polling"
            }
            Self::Denied => "the service may not watch a folder: permission denied; edits there are found by polling",
            Self::Missing => "a folder went while it was about to be watched",
            Self::Other => "a folder cannot be watched; edits there are found by polling",
        }
    }
}

/// The system's own events.
pub fn system_feed(hints: HintSender) -> Result<Box<dyn Feed>, WatchError> {
    let handler = move |event: notify::Result<Event>| match event {
        Ok(event) if event.need_rescan() => hints.send(Hint::Lost),
        Ok(event) => {
            if let Some(change) = change(event.kind) {
                event.paths.into_iter().for_each(|path| hints.send(Hint::Changed { path, change }));
            }
        }
        Err(_) => hints.send(Hint::Lost),
    };
    let watcher = RecommendedWatcher::new(handler, Config::default()).map_err(|error| reason(&error))?;
    Ok(Box::new(System(watcher)))
}

struct System(RecommendedWatcher);

impl Feed for System {
    fn watch(&mut self, folder: &Path) -> Result<(), WatchError> {
        self.0.watch(folder, RecursiveMode::NonRecursive).map_err(|error| reason(&error))
    }

    fn unwatch(&mut self, folder: &Path) {
        let _ = self.0.unwatch(folder);
    }
}

/// Reads are no change, or a reload would wake itself.
fn change(kind: EventKind) -> Option<Change> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Change::Closed),
        EventKind::Access(_) => None,
        EventKind::Create(_) => Some(Change::Appeared),
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => Some(Change::Went),
        EventKind::Modify(ModifyKind::Data(_)) => Some(Change::Written),
        EventKind::Modify(_) | EventKind::Any | EventKind::Other => Some(Change::Content),
    }
}

fn reason(error: &notify::Error) -> WatchError {
    match &error.kind {
        ErrorKind::MaxFilesWatch => WatchError::WatchLimit,
        ErrorKind::PathNotFound | ErrorKind::WatchNotFound => WatchError::Missing,
        ErrorKind::Io(error) => match error.kind() {
            io::ErrorKind::PermissionDenied => WatchError::Denied,
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => WatchError::Missing,
            io::ErrorKind::StorageFull => WatchError::WatchLimit,
            // EMFILE and ENFILE have no kind of their own on stable.
            _ if matches!(error.raw_os_error(), Some(23 | 24)) => WatchError::InstanceLimit,
            _ => WatchError::Other,
        },
        _ => WatchError::Other,
    }
}
