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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use promptd_core::workspace::ReadError;

    use super::*;

    /// The place and the message of what is said of one unreadable path.
    fn said(path: &str, error: ReadError, previous: Option<&ProfileSet>) -> (String, String) {
        let options = Options { profiles: Some("/etc/promptd/profiles".into()), ..Options::default() };
        let (_, findings) = load(&options, &Contents::from([(Path::new(path).into(), Err(error))]), previous);
        assert_eq!(findings.len(), 1, "{findings:?}");
        (findings[0].place.to_string(), findings[0].message.clone())
    }

    #[test]
    fn what_cannot_be_read_is_named_as_the_folder_or_as_the_profile_that_it_is() {
        const FOLDER: &str = "/etc/promptd/profiles";
        const FILE: &str = "/etc/promptd/profiles/calm.yaml";
        for (path, error, place, message) in [
            (FOLDER, ReadError::WrongKind("a file"), "profiles", "the profiles folder is not a folder"),
            (
                FOLDER,
                ReadError::Denied,
                "profiles",
                "the profiles folder cannot be read by the service: permission denied",
            ),
            (FILE, ReadError::WrongKind("a FIFO"), "profiles/calm.yaml", "the profile is a FIFO, not a regular file"),
            (
                FILE,
                ReadError::Denied,
                "profiles/calm.yaml",
                "the profile cannot be read by the service: permission denied",
            ),
        ] {
            assert_eq!(said(path, error, None), (place.to_owned(), message.to_owned()));
            let kept = format!("{message}; the last good version stays in use");
            assert_eq!(said(path, error, Some(&ProfileSet::built_in())).1, kept);
        }
    }
}
