//! The signals that a running service reacts to.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use promptd_source::Source;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::Instant,
};

use crate::cli::Failure;

/// Stop signals within this time after one count as the same request: a supervisor that signals the process and its
/// group sends two.
const SAME_REQUEST: Duration = Duration::from_millis(500);

/// SIGTERM and SIGINT.
pub(in crate::cli) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    requests: Requests,
}

impl StopSignals {
    pub(in crate::cli) fn listen() -> Result<Self, Failure> {
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            requests: Requests::default(),
        })
    }

    /// Waits for the next request to stop.
    pub(in crate::cli) async fn next(&mut self) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
            }
            if self.requests.is_new(Instant::now()) {
                return;
            }
        }
    }
}

/// When the last request to stop came.
#[derive(Default)]
struct Requests(Option<Instant>);

impl Requests {
    /// Whether a signal is a request of its own.
    fn is_new(&mut self, now: Instant) -> bool {
        let is_new = self.0.is_none_or(|last| now.duration_since(last) >= SAME_REQUEST);
        if is_new {
            self.0 = Some(now);
        }
        is_new
    }
}

/// Reads every file again at SIGHUP, which would end the process otherwise.
pub(in crate::cli) fn rescan_on_hangup(source: Arc<OnceLock<Source>>) -> Result<(), Failure> {
    let mut hangup = listen(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            tracing::info!("SIGHUP: looking at every file again");
            if let Some(source) = source.get() {
                source.rescan();
            }
        }
    });
    Ok(())
}

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|e| Failure::input(format!("error: cannot wait for signals: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_within_a_moment_count_once() {
        let start = Instant::now();
        let mut requests = Requests::default();
        let is_new = |millis| requests.is_new(start + Duration::from_millis(millis));
        assert_eq!([0, 2, 499, 500, 999, 1_001].map(is_new), [true, false, false, true, false, true]);
    }
}
