//! The signals that a running service reacts to.

use std::sync::{Arc, OnceLock};

use promptd_source::Source;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::Failure;

/// SIGTERM and SIGINT.
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    pub(super) fn listen() -> Result<Self, Failure> {
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Reads every file again at SIGHUP, which would end the process otherwise.
pub(super) fn rescan_on_hangup(source: Arc<OnceLock<Source>>) -> Result<(), Failure> {
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
