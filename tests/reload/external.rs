//! Workspaces that are not folders, beside those that are.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::{Arc, Mutex},
};

use promptd_core::{
    canary::{Canary, Key, Share, Side},
    finding::{Code, Finding, Place},
    id::Id,
    settings::Settings,
    workspace::MemoryTree,
};
use promptd_source::{
    External, ExternalWorkspace, Options, read_file_beside,
    store::{Loaded, Pinned, State},
};

use super::service::{Service, options};

/// Workspaces in memory, and which have changed since they were read.
#[derive(Default)]
struct Memory(Mutex<(BTreeMap<Id, Published>, BTreeSet<Id>)>);

/// A tree, or none, why that is not the newest, and what some turns get instead.
type Published = (Option<MemoryTree>, Option<Finding>, Option<(Canary, MemoryTree)>);

impl Memory {
    fn set(&self, id: &str, tree: impl Into<Option<MemoryTree>>, fault: Option<&str>) -> Vec<Id> {
        let id = Id::parse(id).unwrap();
        let fault = fault.map(|message| Finding::new(Code::PublicationInvalid, Place::Unplaced, message));
        self.publish(vec![(id, Some((tree.into(), fault, None)))])
    }

    /// Publishes trees in one transaction.
    fn set_all(&self, trees: &[(&str, MemoryTree)]) -> Vec<Id> {
        let of = |(id, tree): &(&str, MemoryTree)| (Id::parse(id).unwrap(), Some((Some(tree.clone()), None, None)));
        self.publish(trees.iter().map(of).collect())
    }

    fn publish(&self, next: Vec<(Id, Option<Published>)>) -> Vec<Id> {
        let ids: Vec<Id> = next.iter().map(|(id, _)| id.clone()).collect();
        let (live, changed) = &mut *self.0.lock().unwrap();
        for (id, published) in next {
            match published {
                Some(published) => _ = live.insert(id, published),
                None => _ = live.remove(&id),
            }
        }
        changed.extend(ids.iter().cloned());
        ids
    }

    /// Half of the turns get `candidate`.
    fn set_canary(&self, id: &str, tree: MemoryTree, candidate: MemoryTree) -> Vec<Id> {
        let id = Id::parse(id).unwrap();
        let canary = Canary::new(Share::parse("50%").unwrap(), Key::UserId, "salt").unwrap();
        self.publish(vec![(id, Some((Some(tree), None, Some((canary, candidate)))))])
    }

    fn remove(&self, id: &str) -> Vec<Id> {
        self.publish(vec![(Id::parse(id).unwrap(), None)])
    }
}

impl External for Memory {
    fn ids(&self) -> Vec<Id> {
        self.0.lock().unwrap().0.keys().cloned().collect()
    }

    fn workspace(&self, id: &Id) -> Option<ExternalWorkspace> {
        self.0.lock().unwrap().0.get(id).cloned().map(workspace)
    }

    fn read(&self, ids: &[Id]) -> BTreeMap<Id, Option<ExternalWorkspace>> {
        let (live, changed) = &mut *self.0.lock().unwrap();
        let ids = std::mem::take(changed).into_iter().chain(ids.iter().cloned());
        ids.map(|id| (id.clone(), live.get(&id).cloned().map(workspace))).collect()
    }
}

fn workspace((tree, fault, candidate): Published) -> ExternalWorkspace {
    let tree = tree.map(|tree| Arc::new(tree) as _);
    let candidate = candidate.map(|(canary, tree)| (canary, Arc::new(tree) as _));
    ExternalWorkspace { tree, candidate, fault }
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
        assert_eq!(read_file_beside(&*memory, snapshot, Side::Stable, path, &options).is_ok(), is_there, "{path}");
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

/// The text of what some turns get.
fn candidate(state: &State) -> Option<&str> {
    let candidate = loaded(state).candidate.as_ref()?;
    candidate.loaded.snapshot.document("AGENTS.md").map(|file| &*file.text)
}

fn faults(state: &State) -> usize {
    loaded(state).snapshot.active.iter().filter(|finding| finding.code == Code::PublicationInvalid).count()
}

#[test]
fn both_sides_of_a_canary_are_served_and_can_be_pinned() {
    let memory = Arc::new(Memory::default());
    memory.set("a", tree("one"), None);
    let service = Service::beside(Arc::clone(&memory) as _, Options::default());
    let stable = loaded(&service.store.get("a").unwrap()).snapshot.revision.clone();
    service.source.changed(memory.set_canary("a", tree("one"), tree("two")));
    let (state, _) = service.wait("a", "both sides", |state| candidate(state) == Some("two"));
    assert!(has(&state, "one") && loaded(&state).snapshot.revision == stable, "the stable side is as it was");
    let tried = loaded(&state).candidate.as_ref().unwrap().loaded.snapshot.revision.clone();
    let held = |revision: &str| matches!(service.store.at("a", revision), Some(Pinned::Held(_)));
    assert!(held(stable.as_str()) && held(tried.as_str()));
    let listed: Vec<_> = service.store.revisions("a").unwrap();
    assert_eq!(listed.iter().map(|one| one.snapshot.revision.clone()).collect::<Vec<_>>(), [stable, tried.clone()]);
    let skill = |side| {
        let read = read_file_beside(&*memory, &loaded(&state).snapshot, side, "AGENTS.md", &Options::default());
        String::from_utf8(read.unwrap().bytes).unwrap()
    };
    assert_eq!((skill(Side::Stable), skill(Side::Candidate)), ("one".to_owned(), "two".to_owned()));
    // What is promoted is the revision that was tried out.
    service.source.changed(memory.set("a", tree("two"), None));
    let (state, _) = service.wait("a", "the end", |state| has(state, "two"));
    assert!(candidate(&state).is_none() && loaded(&state).snapshot.revision == tried);
}

#[test]
fn a_candidate_that_cannot_be_loaded_is_said_and_no_turn_gets_it() {
    let memory = Arc::new(Memory::default());
    memory.set_canary("a", tree("one"), tree("two").file("workspace.yaml", "agent: [\n"));
    let service = Service::beside(Arc::clone(&memory) as _, Options::default());
    let state = service.store.get("a").unwrap();
    assert!(has(&state, "one") && candidate(&state).is_none() && faults(&state) == 1);
    service.source.changed(memory.set_canary("a", tree("one"), tree("two")));
    let (state, _) = service.wait("a", "the repaired candidate", |state| candidate(state) == Some("two"));
    assert_eq!(faults(&state), 0);
    // The stable side has its own last good version, and the candidate none of it.
    service.source.changed(memory.set_canary("a", tree("one").file("workspace.yaml", "agent: [\n"), tree("two")));
    let (state, _) =
        service.wait("a", "the fault", |state| loaded(state).snapshot.findings.iter().any(Finding::is_error));
    assert!(has(&state, "one") && candidate(&state) == Some("two"));
}

/// A layer is one for all: heirs of a workspace that is tried out get its stable side, and both sides of an heir get the layer.
#[test]
fn layers_and_canaries() {
    let open = |text: &str| tree(text).file("workspace.yaml", "extendable_by: ['*']\n").file("SOUL.md", text);
    let heir = |text: &str| MemoryTree::new().file("AGENTS.md", text).file("workspace.yaml", "extends: [org]\n");
    let memory = Arc::new(Memory::default());
    memory.set_canary("org", open("stable"), open("tried"));
    memory.set_canary("team", heir("one"), heir("two"));
    let service = Service::beside(Arc::clone(&memory) as _, Options::default());
    let souls = |state: &State| {
        let soul = |loaded: &Loaded| loaded.snapshot.document("SOUL.md").map(|file| file.text.to_string());
        let loaded = loaded(state);
        (soul(loaded), loaded.candidate.as_ref().and_then(|candidate| soul(&candidate.loaded)))
    };
    let both = |text: &str| (Some(text.to_owned()), Some(text.to_owned()));
    let state = service.store.get("team").unwrap();
    assert_eq!((souls(&state), candidate(&state)), (both("stable"), Some("two")));
    assert_eq!(candidate(&service.store.get("org").unwrap()), Some("tried"));
    // An edit of the layer reaches both sides, more than once.
    for text in ["edited", "edited again"] {
        service.source.changed(memory.set_canary("org", open(text), open("tried")));
        let (state, _) = service.wait("team", text, |state| souls(state) == both(text));
        assert_eq!(candidate(&state), Some("two"));
    }
    // A candidate that alone extends the layer.
    service.source.changed(memory.set_canary("plain", tree("alone"), heir("with a layer")));
    let (state, _) = service.wait("plain", "both sides", |state| candidate(state) == Some("with a layer"));
    assert_eq!(souls(&state), (None, Some("edited again".to_owned())));
}

fn layer(text: &str) -> MemoryTree {
    MemoryTree::new().file("workspace.yaml", "extendable_by: ['*']\n").file("SOUL.md", text)
}

fn heir(text: &str) -> MemoryTree {
    MemoryTree::new().file("AGENTS.md", text).file("workspace.yaml", "extends: [org]\n")
}

/// What was served of a workspace, the newest first: its own text and its layer's.
fn served(service: &Service, id: &str) -> Vec<(String, String)> {
    let text = |loaded: &Arc<Loaded>, path: &str| {
        loaded.snapshot.document(path).map(|file| file.text.to_string()).unwrap_or_default()
    };
    let revisions = service.store.revisions(id).unwrap();
    revisions.iter().map(|loaded| (text(loaded, "AGENTS.md"), text(loaded, "SOUL.md"))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(own, layer)| ((*own).to_owned(), (*layer).to_owned())).collect()
}

#[test]
fn a_new_layer_is_served_with_the_heir_that_it_was_published_with() {
    let memory = Arc::new(Memory::default());
    memory.set("team", MemoryTree::new().file("AGENTS.md", "one").file("SOUL.md", "own"), None);
    let service = Service::beside(Arc::clone(&memory) as _, Options::default());
    service.source.changed(memory.set_all(&[("org", layer("layer")), ("team", heir("two"))]));
    service.wait("team", "the heir", |state| has(state, "two"));
    assert_eq!(served(&service, "team"), pairs(&[("two", "layer"), ("one", "own")]));
}

#[test]
fn all_heirs_are_served_with_the_layer_that_they_were_published_with() {
    let memory = Arc::new(Memory::default());
    let ids: Vec<String> = (0..63).map(|number| format!("team-{number}")).collect();
    let all = |text: &str| {
        let heirs = ids.iter().map(|id| (id.as_str(), heir(text)));
        memory.set_all(&heirs.chain([("org", layer(text))]).collect::<Vec<_>>())
    };
    all("one");
    let service = Service::beside(Arc::clone(&memory) as _, Options::default());
    service.source.changed(all("two"));
    for id in &ids {
        service.wait(id, "the heir", |state| has(state, "two"));
        assert_eq!(served(&service, id), pairs(&[("two", "two"), ("one", "one")]), "{id}");
    }
}

/// Its turn may come, for another reason, before the news of what it was published with.
#[test]
fn an_heir_that_is_loaded_brings_the_layer_that_it_was_published_with() {
    let memory = Arc::new(Memory::default());
    memory.set_all(&[("org", layer("one")), ("team", heir("one"))]);
    let service = Service::beside(Arc::clone(&memory) as _, Options::default());
    memory.set_all(&[("org", layer("two")), ("team", heir("two"))]);
    service.source.changed(vec![Id::parse("team").unwrap()]);
    service.wait("team", "the heir", |state| has(state, "two"));
    assert_eq!(served(&service, "team"), pairs(&[("two", "two"), ("one", "one")]));
}

#[test]
fn a_canary_is_unloaded_and_loaded_again_with_its_workspace() {
    let memory = Arc::new(Memory::default());
    memory.set_canary("a", tree("one"), tree("two"));
    memory.set("b", tree("other"), None);
    let service = Service::beside_resident(Arc::clone(&memory) as _, Options::default(), Some(0));
    for _ in 0..2 {
        let state = service.loaded("a");
        assert!(has(&state, "one") && candidate(&state) == Some("two"));
        // Another one that is loaded takes its place.
        service.loaded("b");
        service.wait_unloaded("a");
    }
}
