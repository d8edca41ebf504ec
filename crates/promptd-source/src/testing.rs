//! What this crate's tests share.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use promptd_core::workspace::Tree;
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    events::{WatchError, Watcher},
    load::{read_set::ReadSet, tree::DiskTree},
};

/// The lines that are logged meanwhile, each with its level and message first.
pub(crate) fn logged(work: impl FnOnce()) -> Vec<String> {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).with_max_level(tracing::Level::DEBUG);
    let subscriber = subscriber.without_time().with_ansi(false).with_target(false).finish();
    tracing::subscriber::with_default(subscriber, work);
    let bytes = log.0.lock().unwrap();
    String::from_utf8_lossy(&bytes).lines().map(|line| line.trim().to_owned()).collect()
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// A watcher that sends nothing and can be looked at.
#[derive(Clone, Default)]
pub(crate) struct Silent {
    /// The folders watched now, one entry a watch.
    pub(crate) watched: Arc<Mutex<Vec<PathBuf>>>,
    /// Why nothing can be watched.
    pub(crate) refusal: Arc<Mutex<Option<WatchError>>>,
}

impl Watcher for Silent {
    fn watch(&mut self, folder: &Path) -> Result<(), WatchError> {
        (*self.refusal.lock().unwrap()).map_or(Ok(()), Err)?;
        self.watched.lock().unwrap().push(folder.to_path_buf());
        Ok(())
    }

    fn unwatch(&mut self, folder: &Path) {
        let mut watched = self.watched.lock().unwrap();
        let at = watched.iter().position(|watched| watched == folder).expect("not watched");
        watched.remove(at);
    }
}

/// What a load has looked at that reads these files of a folder, and lists it where one of them is `""`.
pub(crate) fn read_set(folder: &Path, files: &[&str]) -> ReadSet {
    let tree = match DiskTree::open(folder, &[]) {
        Ok(tree) => tree,
        Err((_, read)) => return read,
    };
    for file in files {
        if file.is_empty() {
            tree.list("").unwrap();
        } else {
            let _ = tree.read(file, 1 << 10);
        }
    }
    tree.into_read_set()
}
