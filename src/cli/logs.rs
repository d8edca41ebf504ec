//! Logs on standard error: text or JSON, at a level that can change while the service runs.

use std::io::{self, IsTerminal as _};

use promptd::config::{Log, LogFormat};
use tracing_subscriber::{
    Registry, filter::Targets, fmt, layer::SubscriberExt as _, reload, util::SubscriberInitExt as _,
};

/// The way to change the level.
pub(super) struct Logs(reload::Handle<Targets, Registry>);

/// Begins to log.
pub(super) fn start(log: &Log) -> Logs {
    let (level, handle) = reload::Layer::new(log.level.clone());
    let registry = tracing_subscriber::registry().with(level);
    // A second start in one process is a mistake that only tests can make; the first one's logs go on.
    let _ = match log.format {
        LogFormat::Text => {
            let colour = io::stderr().is_terminal();
            registry.with(fmt::layer().with_writer(io::stderr).with_ansi(colour)).try_init()
        }
        LogFormat::Json => registry.with(fmt::layer().json().flatten_event(true).with_writer(io::stderr)).try_init(),
    };
    Logs(handle)
}

impl Logs {
    /// Changes the level at once.
    pub(super) fn set_level(&self, level: &Targets) {
        let _ = self.0.modify(|current| *current = level.clone());
    }
}
