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
    let handler = move |event| received(event).into_iter().for_each(|event| events.send(event));
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

fn received(event: notify::Result<notify::Event>) -> Vec<Event> {
    match event {
        Ok(event) if !event.need_rescan() => {
            let changed = |change| event.paths.into_iter().map(move |path| Event::Changed { path, change }).collect();
            change(event.kind).map(changed).unwrap_or_default()
        }
        _ => vec![Event::Lost],
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
    use std::{fs, sync::mpsc, time::Duration};

    use notify::{
        Error,
        event::{CreateKind, DataChange, Flag, MetadataKind, RemoveKind, RenameMode},
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

    #[test]
    fn an_overflow_and_an_error_say_that_events_were_lost() {
        let written = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let changed = |path: &str| Event::Changed { path: path.into(), change: Change::Written };
        let on = |kind, paths: &[&str]| {
            paths.iter().fold(notify::Event::new(kind), |event, path| event.add_path(path.into()))
        };
        for (event, expected) in [
            (Ok(on(written, &["/a", "/b"])), vec![changed("/a"), changed("/b")]),
            (Ok(on(EventKind::Access(AccessKind::Read), &["/a"])), vec![]),
            (Ok(on(EventKind::Other, &[]).set_flag(Flag::Rescan)), vec![Event::Lost]),
            (Err(Error::generic("x")), vec![Event::Lost]),
        ] {
            let what = format!("{event:?}");
            assert_eq!(received(event), expected, "{what}");
        }
    }

    #[test]
    fn events_come_from_folders_while_they_are_watched() {
        let home = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| home.path().join(name));
        for folder in [&one, &other] {
            fs::create_dir(folder).unwrap();
        }
        let (sender, events) = mpsc::channel();
        let mut watcher = watch_folders(EventSender::new(move |event| _ = sender.send(event))).unwrap();
        assert_eq!(watcher.watch(&home.path().join("absent")), Err(WatchError::Missing));
        for folder in [&one, &other] {
            watcher.watch(folder).unwrap();
        }
        let saved = |folder: &Path| {
            let file = folder.join("FILE");
            fs::write(&file, "text").unwrap();
            // Events come in order: those of the other folder would be before this.
            let seen = std::iter::from_fn(|| events.recv_timeout(Duration::from_secs(20)).ok());
            let seen = seen.filter_map(|event| match event {
                Event::Changed { path, change } => Some((path, change)),
                Event::Lost => None,
            });
            let mut paths = Vec::new();
            for (path, change) in seen {
                let is_last = path == file && change == Change::Closed;
                paths.push(path);
                if is_last {
                    return paths;
                }
            }
            panic!("not seen: {paths:?}");
        };
        saved(&one);
        watcher.unwatch(&one);
        fs::write(one.join("FILE"), "unseen").unwrap();
        assert!(saved(&other).iter().all(|path| path.starts_with(&other)));
    }
}
