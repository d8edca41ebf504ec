//! `promptd init`: the files of a new workspace.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::ValueEnum as _;

use super::{CommandResult, Failure, print, schema::Schema};

/// Writes the files of a new workspace. Never overwrites a file.
///
/// JSON Schemas for editors go to `.promptd/schemas` in it, which is not part of the workspace: nothing there is read.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The folder of the workspace; created if it does not exist.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

const FILES: &[(&str, &str)] = &[
    ("workspace.yaml", include_str!("init/workspace.yaml")),
    ("AGENTS.md", include_str!("init/AGENTS.md")),
    ("SOUL.md", include_str!("init/SOUL.md")),
    ("IDENTITY.md", include_str!("init/IDENTITY.md")),
    ("HEARTBEAT.md", include_str!("init/HEARTBEAT.md")),
    ("skills/hand-over/SKILL.md", include_str!("init/SKILL.md")),
];

/// Where the schemas are, in the workspace. The first line of `init/workspace.yaml` names one of them.
const SCHEMAS: &str = ".promptd/schemas";

/// The path of each file in the workspace, and its text.
fn files() -> impl Iterator<Item = (String, String)> {
    let schemas = Schema::value_variants().iter().filter_map(|schema| {
        let name = schema.to_possible_value()?;
        Some((format!("{SCHEMAS}/{}.json", name.get_name()), schema.text()))
    });
    FILES.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).chain(schemas)
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let folder = &arguments.folder;
    let files: Vec<_> = files().collect();
    let existing: Vec<_> = files.iter().map(|(path, _)| &**path).filter(|path| exists(&folder.join(path))).collect();
    if !existing.is_empty() {
        return Err(Failure::run(format!(
            "nothing was written: {} already has {}",
            folder.display(),
            existing.join(", ")
        )));
    }
    for (path, text) in &files {
        write(&folder.join(path), text)?;
        print(format_args!("{}\n", folder.join(path).display()))?;
    }
    eprintln!("next: promptd check {0}; promptd render {0}; promptd serve --workspace {0}", folder.display());
    Ok(ExitCode::SUCCESS)
}

/// A dangling link counts.
fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failure = |e: std::io::Error| Failure::run(format!("cannot write {}: {e}", path.display()));
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failure)?;
    }
    let mut file = fs::File::create_new(path).map_err(failure)?;
    file.write_all(text.as_bytes()).map_err(failure)
}
