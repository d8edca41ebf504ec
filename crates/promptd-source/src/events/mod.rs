//! File events, as hints that something may have changed.
//!
//! Events are never trusted: they can be missing, late, doubled, or name the wrong path. They say where to look, and
//! the sweep finds what they did not say.

mod inotify;

pub(crate) use inotify::watch_folders;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Something may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The entry at a path, or a file's content.
    Changed {
        /// Where.
        path: PathBuf,
        /// How.
        change: Change,
    },
    /// Anything: events were lost.
    Lost,
}

/// What has happened at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A file's attributes changed, or something unknown.
    Metadata,
    /// A file's bytes changed, and the writer may not be done.
    Written,
    /// A writer has closed the file.
    Closed,
    /// An entry was created.
    Created,
    /// An entry was removed or renamed: watches at and below it may be on something else now.
    Removed,
}

/// Watches single folders, not what is below them, and sends events.
pub trait Watcher: Send {
    /// Begins to watch a folder.
    fn watch(&mut self, folder: &Path) -> Result<(), WatchError>;
    /// Stops watching it; a folder that is not watched is not an error.
    fn unwatch(&mut self, folder: &Path);
}

/// Makes a watcher that sends to the sender given.
pub type OpenWatcher = Box<dyn FnOnce(EventSender) -> Result<Box<dyn Watcher>, WatchError> + Send>;

/// Where a watcher sends its events.
#[derive(Clone)]
pub struct EventSender(Arc<dyn Fn(Event) + Send + Sync>);

impl EventSender {
    pub(crate) fn new(send: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(send))
    }

    /// Sends an event; does nothing once the source has stopped.
    pub fn send(&self, event: Event) {
        (self.0)(event);
    }
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
    /// The folder is gone.
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
                "the limit on inotify instances is reached: raise the sysctl fs.inotify.max_user_instances or the limit \
                 on open files; until then edits are found by polling"
            }
            Self::Denied => "a folder cannot be watched: permission denied; edits there are found by polling",
            Self::Missing => "a folder was removed before it could be watched",
            Self::Other => "a folder cannot be watched; edits there are found by polling",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dashboards and alerts name them.
    #[test]
    fn the_labels_of_reasons_are_fixed() {
        let labels = WatchError::ALL.map(WatchError::label);
        assert_eq!(labels, ["watch_limit", "instance_limit", "denied", "missing", "other"]);
    }
}
