//! A server as a process, with a store of conversations.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

pub struct Served {
    child: Child,
    pub addr: SocketAddr,
}

impl Served {
    /// Starts it in a folder, perhaps under another program.
    pub fn start(home: &Path, under: &[&str]) -> Self {
        fs::create_dir_all(home.join("ws/harbor")).unwrap();
        fs::write(home.join("ws/harbor/AGENTS.md"), "Answer in one sentence.\n").unwrap();
        let own = [env!("CARGO_BIN_EXE_promptd"), "serve", "--workspaces", "ws", "--memory", "memory"];
        let config = home.join("promptd.yaml");
        let config = config.exists().then_some(["--config", "promptd.yaml"]).into_iter().flatten();
        let last = ["--listen", "127.0.0.1:0", "--log", "off"];
        let all: Vec<_> = under.iter().copied().chain(own).chain(config).chain(last).collect();
        let mut command = Command::new(all[0]);
        // A group of its own, so that both programs can be killed at once.
        command.args(&all[1..]).current_dir(home).process_group(0);
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let addr = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
        Self { child, addr }
    }

    /// Kills it, as `kill -9` does, and waits until it is gone.
    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Ok(id) = i32::try_from(self.child.id())
            && let Some(id) = rustix::process::Pid::from_raw(id)
        {
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.end();
    }
}
