//! What searches wait at while the log is to be cut off: SQLite cuts it only while nobody reads, and where searches follow each
//! other somebody always does.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The longest that a search waits; the log is cut in far less.
const MAX_WAIT: Duration = Duration::from_millis(250);

#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    opened: Condvar,
}

#[derive(Default)]
struct State {
    is_closed: bool,
    /// How many have passed and still search.
    searching: usize,
}

/// A search that has passed, until it is dropped.
pub(super) struct Passing<'g>(&'g Gate);

impl Gate {
    /// Waits while it is closed, but not for long.
    pub(super) fn pass(&self) -> Passing<'_> {
        let waited = self.opened.wait_timeout_while(self.state(), MAX_WAIT, |state| state.is_closed);
        waited.unwrap_or_else(PoisonError::into_inner).0.searching += 1;
        Passing(self)
    }

    pub(super) fn close(&self) {
        self.state().is_closed = true;
    }

    pub(super) fn open(&self) {
        self.state().is_closed = false;
        self.opened.notify_all();
    }

    /// Opens it unless somebody still searches: whom the log waits for then is not kept away by it.
    pub(super) fn open_if_idle(&self) {
        if self.state().searching == 0 {
            self.open();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        self.0.state().searching -= 1;
    }
}
