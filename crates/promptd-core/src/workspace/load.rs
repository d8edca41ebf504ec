//! Loading a workspace: from a tree to a snapshot.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Document, Manifest, Marks, ReadError, Snapshot, Tree,
    collector::{Audience, Collector},
    files::{self, CONTEXT_FILES},
    manifest::{self, MANIFEST},
    nested, revision, skill,
    tree::ReadAs,
};
use crate::{
    digest::sha256_hex,
    finding::{Code, Finding, Place, Severity},
    id::Id,
    profile::ProfileSet,
    settings::Settings,
    yaml::MAX_YAML_BYTES,
};

/// All that a load depends on.
pub struct Load<'a> {
    /// The workspace's id.
    pub id: &'a Id,
    /// Its absolute path, as prompts may show it.
    pub root: &'a str,
    /// Its folder.
    pub tree: &'a dyn Tree,
    /// The server's shared skill folders: the absolute path as prompts may show it, and the folder. Their files are
    /// named `@shared/…` in findings and reports; where there are several, the first that has a skill wins.
    pub shared_skills: &'a [(&'a str, &'a dyn Tree)],
    /// The profiles.
    pub profiles: Arc<ProfileSet>,
    /// The server's settings.
    pub settings: Arc<Settings>,
    /// The last good snapshot: where a part is invalid now, its version from there stays.
    pub previous: Option<&'a Snapshot>,
}

/// Loads a workspace. The error case has at least one error finding: `workspace.yaml` is invalid and was never good.
pub fn load(input: &Load<'_>) -> Result<Snapshot, Vec<Finding>> {
    let mut collector = Collector::default();
    let Read { manifest, marks, sha256: manifest_sha256 } = load_manifest(input, &mut collector)?;
    let profiles = profiles(input, &manifest);
    if let Some(error) = profiles.error(manifest.profile.as_str()) {
        collector.report(error.clone(), Audience::Callers);
    }
    let nested = nested::load(input, &manifest, &mut collector);
    let paths = files::to_read(&manifest, &profiles, input.tree, input.previous);
    let (documents, unusable) = load_documents(input, &paths, &mut collector);
    report_missing(input, &manifest, &mut collector);
    report_same_content(&manifest, &documents, &mut collector);
    for finding in files::near_misses(input.tree, &paths) {
        collector.report(finding, Audience::Callers);
    }
    let skills = skill::load(input, &manifest, &mut collector);
    let inputs = std::mem::take(&mut collector.inputs);
    let (findings, active) = collector.into_findings();
    let mut snapshot = Snapshot {
        id: input.id.clone(),
        root: input.root.into(),
        manifest,
        marks,
        inherited: BTreeMap::new(),
        manifest_sha256,
        documents,
        unusable,
        nested,
        skills,
        layers: Vec::new(),
        own: None,
        profiles,
        settings: Arc::clone(&input.settings),
        findings,
        active,
        inputs,
        revision: revision::none(),
    };
    snapshot.revision = revision::of(&snapshot);
    Ok(snapshot)
}

/// The profiles, with the last good one of the workspace where that has gone, which [`load_manifest`] reports.
fn profiles(input: &Load<'_>, manifest: &Manifest) -> Arc<ProfileSet> {
    let name = manifest.profile.as_str();
    let gone = input.profiles.get(name).is_none();
    match input.previous.filter(|_| gone).and_then(|previous| previous.profiles.get(name)) {
        Some(last_good) => Arc::new(input.profiles.keeping(last_good)),
        None => Arc::clone(&input.profiles),
    }
}

/// The manifest in use.
struct Read {
    manifest: Manifest,
    marks: Arc<Marks>,
    /// The hash of its bytes, empty where there is no file.
    sha256: Arc<str>,
}

impl Read {
    fn of(last_good: &Snapshot) -> Self {
        Self {
            manifest: last_good.manifest.clone(),
            marks: Arc::clone(&last_good.marks),
            sha256: Arc::clone(&last_good.manifest_sha256),
        }
    }
}

fn load_manifest(input: &Load<'_>, collector: &mut Collector) -> Result<Read, Vec<Finding>> {
    // One byte more than the limit shows that a file is too large, whatever size the tree gives.
    let faults = match input.tree.read(MANIFEST, MAX_YAML_BYTES + 1) {
        Err(ReadError::Missing) => return Ok(without_content(input, "is missing", "".into(), collector)),
        Err(error) => vec![error.into_finding(MANIFEST, ReadAs::File)],
        Ok(file) => {
            let hash = sha256_hex(&file.bytes);
            collector.inputs.insert(MANIFEST.into(), Arc::clone(&hash));
            match manifest::parse(&file, input.id, &input.profiles, input.settings.risks) {
                Ok(None) => return Ok(without_content(input, "has no content", hash, collector)),
                Ok(Some(manifest::Parsed { manifest, marks, risks })) => {
                    for risk in risks {
                        let audience = Audience::callers_if(risk.severity > Severity::Info);
                        collector.report(risk, audience);
                    }
                    return Ok(Read { manifest, marks: Arc::new(marks), sha256: hash });
                }
                Err(faults) => faults,
            }
        }
    };
    let faults = faults.into_iter().map(|fault| Finding { severity: Severity::Error, ..fault });
    let Some(previous) = input.previous else { return Err(faults.collect()) };
    for fault in faults {
        let message = format!("{}; the last good {MANIFEST} stays in use", fault.message);
        collector.report(Finding { message, ..fault }, Audience::Callers);
    }
    Ok(Read::of(previous))
}

/// The manifest of a workspace whose `workspace.yaml` has no content: the defaults, unless its blocklist, its locks and its
/// other settings would be lost by it. An editor or a deployment that removes the file for a moment must not open what is
/// closed; `{}` asks for the defaults.
fn without_content(input: &Load<'_>, state: &str, sha256: Arc<str>, collector: &mut Collector) -> Read {
    let defaults = Manifest::defaults(input.id);
    match input.previous.filter(|previous| previous.manifest != defaults) {
        Some(previous) => {
            let message = format!("the file {state}; the last good {MANIFEST} stays in use");
            let finding = Finding::new(Code::ManifestEmpty, Place::file(MANIFEST), message);
            collector.report(finding, Audience::Callers);
            Read::of(previous)
        }
        None => Read { manifest: defaults, marks: Arc::default(), sha256 },
    }
}

type Documents = BTreeMap<Arc<str>, Arc<Document>>;
type Unusable = BTreeMap<Arc<str>, Finding>;

fn load_documents(input: &Load<'_>, paths: &BTreeSet<String>, collector: &mut Collector) -> (Documents, Unusable) {
    let (mut documents, mut unusable) = (Documents::new(), Unusable::new());
    for path in paths {
        let good = input.previous.and_then(|previous| previous.documents.get(path.as_str()));
        match load_document(input, path, good, collector) {
            Some(Ok(document)) => drop(documents.insert(Arc::clone(&document.path), document)),
            Some(Err(reason)) => drop(unusable.insert(path.as_str().into(), reason)),
            None => {}
        }
    }
    (documents, unusable)
}

/// Loads one document; the error is why a file that is there cannot be used. `good`: its last good version.
pub(super) fn load_document(
    input: &Load<'_>,
    path: &str,
    good: Option<&Arc<Document>>,
    collector: &mut Collector,
) -> Option<Result<Arc<Document>, Finding>> {
    match input.tree.read(path, input.settings.max_file_bytes) {
        Err(ReadError::Missing) => None,
        Err(error) => {
            let mut finding = error.into_finding(path, ReadAs::File);
            let good = good.filter(|_| error.keeps_last_good());
            if good.is_some() {
                finding.message.push_str("; its last good version stays in use");
            }
            collector.report(finding.clone(), Audience::Callers);
            Some(good.cloned().ok_or(finding))
        }
        Ok(file) => {
            let path = path.into();
            let read = Document::read(&path, &file, input.settings.risks);
            collector.inputs.insert(path, read.sha256);
            for finding in &read.findings {
                collector.report(finding.clone(), Audience::callers_if(finding.is_error()));
            }
            let refused = read.findings.into_iter().find(Finding::is_error);
            let held_once = |document| match good {
                Some(good) if **good == document => Arc::clone(good),
                _ => Arc::new(document),
            };
            read.document.map(|document| Ok(held_once(document))).or_else(|| refused.map(Err))
        }
    }
}

/// Reports files that `context.files` names and that are not there.
fn report_missing(input: &Load<'_>, manifest: &Manifest, collector: &mut Collector) {
    for file in &manifest.context.files {
        if input.tree.read(&file.path, 0) == Err(ReadError::Missing) {
            collector.report(context_file_missing(&file.path), Audience::Callers);
        }
    }
}

/// A file that `context.files` names is not there.
pub(super) fn context_file_missing(path: &str) -> Finding {
    let message = format!("`context.files` names {path}, which does not exist");
    Finding::new(Code::ContextFileMissing, Place::file(MANIFEST), message)
}

/// Reports context files with the same text: both are shown, since their roles differ, and both are counted.
fn report_same_content(manifest: &Manifest, documents: &Documents, collector: &mut Collector) {
    let extra = manifest.context.files.iter().map(|file| file.path.as_str());
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for path in CONTEXT_FILES.into_iter().chain(extra) {
        let Some(document) = documents.get(path).filter(|document| !document.text.is_empty()) else { continue };
        if let Some(first) = seen.get(&*document.sha256) {
            let message = format!("the same content as {first}; both are shown");
            collector.report(Finding::new(Code::SameContent, Place::file(path), message), Audience::Operators);
        } else {
            seen.insert(&document.sha256, path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::testing::{codes, load_tree, reload};
    use crate::workspace::{MemoryTree, ReadError};

    #[test]
    fn a_workspace_without_workspace_yaml_works() {
        let snapshot = load_tree(&MemoryTree::new().file("AGENTS.md", "be kind\n")).unwrap();
        assert_eq!(&*snapshot.documents["AGENTS.md"].text, "be kind");
        assert_eq!(snapshot.manifest, Manifest::defaults(&snapshot.id));
        assert_eq!((snapshot.findings.len(), snapshot.revision.as_str().len()), (0, 64));
    }

    #[test]
    fn an_invalid_manifest_was_never_good() {
        let faults = load_tree(&MemoryTree::new().file("workspace.yaml", "skills: [\n")).unwrap_err();
        assert!(faults.iter().all(Finding::is_error) && !faults.is_empty());
    }

    #[test]
    fn an_invalid_manifest_keeps_the_last_good_one_and_says_so() {
        let good = MemoryTree::new().file("workspace.yaml", "skills: {blocklist: [secret]}\n");
        let first = load_tree(&good).unwrap();
        let broken = good.file("workspace.yaml", "skills: {blocklists: [secret]}\nprofle: x\n");
        let second = reload(&broken, &first).unwrap();
        assert_eq!(second.manifest, first.manifest);
        assert_eq!(codes(&second.active), ["UNKNOWN_KEY", "UNKNOWN_KEY"]);
        assert!(second.active.iter().all(|f| f.message.ends_with("the last good workspace.yaml stays in use")));
        assert_ne!(second.revision, first.revision);
        let third = reload(&broken, &second).unwrap();
        assert_eq!(third.revision, second.revision);
    }

    #[test]
    fn a_manifest_that_vanishes_or_becomes_empty_keeps_its_last_good_version() {
        let good = MemoryTree::new().file("workspace.yaml", "skills: {blocklist: [secret]}\nlocked: [persona]\n");
        let first = load_tree(&good).unwrap();
        for gone in [
            good.clone().without("workspace.yaml"),
            good.clone().file("workspace.yaml", ""),
            good.clone().file("workspace.yaml", "# nothing yet\n---\n"),
        ] {
            let second = reload(&gone, &first).unwrap();
            assert_eq!((&second.manifest, codes(&second.active)), (&first.manifest, vec!["MANIFEST_EMPTY"]));
            let third = reload(&gone, &second).unwrap();
            assert_eq!((&third.manifest, third.revision.clone()), (&first.manifest, second.revision));
            let content = reload(&gone.clone().file("workspace.yaml", "{}"), &third).unwrap();
            assert_eq!((&content.manifest, content.active.len()), (&Manifest::defaults(&content.id), 0));
            assert_eq!(load_tree(&gone).unwrap().manifest, content.manifest, "without a version before, the defaults");
        }
        let plain = load_tree(&MemoryTree::new().file("workspace.yaml", "expose_paths: true")).unwrap();
        assert!(reload(&MemoryTree::new(), &plain).unwrap().active.is_empty(), "nothing is lost");
    }

    #[test]
    fn a_manifest_with_a_fault_is_taken_whole_or_not_at_all() {
        let locked = MemoryTree::new().file("workspace.yaml", "locked: [persona]\nskils: {enabled: false}\n");
        assert_eq!(codes(&load_tree(&locked).unwrap_err()), ["UNKNOWN_KEY"]);
        let first = load_tree(&MemoryTree::new()).unwrap();
        let second = reload(&locked, &first).unwrap();
        assert_eq!((&second.manifest, codes(&second.active)), (&first.manifest, vec!["UNKNOWN_KEY"]));
    }

    #[test]
    fn unreadable_is_not_missing() {
        for (error, code) in [
            (ReadError::Denied, "FILE_UNREADABLE"),
            (ReadError::WrongKind("a FIFO"), "FILE_UNREADABLE"),
            (ReadError::LinkOutside, "LINK_OUTSIDE"),
            (ReadError::LinkDangling, "LINK_BROKEN"),
            (ReadError::LinkLoop, "LINK_BROKEN"),
        ] {
            let tree = MemoryTree::new().failing("AGENTS.md", error).file("SOUL.md", "calm");
            let snapshot = load_tree(&tree).unwrap();
            assert_eq!(codes(&snapshot.active), [code]);
            assert!(snapshot.unusable.contains_key("AGENTS.md") && !snapshot.documents.contains_key("AGENTS.md"));
            assert_eq!(&*snapshot.documents["SOUL.md"].text, "calm");
        }
    }

    #[test]
    fn a_file_that_may_not_be_read_any_more_keeps_its_last_good_version() {
        let good = MemoryTree::new().file("AGENTS.md", "rules");
        let first = load_tree(&good).unwrap();
        let second = reload(&good.clone().failing("AGENTS.md", ReadError::Denied), &first).unwrap();
        assert_eq!(&*second.documents["AGENTS.md"].text, "rules");
        assert!(second.active[0].message.ends_with("its last good version stays in use"));
        let outside = reload(&good.clone().failing("AGENTS.md", ReadError::LinkOutside), &first).unwrap();
        assert!(!outside.documents.contains_key("AGENTS.md"), "a link that leads out is not a temporary fault");
        assert_eq!(reload(&good, &second).unwrap().revision, first.revision);
    }

    #[test]
    fn a_file_that_is_gone_is_gone() {
        let good = MemoryTree::new().file("AGENTS.md", "rules").file("SOUL.md", "calm");
        let second = reload(&good.clone().without("SOUL.md"), &load_tree(&good).unwrap()).unwrap();
        assert!(!second.documents.contains_key("SOUL.md") && second.active.is_empty());
    }

    #[test]
    fn the_same_content_twice_is_shown_twice_with_a_note() {
        let tree = MemoryTree::new().file("AGENTS.md", "x").file("SOUL.md", "x").file("IDENTITY.md", "");
        let snapshot = load_tree(&tree).unwrap();
        assert_eq!(codes(&snapshot.findings), ["SAME_CONTENT"]);
        assert!(snapshot.documents.len() == 3 && snapshot.active.is_empty());
    }

    #[test]
    fn near_misses_and_missing_extra_files_are_reported() {
        let tree = MemoryTree::new()
            .file("workspace.yaml", "context: {files: [{path: docs/RUNBOOK.md}]}")
            .file("agents.md", "x")
            .file("workspace.yml", "x")
            .file("docs/runbook.md", "x");
        let found: Vec<_> = load_tree(&tree).unwrap().active.iter().map(|f| f.place.to_string()).collect();
        assert_eq!(found, ["agents.md", "docs/runbook.md", "workspace.yaml", "workspace.yml"]);
    }
}
