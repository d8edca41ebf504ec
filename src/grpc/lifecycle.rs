//! From starting to closed: what the server is doing, and how it is told to stop.

use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::watch;

/// What the server is doing; it only moves forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It is up, but its workspaces are not loaded: calls are UNAVAILABLE, health is `NOT_SERVING`.
    Starting,
    /// It serves.
    Serving,
    /// It still serves, but health is `NOT_SERVING`, so that balancers send nobody new.
    Leaving,
    /// It takes no new calls, ends its streams and waits for the calls in flight.
    Closing,
}

/// The phase and the way to move it on; shared by the server and who runs it.
#[derive(Debug)]
pub struct Lifecycle {
    /// The phase again, for reading without a lock on every call.
    quick: AtomicU8,
    phase: watch::Sender<Phase>,
}

impl Lifecycle {
    pub(super) fn new() -> Self {
        Self { quick: AtomicU8::new(Phase::Starting as u8), phase: watch::Sender::new(Phase::Starting) }
    }

    /// Opens the door: the workspaces are loaded.
    pub fn ready(&self) {
        self.advance(Phase::Serving);
    }

    /// Begins to stop. The server's `serve` returns when it has.
    pub fn drain(&self) {
        self.advance(Phase::Leaving);
    }

    /// What the server is doing now.
    #[must_use]
    pub fn phase(&self) -> Phase {
        match self.quick.load(Ordering::Acquire) {
            0 => Phase::Starting,
            1 => Phase::Serving,
            2 => Phase::Leaving,
            _ => Phase::Closing,
        }
    }

    /// Waits until the server has come to `phase` or beyond.
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
