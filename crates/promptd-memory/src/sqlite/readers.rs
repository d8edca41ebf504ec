//! The threads that read: a few, so that a store that is slow holds no other work up.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::Connection;

use super::{connection, folder::Folder, gate::Gate};
use crate::{Answer, Status, StoreError, clock};

/// The most reads that wait.
const MAX_WAITING: usize = 1_024;
/// The longest that one may take.
const MAX_TIME: Duration = Duration::from_secs(5);
/// How many steps of SQLite are between two looks at the clock.
const STEPS: i32 = 10_000;

type Read = Box<dyn FnOnce(&mut Connection) + Send>;

pub(super) struct Readers {
    /// `None` while it is dropped.
    queue: Option<SyncSender<Read>>,
    threads: Vec<JoinHandle<()>>,
    gate: Option<Arc<Gate>>,
    status: Arc<Status>,
}

impl Readers {
    /// Starts so many. `gate`: what they wait at before each read, if anything.
    pub(super) fn start(
        name: &str,
        count: usize,
        folder: &Folder,
        gate: Option<Arc<Gate>>,
        status: Arc<Status>,
    ) -> Result<Self, StoreError> {
        let (queue, reads) = sync_channel(MAX_WAITING);
        let reads = Arc::new(Mutex::new(reads));
        let mut readers = Self { queue: Some(queue), threads: Vec::new(), gate, status };
        for _ in 0..count {
            let reads = Arc::clone(&reads);
            let mut connection = connection::reading(&folder.database())?;
            let thread = thread::Builder::new().name(name.into()).spawn(move || run(&reads, &mut connection));
            readers.threads.push(thread.map_err(|error| StoreError::Failed(error.to_string()))?);
        }
        Ok(readers)
    }

    pub(super) fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Answer<T> {
        let (reply, answer) = Answer::new();
        let (gate, status) = (self.gate.clone(), Arc::clone(&self.status));
        let read: Read = Box::new(move |connection| {
            // Nobody waits any more.
            if reply.is_closed() {
                return;
            }
            let _passing = gate.as_ref().map(|gate| gate.pass());
            let deadline = clock::now() + MAX_TIME;
            let is_late = connection.progress_handler(STEPS, Some(move || clock::now() > deadline));
            let result = is_late.map_err(StoreError::from).and_then(|()| snapshot(connection, read));
            if let Err(error) = &result {
                status.note(error);
            }
            let _ = reply.send(result);
        });
        match self.queue.as_ref().map(|queue| queue.try_send(read)) {
            Some(Ok(())) => answer,
            Some(Err(_)) | None => Answer::of(Err(StoreError::Busy)),
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.queue = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn run(reads: &Mutex<Receiver<Read>>, connection: &mut Connection) {
    loop {
        let next = reads.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(read) = next else { return };
        read(connection);
    }
}

/// Everything that a read sees is of one moment.
fn snapshot<T>(
    connection: &Connection,
    read: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let transaction = connection.unchecked_transaction()?;
    let result = read(&transaction);
    // Its end changes nothing.
    drop(transaction);
    result
}
