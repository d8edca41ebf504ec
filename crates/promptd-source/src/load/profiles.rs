//! The operator's profiles, from their folder.

use super::files::{self, Contents, FileSet};
use crate::options::Options;
use promptd_core::{
    finding::{Code, Finding, Place},
    profile::{self, ProfileFile, ProfileSet},
    workspace::ReadError,
};

/// Loads the profiles at the start; an invalid one is an error.
pub fn load_first(options: &Options) -> Result<ProfileSet, Vec<Finding>> {
    let contents = options.profiles.as_ref().map(|path| files::read(&folder(path))).unwrap_or_default();
    let (profiles, findings) = load(options, &contents, None);
    if findings.iter().any(Finding::is_error) { Err(findings) } else { Ok(profiles) }
}

/// Loads the profiles; one that is invalid, or exists and cannot be read, keeps its version in `previous`.
pub(crate) fn load(
    options: &Options,
    contents: &Contents,
    previous: Option<&ProfileSet>,
) -> (ProfileSet, Vec<Finding>) {
    let mut read: Vec<ProfileFile> = Vec::new();
    let mut unreadable = Vec::new();
    for (path, bytes) in contents {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match bytes {
            Ok(bytes) => read.push((name, bytes.clone())),
            Err(error) => {
                let is_folder = options.profiles.as_ref() == Some(path);
                let place = if is_folder { "profiles".to_owned() } else { format!("profiles/{name}") };
                let message = match error {
                    ReadError::WrongKind(_) if is_folder => "the profiles folder is not a folder".to_owned(),
                    error if is_folder => format!("the profiles folder {error}"),
                    error => format!("the profile {error}"),
                };
                let kept = if previous.is_some() { "; the last good version stays in use" } else { "" };
                unreadable.push(Finding::new(Code::ProfileInvalid, Place::file(place), format!("{message}{kept}")));
            }
        }
    }
    let (mut profiles, mut findings) = profile::load(&read, previous);
    if let (Some(error), Some(previous)) = (unreadable.first(), previous) {
        profiles = profiles.keeping_missing(previous, error);
    }
    findings.extend(unreadable);
    (profiles, findings)
}

/// The files that are profiles.
pub(crate) fn folder(path: &std::path::Path) -> FileSet {
    FileSet::Folder { path: path.to_path_buf(), suffix: ".yaml" }
}
