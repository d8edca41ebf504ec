//! Reading a workspace, and a folder of workspaces.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use promptd_core::{
    canary::Canary,
    finding::{Code, Finding, Place, Severity},
    id::Id,
    profile::ProfileSet,
    settings::Settings,
    workspace::{self, Captured, Capturing, Entry, FileBytes, Layer, Load, Origin, ReadError, Snapshot, Tree},
};

use super::{read_set::ReadSet, tree::DiskTree};
use crate::{
    external::{External, ExternalWorkspace, NO_ROOT},
    options::Options,
};

/// What loading a workspace depends on besides its files.
pub(crate) struct Inputs<'a> {
    pub(crate) options: &'a Options,
    pub(crate) settings: &'a Arc<Settings>,
    pub(crate) profiles: &'a Arc<ProfileSet>,
    /// The last good version.
    pub(crate) previous: Option<&'a Snapshot>,
    /// What that was loaded from.
    pub(crate) previous_origin: Option<&'a Arc<Origin>>,
    /// The workspaces that are not folders.
    pub(crate) external: Option<&'a dyn External>,
}

/// What a workspace's own files gave.
#[derive(Clone)]
pub(crate) struct Own {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) origin: Option<Arc<Origin>>,
    /// What some turns get instead of it.
    pub(crate) candidate: Option<Arc<OwnCandidate>>,
}

/// What the files of a canary's candidate gave, and which turns get it.
pub(crate) struct OwnCandidate {
    pub(crate) canary: Canary,
    pub(crate) own: Own,
}

impl Own {
    pub(crate) fn alone(snapshot: Snapshot, origin: Option<Arc<Origin>>) -> Self {
        Self { snapshot: Arc::new(snapshot), origin, candidate: None }
    }

    /// The workspaces that it extends, on either side of a canary.
    pub(crate) fn extends(&self) -> impl Iterator<Item = &Id> {
        let candidate = self.candidate.iter().flat_map(|candidate| &candidate.own.snapshot.manifest.extends);
        self.snapshot.manifest.extends.iter().chain(candidate)
    }

    /// The same with errors, which change no text of a prompt.
    pub(crate) fn with_errors(self, errors: impl IntoIterator<Item = Finding>) -> Self {
        let mut errors = errors.into_iter().peekable();
        if errors.peek().is_none() {
            return self;
        }
        Self { snapshot: Arc::new(self.snapshot.with_errors(errors)), ..self }
    }
}

/// What became of loading a workspace.
pub(crate) enum Loading {
    Loaded(Own),
    /// `workspace.yaml` is invalid and was never valid.
    Invalid(Vec<Finding>),
    /// The workspace's folder cannot be opened.
    Unopened(ReadError),
}

pub(crate) fn load(id: &Id, path: &Path, inputs: &Inputs<'_>) -> (ReadSet, Loading) {
    load_as(id, &path.to_string_lossy(), path, inputs)
}

/// The same with the path that prompts show.
fn load_as(id: &Id, root: &str, path: &Path, inputs: &Inputs<'_>) -> (ReadSet, Loading) {
    let tree = match DiskTree::open(path, &inputs.options.allowed_link_targets) {
        Ok(tree) => tree,
        Err((error, read)) => return (read, Loading::Unopened(error)),
    };
    let (shared, loading) = load_with_shared(id, root, &tree, inputs);
    (ReadSet::join([tree.into_read_set(), shared]), loading)
}

/// Loads a workspace that is not a folder, as it was read; `None`: it does not exist. Its prompts show no path of this machine.
pub(crate) fn load_external(id: &Id, workspace: Option<ExternalWorkspace>, inputs: &Inputs<'_>) -> (ReadSet, Loading) {
    let Some(ExternalWorkspace { tree, candidate, fault }) = workspace else {
        return (ReadSet::default(), Loading::Unopened(ReadError::Missing));
    };
    let Some(tree) = tree else { return (ReadSet::default(), Loading::Invalid(fault.into_iter().collect())) };
    let settings = Arc::new(Settings { expose_paths: false, ..Settings::clone(inputs.settings) });
    let inputs = Inputs { settings: &settings, ..*inputs };
    let (read, loading) = load_with_shared(id, NO_ROOT, &*tree, &inputs);
    let Loading::Loaded(own) = loading else { return (read, loading) };
    let Some((canary, tree)) = candidate else { return (read, Loading::Loaded(own.with_errors(fault))) };
    // It has no last good version: the other side's is not its own.
    let alone = Inputs { previous: None, previous_origin: None, ..inputs };
    let (read_too, loading) = load_with_shared(id, NO_ROOT, &*tree, &alone);
    let own = match loading {
        Loading::Loaded(candidate) => {
            Own { candidate: Some(Arc::new(OwnCandidate { canary, own: candidate })), ..own.with_errors(fault) }
        }
        Loading::Invalid(errors) => own.with_errors([no_candidate(&errors)]),
        Loading::Unopened(_) => own,
    };
    (ReadSet::join([read, read_too]), Loading::Loaded(own))
}

/// No turn gets the candidate of a canary, since it has these errors.
pub(crate) fn no_candidate(errors: &[Finding]) -> Finding {
    let why = errors.first().map(ToString::to_string).unwrap_or_default();
    let message = format!("the candidate of the canary cannot be used, and no turn gets it: {why}");
    Finding::new(Code::PublicationInvalid, Place::Unplaced, message)
}

/// Loads a tree with the shared skills, and gives what of those was read.
fn load_with_shared(id: &Id, root: &str, tree: &dyn Tree, inputs: &Inputs<'_>) -> (ReadSet, Loading) {
    let shared = open_shared(inputs.options);
    // A bug that one workspace brings out must not end reloading for all. Nothing outlives the load but what the trees
    // have recorded, which is complete after each step.
    let loading = catch_unwind(AssertUnwindSafe(|| load_of(id, root, tree, &shared, inputs))).unwrap_or_else(|_| {
        let message = "loading this workspace failed inside the service";
        Loading::Invalid(vec![Finding::new(Code::LoadFailed, Place::Unplaced, message)])
    });
    (ReadSet::join(shared.into_iter().map(|(_, tree)| tree.into_read_set())), loading)
}

fn load_of(id: &Id, root: &str, tree: &dyn Tree, shared: &[(String, SharedTree)], inputs: &Inputs<'_>) -> Loading {
    let load = |tree: &dyn Tree, shared_skills: &[(&str, &dyn Tree)]| {
        workspace::load(&Load {
            id,
            root,
            tree,
            shared_skills,
            profiles: Arc::clone(inputs.profiles),
            settings: Arc::clone(inputs.settings),
            previous: inputs.previous,
        })
    };
    if !inputs.options.keep_origins {
        let shared: Vec<_> = shared.iter().map(|(path, tree)| (path.as_str(), tree as &dyn Tree)).collect();
        let loaded = load(tree, &shared);
        return loaded.map_or_else(Loading::Invalid, |snapshot| Loading::Loaded(Own::alone(snapshot, None)));
    }
    let known = inputs.previous_origin;
    let tree = Capturing::new(tree, known.map(|known| &known.tree));
    let known_shared = |path: &str| known?.shared_skills.iter().find(|(known, _)| known == path).map(|(_, tree)| tree);
    let captured: Vec<_> =
        shared.iter().map(|(path, tree)| (path.as_str(), Capturing::new(tree, known_shared(path)))).collect();
    let views: Vec<_> = captured.iter().map(|(path, tree)| (*path, tree as &dyn Tree)).collect();
    let snapshot = match load(&tree, &views) {
        Ok(snapshot) => snapshot,
        Err(findings) => return Loading::Invalid(findings),
    };
    let origin = origin(&snapshot, tree, captured, inputs);
    Loading::Loaded(Own::alone(snapshot, origin.map(Arc::new)))
}

/// What a snapshot was loaded from, if that is not too much and gives the same snapshot again.
fn origin(
    snapshot: &Snapshot,
    tree: Capturing<'_>,
    shared: Vec<(&str, Capturing<'_>)>,
    inputs: &Inputs<'_>,
) -> Option<Origin> {
    let finish = |(path, tree): (&str, Capturing<'_>)| Some((path.to_owned(), tree.finish()?));
    let shared_skills = shared.into_iter().map(finish).collect::<Option<Vec<(String, Captured)>>>()?;
    let origin = Origin {
        id: snapshot.id.clone(),
        root: Arc::clone(&snapshot.root),
        tree: tree.finish()?,
        shared_skills,
        profiles: Arc::clone(inputs.profiles),
        settings: Arc::clone(inputs.settings),
        previous: None,
        layers: Vec::new(),
    };
    // A part that keeps its last good version has a finding of a warning at least.
    let is_whole = snapshot.findings.iter().all(|finding| finding.severity == Severity::Info);
    if is_whole { Some(origin) } else { origin.behind(inputs.previous_origin, snapshot) }
}

/// Loads a workspace as the reload loop would, but once. Its layers are where [`layer_folders`] says.
pub(crate) fn load_once(
    id: &Id,
    root: &str,
    path: &Path,
    options: &Options,
    profiles: &Arc<ProfileSet>,
) -> Result<Snapshot, Vec<Finding>> {
    let settings = Arc::new(options.settings.clone());
    let inputs =
        Inputs { options, settings: &settings, profiles, previous: None, previous_origin: None, external: None };
    let own = match load_as(id, root, path, &inputs).1 {
        Loading::Loaded(own) => own.snapshot,
        Loading::Invalid(findings) => return Err(findings),
        Loading::Unopened(error) => return Err(vec![folder_unreadable(error)]),
    };
    if own.manifest.extends.is_empty() {
        return Ok(Arc::unwrap_or_clone(own));
    }
    let known = RefCell::new(BTreeMap::new());
    let find = |id: &Id| {
        let mut known = known.borrow_mut();
        let layer = || load_layer(layer_folders(id, &[path, Path::new(root)], options), id, &inputs);
        known.entry(id.clone()).or_insert_with(layer).clone()
    };
    workspace::compose(&own, None, &find)
}

/// The same for a workspace that is not a folder. Its layers are folders that the settings name, or no folders either.
pub(crate) fn load_external_once(
    id: &Id,
    external: &dyn External,
    options: &Options,
    profiles: &Arc<ProfileSet>,
) -> Result<Snapshot, Vec<Finding>> {
    let settings = Arc::new(options.settings.clone());
    let inputs =
        Inputs { options, settings: &settings, profiles, previous: None, previous_origin: None, external: None };
    let own = match load_external(id, external.workspace(id), &inputs).1 {
        Loading::Loaded(own) => own.snapshot,
        Loading::Invalid(findings) => return Err(findings),
        Loading::Unopened(error) => return Err(vec![folder_unreadable(error)]),
    };
    if own.manifest.extends.is_empty() {
        return Ok(Arc::unwrap_or_clone(own));
    }
    let known = RefCell::new(BTreeMap::new());
    let published = |id: &Id| match load_external(id, external.workspace(id), &inputs).1 {
        Loading::Loaded(own) => Some(Arc::new(Layer::new(own.snapshot))),
        Loading::Invalid(_) | Loading::Unopened(_) => None,
    };
    let find = |id: &Id| {
        let mut known = known.borrow_mut();
        let layer = || load_layer(layer_folders(id, &[], options), id, &inputs).or_else(|| published(id));
        known.entry(id.clone()).or_insert_with(layer).clone()
    };
    workspace::compose(&own, None, &find)
}

fn load_layer(mut folders: impl Iterator<Item = PathBuf>, id: &Id, inputs: &Inputs<'_>) -> Option<Arc<Layer>> {
    folders.find_map(|folder| match load(id, &folder, inputs).1 {
        Loading::Loaded(own) => Some(Some(Arc::new(Layer::new(own.snapshot)))),
        Loading::Unopened(ReadError::Missing) => None,
        Loading::Invalid(_) | Loading::Unopened(_) => Some(None),
    })?
}

/// The folders where a layer may be of a workspace that is loaded without the service: the one that the settings name, those
/// beside the places of the workspace, and those in the roots.
pub fn layer_folders<'a>(
    id: &'a Id,
    workspace: &'a [&'a Path],
    options: &'a Options,
) -> impl Iterator<Item = PathBuf> + 'a {
    let named = options.workspaces.iter().filter(move |(known, _)| known == id).map(|(_, path)| path.clone());
    let beside = workspace.iter().filter_map(|path| path.parent());
    named.chain(beside.chain(options.roots.iter().map(PathBuf::as_path)).map(move |parent| parent.join(id.as_str())))
}

/// The workspace's own folder cannot be read.
pub(crate) fn folder_unreadable(error: ReadError) -> Finding {
    Finding::new(Code::FileUnreadable, Place::Unplaced, format!("the workspace's folder {error}"))
}

/// Lists a folder of workspaces; they may be links to any place, since the operator made them.
pub(crate) fn list_root(path: &Path) -> (ReadSet, Result<Vec<Entry>, ReadError>) {
    match DiskTree::open(path, &[PathBuf::from("/")]) {
        Ok(tree) => {
            let listed = tree.list("");
            (tree.into_read_set(), listed)
        }
        Err((error, read)) => (read, Err(error)),
    }
}

fn open_shared(options: &Options) -> Vec<(String, SharedTree)> {
    let open = |path: &PathBuf| match DiskTree::open(path, &options.allowed_link_targets) {
        Ok(tree) => SharedTree::Open(tree),
        Err((error, read)) => SharedTree::Unopened(error, read),
    };
    options.shared_skills.iter().map(|path| (path.to_string_lossy().into_owned(), open(path))).collect()
}

/// A shared skill folder, whether it can be opened or not.
enum SharedTree {
    Open(DiskTree),
    Unopened(ReadError, ReadSet),
}

impl SharedTree {
    fn into_read_set(self) -> ReadSet {
        match self {
            Self::Open(tree) => tree.into_read_set(),
            Self::Unopened(_, read) => read,
        }
    }
}

impl Tree for SharedTree {
    fn read(&self, path: &str, limit: usize) -> Result<FileBytes, ReadError> {
        match self {
            Self::Open(tree) => tree.read(path, limit),
            Self::Unopened(error, _) => Err(*error),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<Entry>, ReadError> {
        match self {
            Self::Open(tree) => tree.list(path),
            Self::Unopened(error, _) => Err(*error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_a_workspace_was_loaded_from_is_kept_where_asked_for() {
        let home = tempfile::tempdir().unwrap();
        let (ws, shared) = (home.path().join("ws"), home.path().join("shared"));
        let skill = |name: &str| format!("---\nname: {name}\ndescription: Tells the tides.\n---\nLook it up.\n");
        for (path, text) in [
            (ws.join("AGENTS.md"), "Answer in one sentence.".to_owned()),
            (ws.join("skills/tides/SKILL.md"), skill("tides")),
            (ws.join("skills/tides/notes.txt"), "bundled".to_owned()),
            (shared.join("moon/SKILL.md"), skill("moon")),
        ] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let options = Options { shared_skills: vec![shared.clone()], keep_origins: true, ..Options::default() };
        let (profiles, settings) = (Arc::new(ProfileSet::built_in()), Arc::new(options.settings.clone()));
        let id = Id::parse("ws").unwrap();
        let load = |options: &Options, previous: Option<(&Snapshot, &Arc<Origin>)>| {
            let inputs = Inputs {
                options,
                settings: &settings,
                profiles: &profiles,
                previous: previous.map(|(snapshot, _)| snapshot),
                previous_origin: previous.map(|(_, origin)| origin),
                external: None,
            };
            match super::load(&id, &ws, &inputs).1 {
                Loading::Loaded(own) => (own.snapshot, own.origin),
                Loading::Invalid(findings) => panic!("{findings:?}"),
                Loading::Unopened(error) => panic!("{error}"),
            }
        };
        assert!(load(&Options { keep_origins: false, ..options.clone() }, None).1.is_none());
        let (first, origin) = load(&options, None);
        let origin = origin.unwrap();
        fs::write(ws.join("workspace.yaml"), "agent: {name: Harbor}\n").unwrap();
        let (second, second_origin) = load(&options, Some((&first, &origin)));
        let moon =
            |origin: &Origin| Arc::clone(&origin.shared_skills[0].1.files["moon/SKILL.md"].as_ref().unwrap().bytes);
        assert!(Arc::ptr_eq(&moon(&origin), &moon(&second_origin.unwrap())), "what is the same is held once");
        fs::write(ws.join("workspace.yaml"), "agent: [\n").unwrap();
        let (broken, broken_origin) = load(&options, Some((&second, &origin)));
        assert!(broken_origin.is_none(), "the last good workspace.yaml is not among what the origins have");
        drop(broken);
        fs::remove_dir_all(home.path()).unwrap();
        assert_eq!(origin.load().unwrap().revision, first.revision);
        assert_eq!(first.skills.len(), 2);
    }
}
