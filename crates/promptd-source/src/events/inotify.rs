//! The system's own events, by the `notify` crate.

use std::{io, path::Path};

use notify::{
    Config, ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, AccessMode, ModifyKind},
};
use rustix::io::Errno;

use super::{Change, Event, EventSender, WatchError, Watcher};

/// Opens the system's watcher.
pub(crate) fn watch_folders(events: EventSender) -> Result<Box<dyn Watcher>, WatchError> {
    let handler = move |event: notify::Result<notify::Event>| match event {
        Ok(event) if event.need_rescan() => events.send(Event::Lost),
        Ok(event) => {
            if let Some(change) = change(event.kind) {
                event.paths.into_iter().for_each(|path| events.send(Event::Changed { path, change }));
            }
        }
        Err(_) => events.send(Event::Lost),
    };
    let watcher = RecommendedWatcher::new(handler, Config::default()).map_err(|error| reason(&error))?;
    Ok(Box::new(Inotify(watcher)))
}

struct Inotify(RecommendedWatcher);

impl Watcher for Inotify {
    fn watch(&mut self, folder: &Path) -> Result<(), WatchError> {
        self.0.watch(folder, RecursiveMode::NonRecursive).map_err(|error| reason(&error))
    }

    fn unwatch(&mut self, folder: &Path) {
        let _ = self.0.unwatch(folder);
    }
}

/// Absent for reads: a reload that counted its own would wake itself.
fn change(kind: EventKind) -> Option<Change> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Change::Closed),
        EventKind::Access(_) => None,
        EventKind::Create(_) => Some(Change::Created),
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => Some(Change::Removed),
        EventKind::Modify(ModifyKind::Data(_)) => Some(Change::Written),
        EventKind::Modify(_) | EventKind::Any | EventKind::Other => Some(Change::Metadata),
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
            // These have no kind of their own.
            _ if matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE)) => WatchError::InstanceLimit,
            _ => WatchError::Other,
        },
        _ => WatchError::Other,
    }
}

#[cfg(test)]
mod tests {
    use notify::{
        Error,
        event::{CreateKind, DataChange, MetadataKind, RemoveKind, RenameMode},
    };

    use super::*;

    #[test]
    fn each_failure_to_watch_has_its_reason() {
        let io = |kind: io::ErrorKind| Error::io(io::Error::from(kind));
        let errno = |errno: Errno| Error::io(io::Error::from_raw_os_error(errno.raw_os_error()));
        for (error, expected) in [
            (Error::new(ErrorKind::MaxFilesWatch), WatchError::WatchLimit),
            (io(io::ErrorKind::StorageFull), WatchError::WatchLimit),
            (errno(Errno::MFILE), WatchError::InstanceLimit),
            (errno(Errno::NFILE), WatchError::InstanceLimit),
            (io(io::ErrorKind::PermissionDenied), WatchError::Denied),
            (io(io::ErrorKind::NotFound), WatchError::Missing),
            (io(io::ErrorKind::NotADirectory), WatchError::Missing),
            (Error::path_not_found(), WatchError::Missing),
            (Error::watch_not_found(), WatchError::Missing),
            (errno(Errno::IO), WatchError::Other),
            (Error::generic("x"), WatchError::Other),
        ] {
            assert_eq!(reason(&error), expected, "{error:?}");
        }
    }

    #[test]
    fn each_kind_of_event_is_a_change_but_for_reads() {
        for (kind, expected) in [
            (EventKind::Access(AccessKind::Close(AccessMode::Write)), Some(Change::Closed)),
            (EventKind::Access(AccessKind::Close(AccessMode::Read)), None),
            (EventKind::Access(AccessKind::Open(AccessMode::Any)), None),
            (EventKind::Create(CreateKind::File), Some(Change::Created)),
            (EventKind::Remove(RemoveKind::File), Some(Change::Removed)),
            (EventKind::Modify(ModifyKind::Name(RenameMode::To)), Some(Change::Removed)),
            (EventKind::Modify(ModifyKind::Data(DataChange::Any)), Some(Change::Written)),
            (EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)), Some(Change::Metadata)),
            (EventKind::Any, Some(Change::Metadata)),
            (EventKind::Other, Some(Change::Metadata)),
        ] {
            assert_eq!(change(kind), expected, "{kind:?}");
        }
    }
}
