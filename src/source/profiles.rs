//! The operator's profiles, from their folder.

use super::{Contents, FileSet, Options, files};
use crate::{
    finding::{Code, Finding, Place},
    profile::{self, ProfileFile, ProfileSet},
};

/// Loads the profiles at the start; a fault in any of them is an error.
pub(super) fn load_first(options: &Options) -> Result<ProfileSet, Vec<Finding>> {
    let contents = options.profiles.as_ref().map(|path| files::read(&folder(path))).unwrap_or_default();
    let (profiles, findings) = load(&contents, None);
    if findings.iter().any(Finding::is_error) { Err(findings) } else { Ok(profiles) }
}

/// Loads the profiles; one that is invalid keeps its version in `previous`.
pub(super) fn load(contents: &Contents, previous: Option<&ProfileSet>) -> (ProfileSet, Vec<Finding>) {
    let mut read: Vec<ProfileFile> = Vec::new();
    let mut unreadable = Vec::new();
    for (path, bytes) in contents {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match bytes {
            Ok(bytes) => read.push((name, bytes.clone())),
            Err(error) => {
                let place = Place::file(format!("profiles/{name}"));
                unreadable.push(Finding::new(Code::ProfileInvalid, place, format!("the profile {error}")));
            }
        }
    }
    let (profiles, mut findings) = profile::load(&read, previous);
    findings.extend(unreadable);
    (profiles, findings)
}

/// The files that are profiles.
pub(super) fn folder(path: &std::path::Path) -> FileSet {
    FileSet::Folder { path: path.to_path_buf(), suffix: ".yaml" }
}
