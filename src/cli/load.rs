//! Loading a workspace offline, through the code that the service loads it with.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use promptd::config::{Config, Overrides, SingleWorkspace};
use promptd_core::{
    finding::{Finding, Place, Reported},
    id::Id,
    profile::ProfileSet,
    prompt::Prepared,
    workspace::{self, Entry, FileBytes, Load, MANIFEST, ReadError, Tree, in_layer},
};
use promptd_source::{FileSet, read_files};

use super::{
    Failure, folder,
    settings::{self, ConfigFile},
};

/// The id of a workspace whose folder's name cannot be one, such as a temporary folder's.
const DEFAULT_ID: &str = "workspace";

/// What offline commands load with: the config, and the profiles.
pub(super) struct Offline {
    pub(super) config: Config,
    pub(super) profiles: Arc<ProfileSet>,
    /// Settings that are allowed and probably a mistake.
    pub(super) warnings: Vec<Reported>,
    workspaces: Vec<WorkspaceArgument>,
}

/// A workspace given as an argument.
#[derive(Clone)]
pub(super) struct WorkspaceArgument {
    /// The folder as it was given.
    pub(super) folder: String,
    single: SingleWorkspace,
}

/// What loading a workspace came to.
pub(super) struct Loaded {
    pub(super) argument: WorkspaceArgument,
    pub(super) result: Result<Prepared, Vec<Finding>>,
}

impl Offline {
    /// Reads the config and the profiles, to load workspaces given as `DIR` or `ID=DIR`.
    pub(super) fn open(file: &ConfigFile, workspaces: &[String]) -> Result<Self, Failure> {
        let mut workspaces = workspaces.iter().map(|text| argument(text)).collect::<Result<Vec<_>, _>>()?;
        let single = workspaces.iter().map(|argument| argument.single.clone()).collect();
        let overrides = Overrides { single, ..Overrides::default() };
        let settings::Loaded { config, warnings, .. } = settings::load(file, &overrides, true)?;
        for argument in &mut workspaces {
            if let Some(id) = configured_id(&config, &argument.single) {
                argument.single.id = id.clone();
            }
        }
        let profiles = promptd_source::first_profiles(&config.source)
            .map_err(|findings| Failure::input(settings::report_files(&report_profiles(&findings, &config))))?;
        Ok(Self { config, profiles: Arc::new(profiles), warnings, workspaces })
    }

    /// The workspaces, in the order given.
    pub(super) fn workspaces(&self) -> &[WorkspaceArgument] {
        &self.workspaces
    }

    /// Loads one with the files of another: its prompts have the first one's id and path.
    pub(super) fn load_as(
        &self,
        workspace: &WorkspaceArgument,
        files: &WorkspaceArgument,
    ) -> Result<Prepared, Vec<Finding>> {
        let root = workspace.single.folder.to_string_lossy();
        promptd_source::load_once_as(&workspace.single.id, &root, files.path(), &self.config.source, &self.profiles)
    }

    /// Loads each workspace, in the order given.
    pub(super) fn load(&self) -> impl Iterator<Item = Result<Loaded, Failure>> {
        self.workspaces.iter().map(|argument| {
            argument.must_exist()?;
            let result = self.load_as(argument, argument);
            Ok(Loaded { argument: argument.clone(), result })
        })
    }

    /// The findings of all other files of a workspace whose `workspace.yaml` is invalid, loaded with its defaults. The
    /// service does not report them, since the defaults have no blocklist; the caller of a command has the files.
    pub(super) fn findings_without_manifest(&self, argument: &WorkspaceArgument) -> Vec<Finding> {
        let SingleWorkspace { id, folder } = &argument.single;
        let Ok(tree) = promptd_source::open_tree(folder, &self.config.source.allowed_link_targets) else {
            return Vec::new();
        };
        let loaded = workspace::load(&Load {
            id,
            root: &folder.to_string_lossy(),
            tree: &WithoutManifest(&tree),
            shared_skills: &[],
            profiles: Arc::clone(&self.profiles),
            settings: Arc::new(self.config.source.settings.clone()),
            previous: None,
        });
        loaded.map_or_else(|findings| findings, |snapshot| snapshot.findings.clone())
    }

    /// The findings, each with its file's path and text.
    pub(super) fn report(&self, argument: &WorkspaceArgument, findings: &[Finding]) -> Vec<Reported> {
        let mut texts = Texts::default();
        let one = |finding: &Finding| {
            let Place::File { path, .. } = &finding.place else {
                return Reported { finding: finding.clone(), subject: argument.id(), file: None, source: None };
            };
            let (file, at) = self.file(argument, path);
            let source = texts.read(&at);
            Reported { finding: finding.clone(), subject: argument.id(), file: Some(file), source }
        };
        findings.iter().map(one).collect()
    }

    /// A file of a workspace, of a layer or of a shared folder, by its name in findings and reports: as messages name it, and where it is.
    pub(super) fn file(&self, argument: &WorkspaceArgument, path: &str) -> (String, PathBuf) {
        if let Some((id, path)) = in_layer(path).and_then(|(id, path)| Some((Id::parse(id).ok()?, path))) {
            let places = [argument.path()];
            let mut folders = promptd_source::layer_folders(&id, &places, &self.config.source);
            let file = folders.find(|folder| folder.is_dir()).map(|folder| folder.join(path)).unwrap_or_default();
            return (file.display().to_string(), file);
        }
        let (shown, at) = match path.strip_prefix("@shared/") {
            None => (Path::new(&argument.folder).join(path), argument.single.folder.join(path)),
            Some(path) => {
                let mut homes = self.config.source.shared_skills.iter();
                let file =
                    homes.find(|home| home.join(path).exists()).map_or_else(PathBuf::new, |home| home.join(path));
                (file.clone(), file)
            }
        };
        (shown.display().to_string(), at)
    }
}

impl WorkspaceArgument {
    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.single.folder
    }

    /// The same workspace with files that are in another folder.
    pub(super) fn at(&self, folder: PathBuf, name: String) -> Self {
        Self { folder: name, single: SingleWorkspace { folder, ..self.single.clone() } }
    }

    /// Fails where the folder does not exist.
    pub(super) fn must_exist(&self) -> Result<(), Failure> {
        folder::must_exist(&self.single.folder, &self.folder)
    }

    /// Notes on standard error that the folder has nothing of a workspace.
    pub(super) fn note_missing_files(&self) {
        let path = &self.single.folder;
        let note = match folder::is_not_a_workspace(path, &self.folder) {
            Some(mistake) => Some(format!("{mistake}: give one of them")),
            None => folder::lacks_files(path, &self.folder),
        };
        if let Some(note) = note {
            eprintln!("note: {note}");
        }
    }

    /// Its id.
    #[cfg(feature = "etcd")]
    pub(super) fn id_of(&self) -> &Id {
        &self.single.id
    }

    pub(super) fn id(&self) -> String {
        self.single.id.to_string()
    }
}

/// A workspace as if it had no `workspace.yaml`.
struct WithoutManifest<'a>(&'a dyn Tree);

impl Tree for WithoutManifest<'_> {
    fn read(&self, path: &str, limit: usize) -> Result<FileBytes, ReadError> {
        if path == MANIFEST { Err(ReadError::Missing) } else { self.0.read(path, limit) }
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>, ReadError> {
        self.0.list(path)
    }
}

/// The findings of profiles, whose files are named `profiles/…`.
pub(super) fn report_profiles(findings: &[Finding], config: &Config) -> Vec<Reported> {
    let mut texts = Texts::default();
    let one = |finding: &Finding| {
        let file = match &finding.place {
            Place::File { path, .. } => {
                path.strip_prefix("profiles/").and_then(|name| Some(config.source.profiles.as_ref()?.join(name)))
            }
            _ => None,
        };
        let source = file.as_ref().and_then(|file| texts.read(file));
        let file = file.map(|file| file.display().to_string());
        Reported { finding: finding.clone(), subject: "profiles".to_owned(), file, source }
    };
    findings.iter().map(one).collect()
}

/// Files' texts for excerpts, each read once.
#[derive(Default)]
struct Texts(BTreeMap<PathBuf, Option<Arc<str>>>);

impl Texts {
    fn read(&mut self, path: &Path) -> Option<Arc<str>> {
        let read = |path: &Path| {
            let contents = read_files(&FileSet::Paths(vec![path.to_owned()]));
            let bytes = contents.into_values().next()?.ok()?;
            // An excerpt of UTF-16 would not be readable.
            (!bytes.contains(&0)).then(|| String::from_utf8_lossy(&bytes).into())
        };
        self.0.entry(path.to_owned()).or_insert_with_key(|path| read(path)).clone()
    }
}

fn argument(text: &str) -> Result<WorkspaceArgument, Failure> {
    let given = settings::folder_of(text);
    let single = match settings::workspace(text) {
        Ok(single) => single,
        Err(failure) if given != text => return Err(failure),
        Err(_) => settings::workspace(&format!("{DEFAULT_ID}={text}"))?,
    };
    Ok(WorkspaceArgument { folder: given.to_owned(), single })
}

/// A workspace given as an argument, with the id that the config gives to its folder, if it does.
#[cfg(feature = "inspector")]
pub(super) fn single(text: &str, config: &Config) -> Result<SingleWorkspace, Failure> {
    let single = argument(text)?.single;
    let id = configured_id(config, &single).unwrap_or(&single.id).clone();
    Ok(SingleWorkspace { id, ..single })
}

/// The id that the config gives to the folder, if it is another one.
fn configured_id<'c>(config: &'c Config, single: &SingleWorkspace) -> Option<&'c Id> {
    let mut configured = config.source.workspaces.iter();
    configured.find(|(id, folder)| *folder == single.folder && *id != single.id).map(|(id, _)| id)
}
