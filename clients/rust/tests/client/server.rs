//! The real server over a copy of the example workspace; it can be killed and started again at the same address.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{self, Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long what must come may take, however slow the machine is.
pub(crate) const WAIT: Duration = Duration::from_secs(20);

pub(crate) struct Server {
    pub(crate) address: String,
    folder: TempDir,
    child: Option<Child>,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(&json!({}), &[])
    }

    /// With settings, and files beside the config.
    pub(crate) fn with(settings: &Value, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workspace-example");
        copy(&example, &folder.path().join("workspaces/example"));
        for (name, text) in files {
            write_private(&folder.path().join(name), text);
        }
        let mut config = json!({
            "workspaces": {"root": "workspaces"},
            "memory": {"store": "memory"},
            "log": {"level": "error"},
            "inspector": {"listen": "off"},
        });
        config.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        // JSON is YAML.
        fs::write(folder.path().join("promptd.yaml"), config.to_string()).unwrap();
        let mut server = Self { address: format!("127.0.0.1:{}", free_port()), folder, child: None };
        server.again();
        server
    }

    /// Starts it at the address that it had.
    pub(crate) fn again(&mut self) {
        let mut command = Command::new(env::var_os("PROMPTD_BIN").expect("PROMPTD_BIN names the server"));
        command.args(["serve", "--config"]).arg(self.folder.path().join("promptd.yaml"));
        let mut child = command.args(["--listen", &self.address]).stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        self.child = Some(child);
        ready.trim().rsplit(' ').next().unwrap().clone_into(&mut self.address);
        assert!(self.address.contains(':'), "{ready:?}");
    }

    /// At once, as a machine dies.
    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// A file of the workspace.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join("workspaces/example").join(file)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.kill();
        }
    }
}

/// A port below those that outgoing connections are given: a client that connects again and again would end up with the port of the
/// server that it waits for. Each is given once, from one of this process's own on.
fn free_port() -> u32 {
    static DRAWN: AtomicU32 = AtomicU32::new(0);
    loop {
        let port = 20_000 + (process::id() + DRAWN.fetch_add(1, Ordering::Relaxed)) % 12_000;
        if TcpListener::bind(format!("127.0.0.1:{port}")).is_ok() {
            return port;
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// The server takes no tokens that others can read.
fn write_private(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}
