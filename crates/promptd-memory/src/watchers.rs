//! Who is told that a session has changed.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use tokio::sync::watch;

use crate::SessionKey;

/// A sender for each session that is watched, and one for all.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    sessions: Mutex<HashMap<SessionKey, watch::Sender<()>>>,
    all: watch::Sender<()>,
}

impl Watchers {
    pub(crate) fn watch(&self, session: &SessionKey) -> watch::Receiver<()> {
        let mut senders = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        // What nobody watches any more goes when the table would grow.
        if senders.len() == senders.capacity() {
            senders.retain(|_, sender| !sender.is_closed());
        }
        senders.entry(session.clone()).or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    pub(crate) fn watch_all(&self) -> watch::Receiver<()> {
        self.all.subscribe()
    }

    pub(crate) fn changed(&self, session: &SessionKey) {
        self.all.send_replace(());
        let mut senders = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if senders.get(session).is_some_and(|sender| sender.send(()).is_err()) {
            senders.remove(session);
        }
    }
}

#[cfg(test)]
mod tests {
    use promptd_core::id::Id;

    use super::*;

    #[test]
    fn watchers_hear_of_their_session_and_leave_nothing_behind() {
        let key =
            |session: &str| SessionKey { workspace: Id::parse("w").unwrap(), session: Id::parse(session).unwrap() };
        let watchers = Watchers::default();
        let (a, b) = (watchers.watch(&key("a")), watchers.watch(&key("b")));
        watchers.changed(&key("a"));
        assert!(a.has_changed().unwrap() && !b.has_changed().unwrap());
        drop((a, b));
        watchers.changed(&key("a"));
        for number in 0..1_000 {
            watchers.watch(&key(&number.to_string()));
        }
        assert!(watchers.sessions.lock().unwrap().len() < 100);
    }
}
