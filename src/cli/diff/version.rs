//! The two versions of a workspace that are compared.

use std::path::{Path, PathBuf};

use promptd_core::prompt::Prepared;
use tempfile::TempDir;

use super::{
    super::{
        Failure,
        load::{Offline, WorkspaceArgument},
        settings::{self, ConfigFile},
    },
    git::{self, Checkout},
};

/// One version: a folder, which may have been checked out for it.
pub(in super::super) struct Version {
    /// The workspace that it is loaded as.
    workspace: WorkspaceArgument,
    /// Where its files are, and how they are called.
    files: WorkspaceArgument,
    checkout: Option<Checkout>,
    /// A folder that is removed with it.
    held: Option<TempDir>,
}

/// A version as an argument names it.
struct Named<'a> {
    /// `DIR` or `ID=DIR`.
    workspace: &'a str,
    /// The git revision.
    revision: Option<&'a str>,
}

/// Reads the config, and finds both versions.
pub(super) fn open(config: &ConfigFile, before: &str, after: &str) -> Result<(Offline, Version, Version), Failure> {
    let named = [Named::parse(before), Named::parse(after)];
    let offline = Offline::open(config, &named.each_ref().map(|one| one.workspace.to_owned()))?;
    let [first, second] = offline.workspaces() else { return Err(Failure::run("two workspaces are needed")) };
    let version = |files: &WorkspaceArgument, named: &Named<'_>| Version::open(second, files, named.revision);
    let (first, second) = (version(first, &named[0])?, version(second, &named[1])?);
    Ok((offline, first, second))
}

/// Reads the config, and finds one version.
#[cfg(feature = "record")]
pub(in super::super) fn open_one(config: &ConfigFile, text: &str) -> Result<(Offline, Version), Failure> {
    let named = Named::parse(text);
    let offline = Offline::open(config, &[named.workspace.to_owned()])?;
    let [files] = offline.workspaces() else { return Err(Failure::run("a workspace is needed")) };
    let version = Version::open(files, files, named.revision)?;
    Ok((offline, version))
}

impl<'a> Named<'a> {
    /// `DIR` if it exists; else `DIR@REVISION`, with the first `@` behind a folder that exists: both parts may have others.
    fn parse(text: &'a str) -> Self {
        let exists = |text: &str| Path::new(settings::folder_of(text)).is_dir();
        let ats: Vec<_> = text.match_indices('@').map(|(at, _)| at).filter(|at| *at > 0).collect();
        let found = ats.iter().copied().find(|at| exists(&text[..*at])).or(ats.first().copied());
        match found.filter(|_| !exists(text)) {
            Some(at) => Self { workspace: &text[..at], revision: Some(&text[at + 1..]) },
            None => Self { workspace: text, revision: None },
        }
    }
}

impl Version {
    fn open(workspace: &WorkspaceArgument, files: &WorkspaceArgument, revision: Option<&str>) -> Result<Self, Failure> {
        files.must_exist()?;
        let workspace = workspace.clone();
        let Some(revision) = revision else {
            return Ok(Self { workspace, files: files.clone(), checkout: None, held: None });
        };
        let checkout = git::check_out(files.path(), &files.folder, revision)?;
        let name = format!("{}@{revision}", files.folder);
        Ok(Self { workspace, files: files.at(checkout.folder(), name), checkout: Some(checkout), held: None })
    }

    /// A version of which the files are in a folder made for it.
    #[cfg(feature = "etcd")]
    pub(in super::super) fn held(workspace: WorkspaceArgument, files: WorkspaceArgument, held: TempDir) -> Self {
        Self { workspace, files, checkout: None, held: Some(held) }
    }

    /// Loads it. The failure is a report of every fault.
    pub(super) fn load(&self, offline: &Offline) -> Result<Prepared, Failure> {
        if self.checkout.is_none() && self.held.is_none() {
            self.files.note_missing_files();
        }
        offline.load_as(&self.workspace, &self.files).map_err(|findings| {
            let report = settings::report_files(&offline.report(&self.files, &findings));
            Failure::run(format!("{} has no prompt\n{report}", self.files.folder))
        })
    }

    /// The id of its workspace.
    #[cfg(feature = "record")]
    pub(in super::super) fn id(&self) -> String {
        self.workspace.id()
    }

    /// The findings of its files, for people.
    #[cfg(feature = "record")]
    pub(in super::super) fn report(&self, offline: &Offline, findings: &[promptd_core::finding::Finding]) -> String {
        settings::report_files(&offline.report(&self.files, findings))
    }

    /// Where its files are.
    pub(in super::super) fn folder(&self) -> &Path {
        self.files.path()
    }

    /// As it was given.
    pub(in super::super) fn name(&self) -> &str {
        &self.files.folder
    }

    /// The folder of the files that an annotation can name.
    pub(super) fn file(&self, path: &str) -> PathBuf {
        let folder = if self.checkout.is_some() { &self.workspace.folder } else { &self.files.folder };
        Path::new(folder).join(path)
    }

    /// A file of it as a person would name it.
    pub(super) fn shown(&self, file: &Path) -> String {
        let inside = file.strip_prefix(self.folder()).ok();
        inside.map_or_else(|| file.to_owned(), |path| self.file(&path.to_string_lossy())).display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_that_exists_says_where_the_revision_begins() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
        for name in ["plain", "with@sign", "with@sign@v1"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        for (text, folder, revision) in [
            ("plain", "plain", None),
            ("plain@HEAD~1", "plain", Some("HEAD~1")),
            ("plain@HEAD@{1 week ago}", "plain", Some("HEAD@{1 week ago}")),
            ("with@sign", "with@sign", None),
            ("with@sign@v1", "with@sign@v1", None),
            ("with@sign@v2", "with@sign", Some("v2")),
            ("missing@v1@x", "missing", Some("v1@x")),
            ("missing", "missing", None),
        ] {
            let text = at(text);
            let named = Named::parse(&text);
            assert_eq!((named.workspace, named.revision), (at(folder).as_str(), revision), "{text}");
        }
        let text = format!("harbor={}@main", at("plain"));
        assert_eq!(Named::parse(&text).workspace, format!("harbor={}", at("plain")));
    }
}
