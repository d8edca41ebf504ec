//! What searches wait at while the log is to be cut off: SQLite cuts it only while nobody reads, and where searches follow each
//! other somebody always does.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

/// The longest that a search waits; the log is cut in far less, unless another process reads the store.
const MAX_WAIT: Duration = Duration::from_millis(250);

#[derive(Default)]
pub(super) struct Gate {
    is_closed: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    /// Waits while it is closed, but not for long.
    pub(super) fn pass(&self) {
        let is_closed = self.is_closed.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.opened.wait_timeout_while(is_closed, MAX_WAIT, |is_closed| *is_closed));
    }

    pub(super) fn close(&self) {
        *self.is_closed.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    pub(super) fn open(&self) {
        *self.is_closed.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.opened.notify_all();
    }
}
