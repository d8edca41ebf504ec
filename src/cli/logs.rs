//! Logs on standard error: text or JSON, at a level that can change while the service runs.

use std::{
    io::{self, IsTerminal as _, Write},
    panic::{self, PanicHookInfo},
};

use promptd::config::{Log, LogFormat};
use tracing_subscriber::{
    Registry,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt as _,
    reload,
    util::SubscriberInitExt as _,
};

/// The way to change the level.
pub(super) struct Logs(reload::Handle<Targets, Registry>);

/// Begins to log.
pub(super) fn start(log: &Log) -> Logs {
    let (level, handle) = reload::Layer::new(heard(&log.level));
    let registry = tracing_subscriber::registry().with(level);
    // A second start in one process is a mistake that only tests can make; the first one's logs go on.
    let _ = match log.format {
        LogFormat::Text => {
            let colour = io::stderr().is_terminal();
            registry.with(fmt::layer().with_writer(|| OneLine(io::stderr())).with_ansi(colour)).try_init()
        }
        LogFormat::Json => registry.with(fmt::layer().json().flatten_event(true).with_writer(io::stderr)).try_init(),
    };
    panic::set_hook(Box::new(told));
    Logs(handle)
}

/// A panic as a line of the log: its place alone, since its message can quote the text that it failed on.
fn told(panic: &PanicHookInfo<'_>) {
    tracing::error!(place = panic.location().map(ToString::to_string), "panicked");
}

/// What is heard at a level: the library that watches files has warnings for what is no fault, such as a folder that
/// went before its watch did. What does matter of it has lines of `promptd::source`.
fn heard(level: &Targets) -> Targets {
    const WATCHER: &str = "notify";
    let is_named = level.iter().any(|(target, _)| target.starts_with(WATCHER));
    if is_named { level.clone() } else { level.clone().with_target(WATCHER, LevelFilter::ERROR) }
}

/// Keeps an event on its line: a line break in the name of a folder or a key must not forge another event. It gets
/// each event whole, in one write.
struct OneLine<W>(W);

impl<W: Write> Write for OneLine<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let line = event.strip_suffix(b"\n").unwrap_or(event);
        let mut written = Vec::with_capacity(event.len());
        for byte in line {
            match byte {
                b'\n' => written.extend(b"\\n"),
                b'\r' => written.extend(b"\\r"),
                other => written.push(*other),
            }
        }
        written.extend(&event[line.len()..]);
        self.0.write_all(&written).map(|()| event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Logs {
    /// Changes the level at once.
    pub(super) fn set_level(&self, level: &Targets) {
        let _ = self.0.modify(|current| *current = heard(level));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, event: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(event);
            Ok(event.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_panic_is_a_line_with_its_place_and_not_with_the_text_that_it_quotes() {
        let kept = Kept::default();
        let writer = kept.clone();
        let subscriber = tracing_subscriber::registry().with(fmt::layer().with_writer(move || writer.clone()));
        let before = panic::take_hook();
        panic::set_hook(Box::new(told));
        let result =
            tracing::subscriber::with_default(subscriber, || panic::catch_unwind(|| panic!("a turn's SECRET")));
        panic::set_hook(before);
        let log = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        assert!(result.is_err() && log.contains("ERROR") && log.contains("src/cli/logs.rs:"), "{log}");
        assert!(!log.contains("SECRET") && log.lines().count() == 1, "{log}");
    }
}
