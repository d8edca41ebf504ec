//! Folders, and running the binary.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

use tempfile::TempDir;

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The binary, with none of its environment variables set.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_promptd"));
    command.args(arguments).current_dir(folder);
    for name in ["PROMPTD_CONFIG", "PROMPTD_LISTEN", "PROMPTD_LOG"] {
        command.env_remove(name);
    }
    command
}

/// Runs it in a folder.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Ran {
    ran(&mut command(folder, arguments))
}

pub(crate) fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::Builder::new().prefix("cli-").tempdir().unwrap();
    for (path, text) in files {
        write(&folder.path().join(path), text);
    }
    folder
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// How long a test may wait for a service: a line of the log that never comes must fail the test.
const LIMIT: Duration = Duration::from_secs(60);

/// A running service, killed when dropped and at the limit.
pub(crate) struct Service {
    child: Child,
    _watchdog: Sender<()>,
    /// Its one line on standard output.
    pub(crate) line: String,
}

impl Service {
    /// Starts it and waits for its line.
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        Self::spawn(command(folder, arguments))
    }

    /// The same with limits on open files: the soft and the hard one.
    pub(crate) fn start_with_files(folder: &Path, arguments: &[&str], (soft, hard): (u32, u32)) -> Self {
        let promptd = command(folder, arguments);
        let mut limited = Command::new("sh");
        limited.args(["-c", &format!("ulimit -Sn {soft} && ulimit -Hn {hard} && exec \"$0\" \"$@\"")]);
        limited.arg(promptd.get_program()).args(promptd.get_args()).current_dir(folder);
        for (name, _) in promptd.get_envs() {
            limited.env_remove(name);
        }
        Self::spawn(limited)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let (watchdog, dropped) = mpsc::channel();
        let pid = child.id().to_string();
        thread::spawn(move || {
            if dropped.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
                Command::new("kill").args(["-KILL", &pid]).status().unwrap();
            }
        });
        Self { child, _watchdog: watchdog, line }
    }

    /// The address that it listens on.
    pub(crate) fn address(&self) -> String {
        self.line.trim().strip_prefix("promptd listening on ").unwrap().to_owned()
    }

    pub(crate) fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap().success());
    }

    /// Sends both at once, as far as a shell can.
    pub(crate) fn signal_twice(&self, first: &str, second: &str) {
        let pid = self.child.id();
        let line = format!("kill {first} {pid}; kill {second} {pid}");
        assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
    }

    /// Waits for its end; the log.
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (self.child.wait().unwrap(), log)
    }

    /// Waits for its end without reading its log.
    pub(crate) fn ended_unread(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// Stops it; the log.
    pub(crate) fn stop(self) -> String {
        self.signal("-TERM");
        let (status, log) = self.ended();
        assert_eq!(status.code(), Some(0), "{log}");
        log
    }

    /// Reads its log until a line has `text`; all lines read.
    pub(crate) fn wait_for_log(&mut self, text: &str) -> String {
        let mut seen = String::new();
        let mut log = BufReader::with_capacity(1, self.child.stderr.as_mut().unwrap());
        loop {
            let before = seen.len();
            assert!(log.read_line(&mut seen).unwrap() > 0, "the log ended without {text}:\n{seen}");
            if seen[before..].contains(text) {
                return seen;
            }
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
