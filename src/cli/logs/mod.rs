//! The log: text or JSON on standard error, at a level that can change while the service runs.

mod queue;

use std::{
    io::{self, IsTerminal as _, Write},
    panic::{self, PanicHookInfo},
    time::Duration,
};

use prometheus_client::metrics::counter::Counter;
use promptd::config::{Log, LogFormat};
use tracing_subscriber::{
    Registry,
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt as _,
    reload,
    util::SubscriberInitExt as _,
};

use self::queue::{LogQueue, MAX_QUEUED_BYTES};
use super::is_styled;

/// How long the end of the process waits for the last lines to be read.
const FLUSH_LIMIT: Duration = Duration::from_millis(500);

#[derive(Clone)]
pub(super) struct Logs {
    level: reload::Handle<Targets, Registry>,
    queue: LogQueue,
}

/// Starts the log.
pub(super) fn start(log: &Log) -> io::Result<Logs> {
    let queue = LogQueue::start(io::stderr(), MAX_QUEUED_BYTES, log_dropped)?;
    let writer = queue.clone();
    let (level, handle) = reload::Layer::new(without_libraries(&log.level));
    let registry = tracing_subscriber::registry().with(level);
    // Only tests start it a second time in one process; the first log goes on.
    let _ = match log.format {
        LogFormat::Text => {
            let colour = is_styled(&io::stderr());
            registry.with(fmt::layer().with_writer(move || OneLine(writer.clone())).with_ansi(colour)).try_init()
        }
        LogFormat::Json => {
            registry.with(fmt::layer().json().flatten_event(true).with_writer(move || writer.clone())).try_init()
        }
    };
    panic::set_hook(Box::new(log_panic));
    Ok(Logs { level: handle, queue })
}

fn log_dropped(lines: u64) {
    tracing::warn!(lines, "log lines were dropped: standard error was not read, or could not be written");
}

/// Logs the place of a panic without its message, which can quote the text of a prompt.
fn log_panic(panic: &PanicHookInfo<'_>) {
    tracing::error!(place = panic.location().map(ToString::to_string), "panicked");
}

/// The level, except for what libraries say that is of no use here. The one that watches files warns of what is not a fault, such
/// as a folder that was removed before its watch; faults of watching have lines of `promptd::source`. The one that speaks MCP
/// logs each connection with all that a client says of itself.
fn without_libraries(level: &Targets) -> Targets {
    const LIBRARIES: [&str; 2] = ["notify", "rmcp"];
    let unnamed = LIBRARIES.iter().filter(|library| !level.iter().any(|(target, _)| target.starts_with(**library)));
    unnamed.fold(level.clone(), |level, library| level.with_target(*library, LevelFilter::ERROR))
}

/// Keeps an event on its line: a line break in the name of a folder or a key must not forge another event. Each event
/// comes whole, in one write.
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

/// See [`Logs::flush_at_end`].
pub(super) struct FlushAtEnd(LogQueue);

impl Drop for FlushAtEnd {
    fn drop(&mut self) {
        self.0.flush(FLUSH_LIMIT);
    }
}

impl Logs {
    pub(super) fn set_level(&self, level: &Targets) {
        let _ = self.level.modify(|current| *current = without_libraries(level));
    }

    /// How many lines were dropped.
    pub(super) fn dropped(&self) -> Counter {
        self.queue.dropped()
    }

    /// Writes a message that is not an event, such as the reason why the process ends.
    pub(super) fn print(&self, message: &str) {
        // The queue takes or drops it.
        let _ = self.queue.clone().write_all(format!("{message}\n").as_bytes());
    }

    /// Shows a message on a terminal, until the next one or a line of the log takes its place.
    pub(super) fn show(&self, message: &str) {
        const TO_LINE_END: &str = "\x1b[K";
        if io::stderr().is_terminal() {
            let _ = self.queue.clone().write_all(format!("{message}{TO_LINE_END}\r").as_bytes());
        }
    }

    /// Flushes the log when it is dropped, also by a panic.
    pub(super) fn flush_at_end(&self) -> FlushAtEnd {
        FlushAtEnd(self.queue.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
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
        let buffer = Buffer::default();
        let writer = buffer.clone();
        let subscriber = tracing_subscriber::registry().with(fmt::layer().with_writer(move || writer.clone()));
        let before = panic::take_hook();
        panic::set_hook(Box::new(log_panic));
        let result =
            tracing::subscriber::with_default(subscriber, || panic::catch_unwind(|| panic!("a turn's SECRET")));
        panic::set_hook(before);
        let log = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
        assert!(result.is_err() && log.contains("ERROR") && log.contains("src/cli/logs/mod.rs:"), "{log}");
        assert!(!log.contains("SECRET") && log.lines().count() == 1, "{log}");
    }
}
