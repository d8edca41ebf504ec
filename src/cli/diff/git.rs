//! The files of a folder at a git revision, through the `git` program.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

use super::Failure;

/// A folder at a revision, checked out into a temporary folder that is removed with this.
pub(super) struct Checkout {
    home: TempDir,
}

impl Checkout {
    pub(super) fn folder(&self) -> PathBuf {
        self.home.path().join(FILES)
    }
}

const FILES: &str = "files";
const INDEX: &str = "index";

/// What a hook, or a shell that works on another repository, may have set.
const ENVIRONMENT: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"];

/// Checks a folder out at a revision. The repository, its index and its work tree stay as they are.
pub(super) fn check_out(folder: &Path, shown: &str, revision: &str) -> Result<Checkout, Failure> {
    let here = |arguments: &[&str]| run(git(folder).args(arguments));
    let repository = here(&["rev-parse", "--absolute-git-dir"])?.map_err(|why| {
        Failure::run(format!(
            "{shown} is not in a git repository, so it has no revision `{revision}`: {why}\n  \
             give a folder instead"
        ))
    })?;
    let prefix = here(&["rev-parse", "--show-prefix"])?.map_err(|why| unreadable(shown, revision, &why))?;
    let commit = here(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{revision}^{{commit}}")])?;
    let commit = commit.map_err(|_| {
        Failure::run(format!(
            "the git repository of {shown} has no revision `{revision}`\n  `git log --oneline` and `git branch --all` \
             list some; a shallow clone lacks those that were not fetched (`git fetch --unshallow`)"
        ))
    })?;
    let tree = format!("{commit}:{prefix}");
    if here(&["cat-file", "-t", &tree])?.as_deref() != Ok("tree") {
        return Err(Failure::run(format!(
            "the folder {shown} does not exist at the git revision `{revision}`\n  give a revision that has it, or \
             another folder"
        )));
    }
    let checkout = temporary().map_err(|error| Failure::run(format!("cannot make a temporary folder: {error}")))?;
    for arguments in [["read-tree", &tree], ["checkout-index", "--all"]] {
        let mut command = git(&checkout.folder());
        command.env("GIT_INDEX_FILE", checkout.home.path().join(INDEX)).env("GIT_WORK_TREE", checkout.folder());
        command.env("GIT_DIR", &repository).args(arguments);
        run(&mut command)?.map_err(|why| unreadable(shown, revision, &why))?;
    }
    Ok(checkout)
}

fn temporary() -> io::Result<Checkout> {
    let home = tempfile::Builder::new().prefix("promptd-diff-").tempdir()?;
    fs::create_dir(home.path().join(FILES))?;
    Ok(Checkout { home })
}

fn unreadable(shown: &str, revision: &str, why: &str) -> Failure {
    Failure::run(format!("cannot read {shown} at the git revision `{revision}`: {why}"))
}

/// The program in a folder, with no hook and no question to a terminal.
fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    for name in ENVIRONMENT {
        command.env_remove(name);
    }
    command.current_dir(folder).args(["-c", "core.hooksPath=/dev/null"]).env("GIT_TERMINAL_PROMPT", "0");
    command
}

/// What it wrote, without the line's end; the inner error is what it says is wrong.
fn run(command: &mut Command) -> Result<Result<String, String>, Failure> {
    let Output { status, stdout, stderr } = command.output().map_err(|error| {
        Failure::run(format!("cannot run the program `git`: {error}\n  install it, or give folders without a revision"))
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\n').to_owned();
    Ok(if status.success() { Ok(text(&stdout)) } else { Err(text(&stderr)) })
}
