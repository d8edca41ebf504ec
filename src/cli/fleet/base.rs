//! Which published revision a folder was made from: `.promptd/published` in it, which `pull` writes.

use std::{fs, io, path::Path};

use promptd_core::{digest::Digest, id::Id, text::hex};

use crate::cli::Failure;

const FILE: &str = ".promptd/published";

/// The revision that the folder was made from, if it is known and of this workspace.
pub(super) fn read(folder: &Path, id: &Id) -> Result<Option<Digest>, Failure> {
    let path = folder.join(FILE);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|error| Failure::run(format!("cannot read {}: {error}", path.display())))?,
    };
    let base = text.trim_end().split_once(' ').and_then(|(of, revision)| Some((of, Digest(hex::bytes(revision)?))));
    match base {
        Some((of, revision)) => Ok((of == id.as_str()).then_some(revision)),
        None => Err(Failure::run(format!("{} is damaged: remove it, and publish what the folder has", path.display()))),
    }
}

/// Notes the revision that the folder has now.
pub(super) fn write(folder: &Path, id: &Id, revision: Digest) -> Result<(), Failure> {
    let path = folder.join(FILE);
    let written = fs::create_dir_all(folder.join(".promptd"))
        .and_then(|()| fs::write(&path, format!("{id} {}\n", revision.to_hex())));
    written.map_err(|error| Failure::run(format!("cannot write {}: {error}", path.display())))
}

/// Whether the folder was made by `pull`.
pub(super) fn is_known(folder: &Path) -> bool {
    folder.join(FILE).exists()
}
