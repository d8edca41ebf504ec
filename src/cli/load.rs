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
    workspace::{self, Entry, FileBytes, Load, MANIFEST, ReadError, Tree},
};
use promptd_source::{FileSet, read_files};

use super::{
    Failure,
    settings::{self, ConfigFile},
};

/// The id of a workspace whose folder's name is none, such as a temporary folder's.
const NAMELESS: &str = "workspace";

/// What offline commands load with: the config, and the profiles.
pub(super) struct Offline {
    pub(super) config: Config,
    pub(super) profiles: Arc<ProfileSet>,
    workspaces: Vec<Named>,
}

/// A workspace as an argument names it.
#[derive(Clone)]
pub(super) struct Named {
    /// The folder as given.
    pub(super) folder: String,
    single: SingleWorkspace,
}

/// A workspace, loaded or not.
pub(super) struct Opened {
    pub(super) named: Named,
    pub(super) loaded: Result<Prepared, Vec<Finding>>,
}

impl Offline {
    /// Reads the config and the profiles for loading the workspaces named: `DIR` or `ID=DIR` each.
    pub(super) fn open(file: &ConfigFile, workspaces: &[String]) -> Result<Self, Failure> {
        let mut workspaces = workspaces.iter().map(|text| named(text)).collect::<Result<Vec<_>, _>>()?;
        let single = workspaces.iter().map(|named| named.single.clone()).collect();
        let overrides = Overrides { single, ..Overrides::default() };
        let settings::Loaded { config, .. } = settings::load(file, &overrides, true)?;
        for named in &mut workspaces {
            named.single.id = served_as(&config, named);
        }
        let profiles = promptd_source::first_profiles(&config.source)
            .map_err(|findings| Failure::input(settings::report_files(&of_profiles(&findings, &config))))?;
        Ok(Self { config, profiles: Arc::new(profiles), workspaces })
    }

    /// Loads each workspace, in the order given.
    pub(super) fn load(&self) -> impl Iterator<Item = Result<Opened, Failure>> {
        self.workspaces.iter().map(|named| {
            if !named.single.folder.is_dir() {
                return Err(Failure::run(format!("there is no folder {}", named.folder)));
            }
            let loaded =
                promptd_source::load_once(&named.single.id, &named.single.folder, &self.config.source, &self.profiles);
            Ok(Opened { named: named.clone(), loaded })
        })
    }

    /// What is wrong with the other files of a workspace that its `workspace.yaml` makes unusable: the defaults take its
    /// place. The service does not tell this, since the defaults lose the blocklist; whoever runs this has the files.
    pub(super) fn beside_manifest(&self, named: &Named) -> Vec<Finding> {
        let folder = &named.single.folder;
        let Ok(tree) = promptd_source::open_tree(folder, &self.config.source.allowed_link_targets) else {
            return Vec::new();
        };
        let loaded = workspace::load(&Load {
            id: &named.single.id,
            root: &folder.to_string_lossy(),
            tree: &WithoutManifest(&tree),
            shared_skills: &[],
            profiles: Arc::clone(&self.profiles),
            settings: Arc::new(self.config.source.settings.clone()),
            previous: None,
        });
        loaded.map_or_else(|findings| findings, |snapshot| snapshot.findings.clone())
    }

    /// The findings with files that can be opened, and their text.
    pub(super) fn report(&self, named: &Named, findings: &[Finding]) -> Vec<Reported> {
        let shared: Vec<_> = self.config.source.shared_skills.iter().map(PathBuf::as_path).collect();
        let mut texts = Texts::default();
        let one = |finding: &Finding| {
            let Place::File { path, .. } = &finding.place else {
                return Reported { finding: finding.clone(), subject: named.subject(), file: None, source: None };
            };
            let (file, at) = match path.strip_prefix("@shared/") {
                None => (Path::new(&named.folder).join(path), named.single.folder.join(path)),
                Some(path) => {
                    let home = shared.iter().find(|home| home.join(path).exists()).copied().unwrap_or(Path::new(""));
                    (home.join(path), home.join(path))
                }
            };
            let source = texts.read(&at);
            let file = Some(file.display().to_string());
            Reported { finding: finding.clone(), subject: named.subject(), file, source }
        };
        findings.iter().map(one).collect()
    }
}

impl Named {
    /// The workspace's id.
    pub(super) fn subject(&self) -> String {
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
pub(super) fn of_profiles(findings: &[Finding], config: &Config) -> Vec<Reported> {
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
            // UTF-16 has no lines that could be shown as they are.
            (!bytes.contains(&0)).then(|| String::from_utf8_lossy(&bytes).into())
        };
        self.0.entry(path.to_owned()).or_insert_with_key(|path| read(path)).clone()
    }
}

fn named(text: &str) -> Result<Named, Failure> {
    let given = text.split_once('=').filter(|(id, _)| !id.contains('/')).map_or(text, |(_, folder)| folder);
    let single = match settings::workspace(text) {
        Ok(single) => single,
        Err(failure) if given != text => return Err(failure),
        Err(_) => settings::workspace(&format!("{NAMELESS}={text}"))?,
    };
    Ok(Named { folder: given.to_owned(), single })
}

/// The id that the config serves the folder as; else the one that the argument gives it.
fn served_as(config: &Config, named: &Named) -> Id {
    let mut served = config.source.workspaces.iter();
    let served = served.find(|(id, folder)| *folder == named.single.folder && *id != named.single.id);
    served.map_or_else(|| named.single.id.clone(), |(id, _)| id.clone())
}
