//! Workspaces that are not folders, beside those that are.

use std::{
    collections::BTreeMap,
    fs,
    sync::{Arc, Mutex},
};

use promptd_core::{
    finding::{Code, Finding, Place},
    id::Id,
    settings::Settings,
    workspace::MemoryTree,
};
use promptd_source::{
    External, ExternalWorkspace, Options, read_file_beside,
    store::{Loaded, State},
};

use super::service::{Service, options};

/// Workspaces in memory.
#[derive(Default)]
struct Memory(Mutex<BTreeMap<Id, Published>>);

/// A tree, or none, and why that is not the newest.
type Published = (Option<MemoryTree>, Option<Finding>);

impl Memory {
    fn set(&self, id: &str, tree: impl Into<Option<MemoryTree>>, fault: Option<&str>) -> Vec<Id> {
        let id = Id::parse(id).unwrap();
        let fault = fault.map(|message| Finding::new(Code::PublicationInvalid, Place::Unplaced, message));
        self.0.lock().unwrap().insert(id.clone(), (tree.into(), fault));
        vec![id]
    }

    fn remove(&self, id: &str) -> Vec<Id> {
        self.0.lock().unwrap().remove(id);
        vec![Id::parse(id).unwrap()]
    }
}

impl External for Memory {
    fn ids(&self) -> Vec<Id> {
        self.0.lock().unwrap().keys().cloned().collect()
    }

    fn workspace(&self, id: &Id) -> Option<ExternalWorkspace> {
        let (tree, fault) = self.0.lock().unwrap().get(id)?.clone();
        let tree = tree.map(|tree| Arc::new(tree) as _);
        Some(ExternalWorkspace { tree, fault })
    }
}

fn tree(text: &str) -> MemoryTree {
    let skill = "---\nname: tides\ndescription: Tells the tides.\n---\nLook it up.\n";
    MemoryTree::new().file("AGENTS.md", text).file("skills/tides/SKILL.md", skill)
}

fn loaded(state: &State) -> &Loaded {
    match state {
        State::Ready(loaded) => loaded,
        other => panic!("{other:?}"),
    }
}

fn has(state: &State, text: &str) -> bool {
    let is_there = |loaded: &Loaded| loaded.snapshot.document("AGENTS.md").is_some_and(|file| *file.text == *text);
    matches!(state, State::Ready(loaded) if is_there(loaded))
}

#[test]
fn what_is_published_elsewhere_is_served_and_shows_no_path() {
    let shared = tempfile::tempdir().unwrap();
    fs::create_dir_all(shared.path().join("moon")).unwrap();
    fs::write(shared.path().join("moon/SKILL.md"), "---\nname: moon\ndescription: Tells the moon.\n---\n").unwrap();
    let memory = Arc::new(Memory::default());
    memory.set("a", tree("one"), None);
    let options = Options { shared_skills: vec![shared.path().to_path_buf()], ..Options::default() };
    let service = Service::beside(Arc::clone(&memory) as _, options.clone());
    let first = service.store.get("a").unwrap();
    assert!(has(&first, "one"), "served when the start is over");
    let snapshot = &loaded(&first).snapshot;
    assert_eq!((snapshot.shown_root(), snapshot.skills.len()), ("a", 2));
    assert!(snapshot.skills.iter().all(|skill| skill.location.starts_with("skill://")), "{:?}", snapshot.skills);
    for (path, is_there) in
        [("AGENTS.md", true), ("skills/tides/SKILL.md", true), ("@shared/moon/SKILL.md", true), ("other", false)]
    {
        assert_eq!(read_file_beside(&*memory, snapshot, path, &options).is_ok(), is_there, "{path}");
    }

    service.source.changed(memory.set("a", tree("two"), None));
    service.wait("a", "the newer state", |state| has(state, "two"));
    service.source.changed(memory.set("b", tree("new"), None));
    service.wait("b", "a new workspace", |state| has(state, "new"));
    service.source.set_settings(Settings { max_file_bytes: 2, ..Settings::default() });
    service.wait("b", "other settings", |state| has(state, "ne"));
    service.source.set_settings(Settings::default());
    service.wait("b", "the settings of before", |state| has(state, "new"));
    fs::write(shared.path().join("moon/SKILL.md"), "---\nname: sun\ndescription: Tells the sun.\n---\n").unwrap();
    service
        .wait("b", "a shared skill", |state| loaded(state).snapshot.skills.iter().any(|skill| *skill.name == *"sun"));
    service.source.changed(memory.remove("a"));
    service.wait_gone("a");
}

#[test]
fn what_cannot_be_used_keeps_the_last_good_state_and_says_why() {
    let memory = Arc::new(Memory::default());
    memory.set("a", tree("good"), None);
    memory.set("never", None, Some("never any good"));
    let service = Service::beside(Arc::clone(&memory) as _, Options::default());
    assert!(
        matches!(&*service.store.get("never").unwrap(), State::Invalid(faults) if faults[0].message == "never any good")
    );
    let good = loaded(&service.store.get("a").unwrap()).snapshot.clone();
    service.source.changed(memory.set("a", tree("good"), Some("a blob is missing")));
    let is_faulty =
        |state: &State| loaded(state).snapshot.active.iter().any(|finding| finding.code == Code::PublicationInvalid);
    let (state, _) = service.wait("a", "its fault", is_faulty);
    assert!(has(&state, "good"));
    service.source.changed(memory.set("a", tree("good"), None));
    let (state, _) = service.wait("a", "the good state", |state| !is_faulty(state));
    assert_eq!(loaded(&state).snapshot.revision, good.revision);
    // A workspace.yaml that is invalid is loaded as one of a folder is.
    let broken = tree("good").file("workspace.yaml", "agent: [\n");
    service.source.changed(memory.set("a", broken, None));
    service.wait("a", "the fault of workspace.yaml", |state| {
        loaded(state).snapshot.findings.iter().any(Finding::is_error)
    });
}

#[test]
fn of_two_with_one_id_the_folder_is_served_while_it_is_there() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("a");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("AGENTS.md"), "folder").unwrap();
    let memory = Arc::new(Memory::default());
    memory.set("a", tree("published"), None);
    let service = Service::beside(Arc::clone(&memory) as _, options(home.path()));
    assert!(has(&service.store.get("a").unwrap(), "folder"));
    let problems = || service.source.status().problems();
    assert!(problems().iter().any(|problem| problem.contains("the published workspace a is not served")));
    fs::remove_dir_all(&folder).unwrap();
    service.wait("a", "what is published", |state| has(state, "published"));
}
