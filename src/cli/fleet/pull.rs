//! `promptd pull`: a published workspace into a folder.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use promptd_core::id::Id;
use promptd_etcd::is_publishable;

use super::{
    base,
    place::{Files, Place},
};
use crate::cli::{CommandResult, Failure, print};

/// Writes a published workspace into a folder.
///
/// `.promptd/published` in it says which revision it is, so that `promptd publish` tells you if someone has published since.
#[derive(clap::Args)]
pub(in crate::cli) struct Arguments {
    /// The workspace.
    #[arg(value_name = "ID", value_parser = super::id)]
    id: Id,
    /// The folder; it must not exist, or be empty.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// A number or the first digits of a revision, as `promptd history` shows them, or of an open proposal; default: the newest.
    #[arg(long, value_name = "REVISION")]
    revision: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub(in crate::cli) fn run(arguments: &Arguments) -> CommandResult {
    let Arguments { id, folder, revision, place } = arguments;
    let shown = folder.display();
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::run(format!("{shown} is not empty: give a folder that is, or that does not exist")));
    }
    let (past, files) = place.run(async |connection| {
        let past = connection.state(id, revision.as_deref()).await?;
        let files = connection.files(id, &past).await?;
        Ok((past, files))
    })?;
    check(id, &files)?;
    write_all(folder, &files)?;
    if past.is_proposed() {
        // The folder is an edit of what the proposal was made from.
        past.manifest.parent.map_or(Ok(()), |parent| base::write(folder, id, parent))?;
        print(format_args!("{shown}: {id}, proposal {}\n", past.revision.short()))?;
        return Ok(ExitCode::SUCCESS);
    }
    base::write(folder, id, past.revision)?;
    print(format_args!("{shown}: {id}, revision {} ({})\n", past.manifest.sequence, past.revision.short()))?;
    Ok(ExitCode::SUCCESS)
}

/// Fails where programs would act on what a file says, as git does on `.git/config`: whoever published it is not who pulls it.
fn check(id: &Id, files: &Files) -> Result<(), Failure> {
    let Some(path) = files.keys().find(|path| !is_publishable(path)) else { return Ok(()) };
    let path = path.escape_debug();
    Err(Failure::run(format!(
        "{id} is not written: a name in `{path}` begins with a dot; publish it again without that file, or name another revision"
    )))
}

/// Writes files below a folder, none of which is there.
pub(super) fn write_all(folder: &Path, files: &Files) -> Result<(), Failure> {
    files.iter().try_for_each(|(path, bytes)| write(&folder.join(path), bytes))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error| Failure::run(format!("cannot write {}: {error}", path.display()));
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    fs::File::create_new(path).and_then(|mut file| file.write_all(bytes)).map_err(failed)
}
