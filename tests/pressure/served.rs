//! A server as a process, over a folder of workspaces.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// The file that `ReadSkill` reads: the largest that fits into an answer.
pub const FILE_BYTES: usize = 1 << 20;
/// How many workspaces there are beside `harbor`.
pub const OTHERS: usize = 300;

pub struct Served {
    child: Child,
    pub addr: SocketAddr,
    _folder: TempDir,
}

impl Served {
    /// Starts it with these settings, as YAML.
    pub fn start(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let harbor = folder.path().join("ws/harbor");
        write(&harbor.join("AGENTS.md"), &"Answer in one sentence.\n".repeat(200));
        for skill in 0..100 {
            let text = format!("---\nname: skill-{skill}\ndescription: Reads tide table {skill}.\n---\nRead it.\n");
            write(&harbor.join(format!("skills/skill-{skill}/SKILL.md")), &text);
        }
        write(&harbor.join("skills/skill-0/large.txt"), &"x".repeat(FILE_BYTES));
        for other in 0..OTHERS {
            write(&folder.path().join(format!("ws/other-{other}/AGENTS.md")), "Calm.\n");
        }
        write(
            &folder.path().join("promptd.yaml"),
            &format!("workspaces: {{root: ws}}\nlisten: 127.0.0.1:0\n{settings}"),
        );
        let mut command = Command::new(env!("CARGO_BIN_EXE_promptd"));
        command.args(["serve", "--config", "promptd.yaml", "--log", "off"]).current_dir(folder.path());
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let addr = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
        Self { child, addr, _folder: folder }
    }

    /// Its memory now, in bytes.
    pub fn resident(&self) -> usize {
        self.status("VmRSS:")
    }

    /// The most that its memory has been, in bytes.
    pub fn peak(&self) -> usize {
        self.status("VmHWM:")
    }

    /// Waits until its memory does not change any more, or for the longest that it may.
    pub async fn settles(&self) {
        const STEP: usize = 256 << 10;
        const SETTLED: Duration = Duration::from_secs(5);
        let (mut last, mut same) = (self.resident(), 0);
        let latest = Instant::now() + SETTLED;
        while same < 5 && Instant::now() < latest {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let now = self.resident();
            same = if now.abs_diff(last) < STEP { same + 1 } else { 0 };
            last = now;
        }
    }

    fn status(&self, field: &str) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
