//! Tests in a process of their own: with other permissions or limits than the rest.

use std::{
    env, fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
};

/// Set in the child.
const CHILD: &str = "PROMPTD_TEST_CHILD";
/// The user and group `nobody`.
const NOBODY: u32 = 65_534;

/// Runs the body of the test of that name as a user whom permissions bind.
pub fn unprivileged(test: &str, body: impl FnOnce()) {
    if rustix::process::geteuid().is_root() { in_child(test, Some(NOBODY)) } else { body() }
}

/// Runs the body of the test of that name in a process of its own.
pub fn isolated(test: &str, body: impl FnOnce()) {
    if env::var_os(CHILD).is_none() { in_child(test, None) } else { body() }
}

fn in_child(test: &str, user: Option<u32>) {
    /// A program cannot be run while a file descriptor that it was written by is open, and what another thread starts
    /// meanwhile has that descriptor for a moment.
    static WRITING: Mutex<()> = Mutex::new(());
    // The build's folders may be closed to that user.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("test");
    let mut child = Command::new(&program);
    child.args(["--exact", test, "--test-threads", "1", "--nocapture"]).env(CHILD, "1").current_dir("/");
    if let Some(user) = user {
        child.uid(user).gid(user);
    }
    child.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = {
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        fs::copy(env::current_exe().unwrap(), &program).unwrap();
        child.spawn().unwrap()
    };
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
