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
    let mut kept = Vec::new();
    let known = || previous.into_iter().flat_map(ProfileSet::iter);
    let mut report = |place: String, fault: String| {
        let last_good = if previous.is_some() { "; the last good version stays in use" } else { "" };
        unreadable.push(Finding::new(Code::ProfileInvalid, Place::file(place), format!("{fault}{last_good}")));
    };
    for (path, bytes) in contents {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match bytes {
            Ok(bytes) => read.push((name, bytes.clone())),
            Err(error) if options.profiles.as_ref() == Some(path) => {
                let error =
                    if let ReadError::WrongKind(_) = error { "is not a folder".into() } else { error.to_string() };
                report("profiles".into(), format!("the folder of profiles {error}"));
                kept.extend(known());
            }
            Err(error) => {
                report(format!("profiles/{name}"), format!("the profile {error}"));
                // A profile has its file's name unless the file says another, which cannot be read now.
                kept.extend(
                    known().filter(|profile| path.file_stem().is_some_and(|stem| stem == profile.name.as_str())),
                );
            }
        }
    }
    let (profiles, mut findings) = profile::load(&read, previous);
    findings.extend(unreadable);
    (kept.into_iter().fold(profiles, |profiles, profile| profiles.keeping(profile)), findings)
}

/// The files that are profiles.
pub(crate) fn folder(path: &std::path::Path) -> FileSet {
    FileSet::Folder { path: path.to_path_buf(), suffix: ".yaml" }
}
