//! The log's lines on their way to a reader that may stop reading: what logs a line never waits for it.
//!
//! A thread writes what is queued. While it waits, lines queue up to a bound; further ones are dropped and counted, and
//! the number is reported once the reader reads again.

use std::{
    io::{self, Write},
    mem,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use prometheus_client::metrics::counter::Counter;

/// The most bytes that wait to be written; as many again may be in the hands of the thread.
pub(super) const MAX_QUEUED_BYTES: usize = 1 << 20;

/// Takes whole lines, one a write.
#[derive(Clone)]
pub(super) struct LogQueue(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    max_bytes: usize,
    dropped: Counter,
}

#[derive(Default)]
struct State {
    queued: Vec<u8>,
    /// Whether the thread writes what it has taken.
    is_writing: bool,
    /// How many lines were dropped and not reported yet.
    unreported: u64,
}

impl LogQueue {
    /// Starts the thread that writes to `out`. It calls `report` with the number of lines that were dropped, once `out`
    /// has taken those before them.
    pub(super) fn start(
        out: impl Write + Send + 'static,
        max_bytes: usize,
        report: impl Fn(u64) + Send + 'static,
    ) -> io::Result<Self> {
        let shared =
            Shared { state: Mutex::default(), changed: Condvar::new(), max_bytes, dropped: Counter::default() };
        let shared = Arc::new(shared);
        let queue = Self(Arc::clone(&shared));
        thread::Builder::new().name("log".to_owned()).spawn(move || shared.write_lines(out, report))?;
        Ok(queue)
    }

    /// Waits until everything queued is written, or for as long as the limit.
    pub(super) fn flush(&self, limit: Duration) {
        let is_busy = |state: &mut State| state.is_writing || !state.queued.is_empty();
        let _ = self.0.changed.wait_timeout_while(self.0.lock(), limit, is_busy);
    }

    /// How many lines were dropped.
    pub(super) fn dropped(&self) -> Counter {
        self.0.dropped.clone()
    }
}

impl Write for LogQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock();
        if state.queued.len() + line.len() > self.0.max_bytes {
            self.0.count_dropped(&mut state, 1);
        } else {
            state.queued.extend_from_slice(line);
            self.0.changed.notify_all();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn write_lines(&self, mut out: impl Write, report: impl Fn(u64)) {
        let mut batch = Vec::new();
        loop {
            let dropped = self.next_batch(&mut batch);
            match out.write_all(&batch).and_then(|()| out.flush()) {
                Ok(()) if dropped > 0 => report(dropped),
                Ok(()) => {}
                Err(_) => {
                    let lost = String::from_utf8_lossy(&batch).lines().count() as u64;
                    let mut state = self.lock();
                    state.unreported += dropped;
                    self.count_dropped(&mut state, lost);
                }
            }
            batch.clear();
        }
    }

    /// Waits for lines and takes all of them; returns how many were dropped after them.
    fn next_batch(&self, batch: &mut Vec<u8>) -> u64 {
        let mut state = self.lock();
        state.is_writing = false;
        self.changed.notify_all();
        let waited = self.changed.wait_while(state, |state| state.queued.is_empty());
        state = waited.unwrap_or_else(PoisonError::into_inner);
        mem::swap(&mut state.queued, batch);
        state.is_writing = true;
        mem::take(&mut state.unreported)
    }

    fn count_dropped(&self, state: &mut State, lines: u64) {
        state.unreported += lines;
        self.dropped.inc_by(lines);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, Sender};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    /// Asks before each write how it is to go, and says what it wrote.
    struct Out {
        results: Receiver<io::Result<()>>,
        written: Sender<String>,
    }

    impl Write for Out {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.written.send(String::from_utf8(bytes.to_vec()).unwrap()).unwrap();
            self.results.recv().unwrap().map(|()| bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Rig {
        queue: LogQueue,
        results: Sender<io::Result<()>>,
        written: Receiver<String>,
        reported: Receiver<u64>,
    }

    fn rig(max_bytes: usize) -> Rig {
        let (results, results_out) = mpsc::channel();
        let (written_out, written) = mpsc::channel();
        let (report, reported) = mpsc::channel();
        let out = Out { results: results_out, written: written_out };
        let queue = LogQueue::start(out, max_bytes, move |lines| report.send(lines).unwrap()).unwrap();
        Rig { queue, results, written, reported }
    }

    fn log(queue: &LogQueue, line: &str) {
        queue.clone().write_all(line.as_bytes()).unwrap();
    }

    #[test]
    fn lines_that_do_not_fit_are_dropped_counted_and_reported() {
        let rig = rig(4);
        log(&rig.queue, "a\n");
        // The thread has taken it and cannot write it.
        assert_eq!(rig.written.recv_timeout(LIMIT).unwrap(), "a\n");
        for line in ["b\n", "c\n", "d\n", "e\n", "f\n"] {
            log(&rig.queue, line);
        }
        assert_eq!(rig.queue.dropped().get(), 3);
        assert!(rig.reported.try_recv().is_err());
        rig.results.send(Ok(())).unwrap();
        assert_eq!(rig.written.recv_timeout(LIMIT).unwrap(), "b\nc\n");
        rig.results.send(Ok(())).unwrap();
        assert_eq!(rig.reported.recv_timeout(LIMIT).unwrap(), 3);
        rig.results.send(Ok(())).unwrap();
        log(&rig.queue, "g\n");
        rig.queue.flush(LIMIT);
        assert_eq!(rig.written.try_recv().unwrap(), "g\n");
        assert!(rig.reported.try_recv().is_err());
    }

    #[test]
    fn lines_that_cannot_be_written_are_reported_after_the_next_that_can() {
        let rig = rig(100);
        log(&rig.queue, "a\n");
        assert_eq!(rig.written.recv_timeout(LIMIT).unwrap(), "a\n");
        log(&rig.queue, "b\n");
        log(&rig.queue, "c\n");
        rig.results.send(Err(io::ErrorKind::StorageFull.into())).unwrap();
        assert_eq!(rig.written.recv_timeout(LIMIT).unwrap(), "b\nc\n");
        assert_eq!(rig.queue.dropped().get(), 1);
        assert!(rig.reported.try_recv().is_err());
        rig.results.send(Ok(())).unwrap();
        assert_eq!(rig.reported.recv_timeout(LIMIT).unwrap(), 1);
    }

    #[test]
    fn a_flush_of_what_nobody_reads_ends_at_its_limit() {
        let rig = rig(100);
        log(&rig.queue, "a\n");
        rig.queue.flush(Duration::from_millis(1));
        assert_eq!(rig.written.recv_timeout(LIMIT).unwrap(), "a\n");
    }
}
