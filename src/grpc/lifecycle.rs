//! The server's phases, from starting to closing.

use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::watch;

/// The server's phase; it only moves forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The port is open, but workspaces are still loading: calls are UNAVAILABLE, health is `NOT_SERVING`.
    Starting,
    /// Calls are served.
    Serving,
    /// Calls are still served, but health is `NOT_SERVING`, so that balancers send no new ones.
    Leaving,
    /// New calls are refused, open streams end, and calls in flight are finished.
    Closing,
}

/// The current phase; shared by the server and whoever runs it.
#[derive(Debug)]
pub struct Lifecycle {
    /// A copy of the phase that every call reads without a lock.
    quick: AtomicU8,
    phase: watch::Sender<Phase>,
}

impl Lifecycle {
    pub(super) fn new() -> Self {
        Self { quick: AtomicU8::new(Phase::Starting as u8), phase: watch::Sender::new(Phase::Starting) }
    }

    /// Starts serving: the workspaces are loaded.
    pub fn ready(&self) {
        self.advance(Phase::Serving);
    }

    /// Starts to stop. The server's `serve` returns when it has stopped.
    pub fn drain(&self) {
        self.advance(Phase::Leaving);
    }

    /// The current phase.
    #[must_use]
    pub fn phase(&self) -> Phase {
        match self.quick.load(Ordering::Acquire) {
            0 => Phase::Starting,
            1 => Phase::Serving,
            2 => Phase::Leaving,
            _ => Phase::Closing,
        }
    }

    /// Waits until the server has reached `phase` or a later one.
    pub async fn reached(&self, phase: Phase) {
        let mut phases = self.phase.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        let _ = phases.wait_for(|now| *now >= phase).await;
    }

    pub(super) fn follow(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    pub(super) fn advance(&self, to: Phase) {
        self.phase.send_if_modified(|phase| {
            let forward = to > *phase;
            if forward {
                *phase = to;
                self.quick.store(to as u8, Ordering::Release);
            }
            forward
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_only_moves_forward() {
        let lifecycle = Lifecycle::new();
        lifecycle.drain();
        lifecycle.ready();
        assert_eq!(lifecycle.phase(), Phase::Leaving);
        lifecycle.reached(Phase::Serving).await;
        assert_eq!(*lifecycle.follow().borrow(), Phase::Leaving);
    }
}
