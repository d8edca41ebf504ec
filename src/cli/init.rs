//! `promptd init`: a workspace to start from.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::{Failure, Outcome, print};

/// Writes a workspace to start from. Never overwrites a file.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The workspace's folder; made if it is not there.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// The files of a new workspace.
const FILES: &[(&str, &str)] = &[
    ("workspace.yaml", include_str!("init/workspace.yaml")),
    ("AGENTS.md", include_str!("init/AGENTS.md")),
    ("SOUL.md", include_str!("init/SOUL.md")),
    ("IDENTITY.md", include_str!("init/IDENTITY.md")),
    ("HEARTBEAT.md", include_str!("init/HEARTBEAT.md")),
    ("skills/hand-over/SKILL.md", include_str!("init/SKILL.md")),
];

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let folder = &arguments.folder;
    let there: Vec<_> = FILES.iter().map(|(path, _)| *path).filter(|path| is_there(&folder.join(path))).collect();
    if !there.is_empty() {
        return Err(Failure::run(format!(
            "nothing was written: {} already has {}",
            folder.display(),
            there.join(", ")
        )));
    }
    for (path, text) in FILES {
        write(&folder.join(path), text)?;
        print(format_args!("{}\n", folder.join(path).display()))?;
    }
    eprintln!("next: promptd check {0}; promptd render {0}; promptd serve --workspace {0}", folder.display());
    Ok(ExitCode::SUCCESS)
}

/// A link that leads nowhere is there too.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let told = |e: std::io::Error| Failure::run(format!("{} cannot be written: {e}", path.display()));
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(told)?;
    }
    let mut file = fs::File::create_new(path).map_err(told)?;
    file.write_all(text.as_bytes()).map_err(told)
}
