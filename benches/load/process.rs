//! A server as a process of its own, and the processor time it has used.

#![allow(dead_code, reason = "each bench uses a part")]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

use promptd_contract::proto::AssemblePromptResponse;
use prost::Message as _;

/// A running server; killed when dropped.
pub struct Served {
    child: Child,
    /// `host:port`.
    pub address: String,
}

impl Served {
    /// promptd over a folder of workspaces.
    pub fn promptd(workspaces: &Path) -> Self {
        Self::start(Self::command(workspaces))
    }

    /// The same, without write coalescing.
    pub fn uncoalesced(workspaces: &Path, folder: &Path) -> Self {
        let config = folder.join("uncoalesced.yaml");
        fs::write(&config, "grpc: {coalesce_writes: false}\n").unwrap();
        let mut command = Self::command(workspaces);
        command.arg("--config").arg(config);
        Self::start(command)
    }

    /// The same, logging only what is wrong: a line a save would bury the figures.
    pub fn quiet(workspaces: &Path) -> Self {
        Self::with(workspaces, &[])
    }

    /// The same with more arguments.
    pub fn with(workspaces: &Path, arguments: &[&str]) -> Self {
        let mut command = Self::command(workspaces);
        command.args(["--log", "warn"]).args(arguments);
        Self::start(command)
    }

    fn command(workspaces: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_promptd"));
        command.arg("serve").arg("--workspaces").arg(workspaces).args(["--listen", "127.0.0.1:0"]);
        // Away from this repository's config: the figures are of the defaults.
        command.current_dir(workspaces);
        command
    }

    /// The bare server with an answer.
    pub fn bare(answer: &AssemblePromptResponse, folder: &Path) -> Self {
        let file = folder.join("answer.bin");
        fs::write(&file, answer.encode_to_vec()).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("--bare").arg(file);
        Self::start(command)
    }

    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(address.contains(':'), "the server did not start: {line:?}");
        Self { child, address }
    }

    /// Asks it to stop, as a supervisor does.
    pub fn terminate(&self) {
        let status = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(status.success());
    }

    /// Waits until it has ended.
    pub async fn ended(&mut self) -> ExitStatus {
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Processor time of all its threads so far.
    pub fn cpu(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let spent = |task: std::io::Result<fs::DirEntry>| -> Option<u64> {
            let stat = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            stat.split(' ').next()?.parse().ok()
        };
        Duration::from_nanos(tasks.filter_map(spent).sum())
    }

    /// Its memory in bytes.
    pub fn resident(&self) -> u64 {
        let statm = fs::read_to_string(format!("/proc/{}/statm", self.child.id())).unwrap();
        statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
