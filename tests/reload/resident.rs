//! Where not all workspaces stay loaded: what is unloaded, what comes back, and that no promise is lost on the way.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use promptd_core::id::Id;
use promptd_source::{
    Options, Source,
    faults::Faults,
    load_once,
    store::{Pinned, State, Store},
};
use tokio::runtime::Runtime;

use crate::{
    service::{NEVER, options, wait_until, waiting},
    soak::Random,
};

/// A source over workspaces `ws-0`, `ws-1`, …, each with one file, of which so many bytes stay loaded.
struct Scene {
    folder: tempfile::TempDir,
    store: Arc<Store>,
    source: Source,
    runtime: Runtime,
}

impl Scene {
    fn new(workspaces: usize, resident: usize) -> Self {
        Self::with(workspaces, resident, |_| {})
    }

    /// After its first sweep, the last one: then nothing but calls and saves has anything loaded.
    fn at_rest(workspaces: usize, resident: usize) -> Self {
        let scene = Self::with(workspaces, resident, |options| options.sweep_interval = NEVER * 100);
        wait_until("swept", || scene.source.status().sweeps.get(), |sweeps| *sweeps > 0);
        scene
    }

    fn with(workspaces: usize, resident: usize, set: impl FnOnce(&mut Options)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for i in 0..workspaces {
            save(&folder.path().join(id(i)), "AGENTS.md", &format!("Version 0 of {i:03}."));
        }
        // Files that were only just written are loaded again once they have rested.
        std::thread::sleep(Duration::from_millis(60));
        let mut options = options(folder.path());
        set(&mut options);
        let store = Arc::new(Store::default().with_resident(Some(resident)));
        let source = Source::start(options, Arc::clone(&store), Arc::default()).unwrap();
        Self { folder, store, source, runtime: waiting() }
    }

    fn path(&self, i: usize) -> std::path::PathBuf {
        self.folder.path().join(id(i))
    }

    /// A call's look at a workspace.
    fn call(&self, i: usize) -> Arc<State> {
        let loaded = async { tokio::time::timeout(NEVER, self.store.loaded(&id(i))).await };
        self.runtime.block_on(loaded).unwrap_or_else(|_| panic!("{i} is never loaded")).expect("it exists")
    }

    /// Which are loaded.
    fn loaded(&self) -> Vec<usize> {
        let list = self.store.list().into_iter().enumerate();
        list.filter(|(_, (_, state))| matches!(**state, State::Ready(_))).map(|(i, _)| i).collect()
    }

    /// Waits until these are: callers do not wait until there is room again.
    fn until_loaded(&self, wanted: &[usize]) {
        wait_until(&format!("{wanted:?} loaded"), || self.loaded(), |loaded| loaded == wanted);
    }

    /// Waits until so many were unloaded and so many are loaded: a workspace is unloaded first, and counted then; what is left is
    /// counted last.
    fn until_counted(&self, unloaded: u64, loaded: i64) {
        let resident = self.store.resident();
        let counted = || (resident.evictions.get(), resident.bytes.get(), resident.workspaces.get());
        let wanted = (unloaded, loaded * 17, loaded);
        wait_until(&format!("{wanted:?}"), counted, |counted| *counted == wanted);
    }

    /// Waits until the workspace is as wanted, without a call.
    fn until(&self, what: &str, wanted: impl Fn(&State) -> bool, i: usize) -> Arc<State> {
        wait_until(what, || self.store.get(&id(i)).unwrap(), |state| wanted(state))
    }
}

fn id(i: usize) -> String {
    format!("ws-{i}")
}

fn save(workspace: &Path, file: &str, text: &str) {
    let path = workspace.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn text(state: &State) -> String {
    match state {
        State::Ready(loaded) => loaded.snapshot.documents["AGENTS.md"].text.to_string(),
        _ => panic!("not loaded"),
    }
}

fn revision(state: &State) -> String {
    match state {
        State::Ready(loaded) => loaded.snapshot.revision.to_string(),
        State::Cold(cold) => cold.outline.snapshot().revision.to_string(),
        _ => panic!("no revision"),
    }
}

/// One text of 17 bytes and a bit more each.
const ONE: usize = 20;

#[test]
fn what_calls_used_last_stays_loaded_and_the_rest_comes_back_when_it_is_called() {
    let scene = Scene::at_rest(6, 3 * ONE);
    assert_eq!(scene.loaded().len(), 3, "as many as there is room for");
    let published = scene.source.status().published.get();
    assert_eq!(published, 6, "all were loaded at the start");
    for i in [0, 1, 2, 0] {
        assert_eq!(text(&scene.call(i)), format!("Version 0 of {i:03}."));
    }
    scene.until_loaded(&[0, 1, 2]);
    // Before that, a call may still get the state that is being unloaded.
    scene.until_counted(6 - 3 + 3, 3);
    scene.call(5);
    scene.until_loaded(&[0, 2, 5]);
    let resident = scene.store.resident();
    assert_eq!(scene.source.status().published.get(), published, "no revision is new");
    assert_eq!((resident.hits.get(), resident.misses.get()), (1, 4));
    scene.until_counted(6 - 3 + 4, 3);
}

#[test]
fn many_callers_wait_for_one_load() {
    let scene = Scene::new(4, 0);
    let loads = scene.source.status().loads.get();
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock().unwrap();
    let _faults = Faults::below(&scene.path(2).canonicalize().unwrap(), {
        let gate = Arc::clone(&gate);
        move |_, _| {
            drop(gate.lock());
            None
        }
    });
    let states = scene.runtime.block_on(async {
        let calls = futures_util::future::join_all((0..50).map(|_| scene.store.loaded("ws-2")));
        // Polled once all calls wait.
        let opened = async move { drop(closed) };
        futures_util::future::join(calls, opened).await.0
    });
    assert!(states.iter().all(|state| text(state.as_deref().unwrap()) == "Version 0 of 002."));
    assert_eq!(scene.source.status().loads.get(), loads + 1);
    assert_eq!(scene.store.resident().misses.get(), 50);
}

#[test]
fn what_many_calls_wait_for_is_loaded_without_a_pause() {
    const WORKSPACES: usize = 400;
    let scene = Scene::at_rest(WORKSPACES, 0);
    scene.runtime.block_on(async {
        let ids: Vec<_> = (0..WORKSPACES).map(id).collect();
        let calls = futures_util::future::join_all(ids.iter().map(|id| scene.store.loaded(id)));
        let states = tokio::time::timeout(NEVER, calls).await.expect("all are loaded");
        assert!(states.iter().all(|state| matches!(state.as_deref(), Some(State::Ready(_)))));
    });
}

#[test]
fn an_edit_of_what_is_not_loaded_is_published_and_shown_in_lists() {
    let scene = Scene::new(3, 0);
    let before = scene.store.get("ws-1").unwrap();
    let published = scene.source.status().published.get();
    save(&scene.path(1), "AGENTS.md", "Version 1 of 001.");
    let after = scene.until("published", |state| revision(state) != revision(&before), 1);
    scene.until("unloaded again", |state| matches!(state, State::Cold(_)), 1);
    assert_eq!(scene.source.status().published.get(), published + 1);
    let called = scene.call(1);
    assert_eq!((text(&called).as_str(), revision(&called)), ("Version 1 of 001.", revision(&after)));
    assert_eq!(scene.source.status().published.get(), published + 1);
}

#[test]
fn a_call_in_the_middle_of_a_save_waits_for_its_end() {
    let scene = Scene::new(2, 0);
    // Written and not yet closed: half of it must not be seen.
    let path = scene.path(1).join("AGENTS.md");
    let mut file = fs::File::options().write(true).open(&path).unwrap();
    std::io::Write::write_all(&mut file, b"Version").unwrap();
    let store = Arc::clone(&scene.store);
    let call = std::thread::spawn(move || waiting().block_on(async { store.loaded("ws-1").await }).unwrap());
    std::io::Write::write_all(&mut file, b" 1 of 001.").unwrap();
    drop(file);
    assert_eq!(text(&call.join().unwrap()), "Version 1 of 001.");
}

#[test]
fn what_is_followed_pinned_or_behind_its_files_stays() {
    let scene = Scene::new(5, 6 * ONE);
    let followed = scene.store.watch("ws-0").unwrap();
    let pinned = scene.call(1);
    save(&scene.path(1), "AGENTS.md", "Version 1 of 001.");
    scene.until("saved", |state| revision(state) != revision(&pinned), 1);
    assert!(matches!(scene.store.at("ws-1", &revision(&pinned)), Some(Pinned::Held(_))));
    scene.call(2);
    save(&scene.path(2), "workspace.yaml", "agent: {name: Harbor}\n");
    scene.until(
        "saved",
        |state| matches!(state, State::Ready(loaded) if loaded.snapshot.manifest.agent.name == "Harbor"),
        2,
    );
    save(&scene.path(2), "workspace.yaml", "agent: [\n");
    let failing =
        scene.until("behind", |state| matches!(state, State::Ready(loaded) if loaded.snapshot.is_behind()), 2);
    for i in [3, 4, 3, 4, 3, 4, 3, 4] {
        scene.call(i);
    }
    assert!([1, 2].iter().all(|i| scene.loaded().contains(i)), "{:?}", scene.loaded());
    assert!(matches!(scene.store.at("ws-1", &revision(&pinned)), Some(Pinned::Held(_))));
    assert!(matches!(&*failing, State::Ready(loaded) if loaded.snapshot.manifest.agent.name == "Harbor"));
    let State::Ready(_) = **followed.borrow() else { panic!("it is followed") };
}

#[test]
fn what_was_unloaded_keeps_its_settings_when_its_file_is_lost_or_invalid() {
    let scene = Scene::new(1, 0);
    save(&scene.path(0), "workspace.yaml", "locked: [persona]\n");
    scene.until(
        "saved",
        |state| matches!(state, State::Cold(cold) if !cold.outline.snapshot().manifest.locked.is_empty()),
        0,
    );
    for (text, code) in [("", "MANIFEST_EMPTY"), ("locked: [", "SYNTAX")] {
        save(&scene.path(0), "workspace.yaml", text);
        let state = scene.until("behind", |state| matches!(state, State::Ready(_)), 0);
        let State::Ready(loaded) = &*state else { unreachable!() };
        assert_eq!(loaded.snapshot.manifest.locked.len(), 1, "{code}");
    }
}

#[test]
fn what_is_gone_is_gone_loaded_or_not() {
    let scene = Scene::new(3, 0);
    fs::remove_dir_all(scene.path(1)).unwrap();
    let call = async { tokio::time::timeout(NEVER, scene.store.loaded("ws-1")).await.unwrap() };
    assert!(scene.runtime.block_on(call).is_none());
    assert!(scene.store.get("ws-1").is_none());
}

/// Random saves, faults and calls, with room for two of eight: once it is at rest, every workspace is what a fresh load of its
/// files gives, except for what is kept of a file that is invalid.
#[test]
fn after_random_saves_faults_and_calls_each_is_as_loaded_afresh() {
    const WORKSPACES: usize = 8;
    for seed in 1..=4 {
        let scene = Scene::new(WORKSPACES, 2 * ONE);
        let mut random = Random(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let mut version = 0;
        for _ in 0..150 {
            let i = random.below(WORKSPACES);
            let path = scene.path(i);
            version += 1;
            match random.below(9) {
                0 => save(&path, "AGENTS.md", &format!("Version {version} of {i:03}.")),
                1 => save(&path, "workspace.yaml", &format!("agent: {{name: Agent {version}}}\n")),
                2 => save(&path, "workspace.yaml", "agent: [\n"),
                3 => save(&path, "skills/s/SKILL.md", &format!("---\nname: s\ndescription: Of {version}.\n---\n")),
                4 => save(&path, "skills/s/SKILL.md", "---\nname: [\n---\n"),
                5 => drop(fs::remove_dir_all(path.join("skills"))),
                _ => drop(scene.call(i)),
            }
            if random.below(4) == 0 {
                std::thread::sleep(Duration::from_millis(random.below(60) as u64));
            }
        }
        // Good again, so that nothing is kept of before.
        for i in 0..WORKSPACES {
            save(&scene.path(i), "workspace.yaml", "{}\n");
            save(&scene.path(i), "skills/s/SKILL.md", "---\nname: s\ndescription: At rest.\n---\n");
        }
        let options = options(scene.folder.path());
        for i in 0..WORKSPACES {
            let path = scene.path(i);
            let id = Id::parse(&id(i)).unwrap();
            let fresh = load_once(&id, &path, &options, &scene.source.profiles()).unwrap();
            let is_fresh = |state: &State| revision(state) == fresh.revision.as_str();
            scene.until("as on the disk", is_fresh, i);
            let State::Ready(loaded) = &*scene.call(i) else { panic!("it is loaded") };
            assert_eq!(loaded.snapshot.revision, fresh.revision, "seed {seed}");
            assert_eq!(
                (&loaded.snapshot.inputs, &loaded.snapshot.findings),
                (&fresh.inputs, &fresh.findings),
                "seed {seed}"
            );
        }
    }
}

/// Heirs that are not loaded: an edit of their layer is a revision of theirs too, and a call never gets an older one.
#[test]
fn a_layer_reaches_heirs_that_are_not_loaded() {
    let scene = Scene::new(4, 200);
    let org = scene.path(0);
    for i in 1..4 {
        save(&scene.path(i), "workspace.yaml", "extends: [ws-0]\n");
    }
    save(&org, "SOUL.md", "org 1");
    save(&org, "workspace.yaml", "extendable_by: ['*']\nskills: {blocklist: [secret]}\n");
    let soul = |state: &State| match state {
        State::Ready(loaded) => {
            assert!(!loaded.snapshot.manifest.admits_skill("secret", "secret"));
            loaded.snapshot.documents["SOUL.md"].text.to_string()
        }
        other => panic!("{other:?}"),
    };
    let extends = |state: &State| {
        matches!(state, State::Ready(loaded) if !loaded.snapshot.layers.is_empty())
            || matches!(state, State::Cold(cold) if !cold.outline.snapshot().layers.is_empty())
    };
    for i in 1..4 {
        scene.until("over its layer", extends, i);
    }
    let known = |i: usize| revision(&scene.store.get(&id(i)).unwrap());
    for i in 1..4 {
        assert_eq!(soul(&scene.call(i)), "org 1", "{i}");
        let before = known(i);
        save(&scene.path(i), "AGENTS.md", &"x".repeat(150));
        scene.until("its own edit", |state| revision(state) != before, i);
    }
    let before: Vec<_> = (1..4).map(known).collect();
    assert!(scene.loaded().len() < 4, "{:?}", scene.loaded());
    save(&org, "SOUL.md", "org 2");
    for (i, before) in (1..4).zip(&before) {
        scene.until("the edit of its layer", |state| revision(state) != *before, i);
        assert_eq!(soul(&scene.call(i)), "org 2", "{i}");
    }
}
