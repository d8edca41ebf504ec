//! Calls of the file system that fail once, a few times, or until they are healed: whatever failed, the state reached is
//! that of a fresh start, without a sweep and without a signal.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use promptd_core::{
    finding::{Finding, Severity},
    settings::Settings,
    workspace::ReadError,
};
use promptd_source::{
    Contents, FileSet, Options,
    faults::{Call, Faults},
    store::State,
};
use tokio::sync::watch::Receiver;

use crate::{
    service::{NEVER, Service, options},
    site::{self, sha256, skill_text},
};

/// Every kind of place that the source reads: workspaces of each shape, links to allowed places, shared skills, profiles
/// and another file.
struct Scene {
    _folder: tempfile::TempDir,
    /// Canonical.
    path: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(folder.path()).unwrap();
        let scene = Self { _folder: folder, path };
        let write = |path: &str, text: &str| scene.write(path, text);
        write("root/plain/workspace.yaml", "profile: mine\ncontext: {files: [{path: docs/EXTRA.md}]}\n");
        write("root/plain/AGENTS.md", "Rules.\n");
        write("root/plain/docs/EXTRA.md", "More.\n");
        write("root/plain/notes/2026-01-02.md", "A note.\n");
        write("root/plain/skills/group/beta/SKILL.md", &skill_text("beta", 1));
        write("root/plain/skills/group/beta/notes/extra.txt", "Bundled.\n");
        write("allowed/SOUL.md", "Calm.\n");
        write("allowed/gamma/SKILL.md", &skill_text("gamma", 1));
        symlink("../../allowed/SOUL.md", scene.path.join("root/plain/SOUL.md")).unwrap();
        symlink("../../../allowed/gamma", scene.path.join("root/plain/skills/gamma")).unwrap();
        write("root/mounted/..1/AGENTS.md", "Mounted.\n");
        symlink("..1", scene.path.join("root/mounted/..data")).unwrap();
        symlink("..data/AGENTS.md", scene.path.join("root/mounted/AGENTS.md")).unwrap();
        write("elsewhere/AGENTS.md", "Elsewhere.\n");
        symlink("../elsewhere", scene.path.join("root/linked")).unwrap();
        write("shared/delta/SKILL.md", &skill_text("delta", 1));
        scene.edit(Version::One);
        scene
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn options(&self) -> Options {
        let settings = Settings { expose_paths: false, ..Settings::default() };
        Options {
            settings,
            shared_skills: vec![self.path.join("shared")],
            allowed_link_targets: vec![self.path.join("allowed")],
            profiles: Some(self.path.join("profiles")),
            load_threads: 1,
            ..options(&self.path.join("root"))
        }
    }

    fn tokens(&self) -> FileSet {
        FileSet::Paths(vec![self.path.join("tokens")])
    }

    /// An edit of every workspace and file, so that all of it is read again.
    fn edit(&self, version: Version) {
        let text = format!("{version:?}.\n");
        for file in ["root/plain/AGENTS.md", "root/mounted/..1/AGENTS.md", "elsewhere/AGENTS.md", "tokens"] {
            self.write(file, &text);
        }
        self.write("profiles/mine.yaml", &format!("extends: five-layer\ndescription: {text}"));
    }
}

/// Edits change between two versions of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Version {
    One,
    Two,
}

/// What a service serves and reports.
#[derive(Debug, PartialEq)]
struct Served {
    revisions: BTreeMap<String, Result<String, Vec<Finding>>>,
    profiles: String,
    tokens: Vec<Result<Vec<u8>, ReadError>>,
    problems: Vec<String>,
    failing: i64,
}

fn served(service: &Service, tokens: &Receiver<Arc<Contents>>) -> Served {
    let revision = |state: &State| match state {
        State::Ready(loaded) => Ok(loaded.snapshot.revision.to_string()),
        State::Invalid(findings) => Err(findings.to_vec()),
        State::Cold(_) | State::Gone => panic!("{state:?}"),
    };
    let status = service.source.status();
    Served {
        revisions: service.store.list().iter().map(|(id, state)| (id.to_string(), revision(state))).collect(),
        profiles: service.source.profiles().hash().to_owned(),
        tokens: tokens.borrow().values().cloned().collect(),
        problems: status.problems().to_vec(),
        failing: status.failing.get(),
    }
}

/// What a service that starts at this version serves; the same wherever the scene is.
fn fresh(version: Version) -> Served {
    let scene = Scene::new();
    scene.edit(version);
    let service = Service::start(scene.options());
    let tokens = service.source.follow(scene.tokens());
    served(&service, &tokens)
}

/// Whether every workspace has all of its parts, in the last good version at least.
fn all_parts(service: &Service) -> bool {
    let parts = |id: &str| match service.store.get(id).as_deref() {
        Some(State::Ready(loaded)) => {
            let skills = loaded.snapshot.skills.iter().filter(|skill| skill.is_shown()).map(|skill| &*skill.name);
            loaded.snapshot.documents.keys().map(|path| &**path).chain(skills).map(str::to_owned).collect()
        }
        _ => BTreeSet::new(),
    };
    let are =
        |parts: BTreeSet<String>, expected: &[&str]| parts.iter().map(String::as_str).eq(expected.iter().copied());
    are(parts("plain"), &["AGENTS.md", "SOUL.md", "beta", "delta", "docs/EXTRA.md", "gamma", "notes/2026-01-02.md"])
        && are(parts("mounted"), &["AGENTS.md", "delta"])
        && are(parts("linked"), &["AGENTS.md", "delta"])
}

fn wait_until(what: &dyn Fn() -> String, holds: impl Fn() -> bool) {
    assert!(wait_at_most(NEVER, holds), "{}", what());
}

/// The state is made of many parts, of which only some can be awaited: it is looked at until it is as wanted.
fn wait_at_most(limit: Duration, holds: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !holds() && began.elapsed() < limit {
        thread::sleep(Duration::from_millis(2));
    }
    holds()
}

/// Every call that a start and an edit of everything make below the scene.
fn calls(expected: &BTreeMap<Version, Served>) -> BTreeSet<(Call, PathBuf)> {
    let scene = Scene::new();
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let faults = {
        let (seen, path) = (Arc::clone(&seen), scene.path.clone());
        Faults::below(&scene.path, move |call, at| {
            seen.lock().unwrap().insert((call, at.strip_prefix(&path).unwrap().to_owned()));
            None
        })
    };
    let service = Service::start(scene.options());
    let tokens = service.source.follow(scene.tokens());
    scene.edit(Version::Two);
    wait_until(&|| format!("{:?}", served(&service, &tokens)), || served(&service, &tokens) == expected[&Version::Two]);
    drop(faults);
    std::mem::take(&mut seen.lock().unwrap())
}

/// How long a call fails.
#[derive(Debug, Clone, Copy)]
enum Fails {
    Times(usize),
    UntilHealed,
}

/// Too many open files.
const EMFILE: i32 = 24;

/// Lets a call at a path fail; gives how often it did.
fn fail(scene: &Scene, call: Call, at: &Path, fails: Fails) -> (Faults, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let (counted, at) = (Arc::clone(&count), scene.path.join(at));
    let faults = Faults::below(&scene.path, move |now, path| {
        let concerned = now == call && path == at;
        let times = if concerned { counted.fetch_add(1, Relaxed) } else { 0 };
        let fails = matches!(fails, Fails::UntilHealed) || matches!(fails, Fails::Times(most) if times < most);
        (concerned && fails).then(|| io::Error::from_raw_os_error(EMFILE))
    });
    (faults, count)
}

/// One call at one path fails, from an edit to that version on.
fn check(
    (scene, service, tokens): (&Scene, &Service, &Receiver<Arc<Contents>>),
    (call, at, fails): (Call, &Path, Fails),
    version: Version,
    expected: &Served,
) {
    let (faults, count) = fail(scene, call, at, fails);
    scene.edit(version);
    service.source.rescan();
    let what = || format!("{call:?} at {} {fails:?}: {:#?}\n{expected:#?}", at.display(), served(service, tokens));
    let is_as_expected = || served(service, tokens) == *expected;
    if let Fails::UntilHealed = fails {
        wait_until(&what, || count.load(Relaxed) > 0);
        // Either it does not matter to what is served, or it is reported; and nothing is lost meanwhile.
        wait_until(&what, || is_as_expected() || is_reported(service, tokens));
        assert!(all_parts(service), "lost: {}", what());
    }
    drop(faults);
    wait_until(&what, is_as_expected);
    assert!(all_parts(service) && !is_reported(service, tokens), "{}", what());
}

/// Whether an operator or a caller can see that something is wrong.
fn is_reported(service: &Service, tokens: &Receiver<Arc<Contents>>) -> bool {
    let has_finding = |state: &State| match state {
        State::Ready(loaded) => loaded.snapshot.findings.iter().any(|finding| finding.severity != Severity::Info),
        State::Cold(_) | State::Invalid(_) | State::Gone => true,
    };
    !service.source.status().problems().is_empty()
        || tokens.borrow().values().any(Result::is_err)
        || service.store.list().iter().any(|(_, state)| has_finding(state))
}

#[test]
fn after_any_failed_call_the_state_is_that_of_a_fresh_start() {
    const AT_ONCE: usize = 8;
    let expected = BTreeMap::from([Version::One, Version::Two].map(|version| (version, fresh(version))));
    let calls = calls(&expected);
    let kinds: BTreeSet<Call> = calls.iter().map(|(call, _)| *call).collect();
    assert!(kinds.iter().eq(Call::ALL.iter()), "{kinds:?}");
    let fails = [Fails::Times(1), Fails::Times(3), Fails::UntilHealed];
    let cases = calls.iter().flat_map(|(call, at)| fails.map(|fails| (*call, at.as_path(), fails)));
    let cases = Mutex::new(cases.collect::<Vec<_>>());
    // Several services at a time: they mostly wait.
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let scene = Scene::new();
                let service = Service::start(scene.options());
                let tokens = service.source.follow(scene.tokens());
                for version in [Version::Two, Version::One].into_iter().cycle() {
                    let Some(case) = cases.lock().unwrap().pop() else { return };
                    check((&scene, &service, &tokens), case, version, &expected[&version]);
                }
            });
        }
    });
}

/// What is written after it was read and before the load ends is not served half: the load is thrown away, and counted.
#[test]
fn a_load_during_which_something_changes_is_thrown_away() {
    let scene = Scene::new();
    let service = Service::start(scene.options());
    let (edited, rules) = (AtomicUsize::new(0), scene.path.join("root/plain/AGENTS.md"));
    let last = scene.path.join("root/plain/skills/group/beta/SKILL.md");
    let faults = Faults::below(&scene.path, move |call, at| {
        if call == Call::Read && at == last && edited.fetch_add(1, Relaxed) == 0 {
            fs::write(&rules, "The second rules.\n").unwrap();
        }
        None
    });
    let retries = service.source.status().retries.get();
    scene.write("root/plain/AGENTS.md", "The first rules, which are longer.\n");
    let second = sha256(b"The second rules.\n");
    service.wait("plain", "the second edit", |state| has(state, &second));
    drop(faults);
    assert!(service.source.status().retries.get() > retries);
}

/// A workspace's link is often retargeted by removing and creating it: a load that falls in between does not end it.
#[test]
fn a_workspace_that_is_away_for_a_moment_is_not_gone() {
    let scene = Scene::new();
    let service = Service::start(scene.options());
    let (ws, looks) = (scene.path.join("root/plain"), Arc::new(AtomicUsize::new(0)));
    let faults = {
        let (looks, ws) = (Arc::clone(&looks), ws.clone());
        Faults::below(&scene.path, move |call, at| {
            if call == Call::Stat && at == ws && !ws.is_dir() {
                looks.fetch_add(1, Relaxed);
            }
            None
        })
    };
    let mut ids = service.store.watch_ids();
    ids.borrow_and_update();
    fs::rename(&ws, scene.path.join("away")).unwrap();
    // Once by the load, and once when what it has seen is compared with the disk.
    wait_until(&|| "not looked at".into(), || looks.load(Relaxed) >= 2);
    fs::rename(scene.path.join("away"), &ws).unwrap();
    drop(faults);
    scene.write("root/plain/AGENTS.md", "Back again.\n");
    let back = sha256(b"Back again.\n");
    service.wait("plain", "what is back", |state| has(state, &back));
    assert!(!ids.has_changed().unwrap(), "it went and came");
}

/// A file whose folder could not be listed is then found empty, as in the middle of a save: that is believed no sooner
/// than after any other load.
#[test]
fn a_file_found_empty_after_a_failed_load_may_be_in_the_middle_of_a_save() {
    let scene = Scene::new();
    let service = Service::start(scene.options());
    let tokens = service.source.follow(scene.tokens());
    let folder = Path::new(BUNDLED).parent().unwrap();
    let (faults, _) = fail(&scene, Call::List, folder, Fails::UntilHealed);
    scene.write("root/plain/AGENTS.md", "More rules.\n");
    wait_until(&|| format!("{:?}", service.source.status()), || is_reported(&service, &tokens));
    let emptied = Instant::now();
    scene.write(BUNDLED, "");
    drop(faults);
    wait_for_empty(&service, emptied);
}

/// The same where the workspace was made anew before, and two loads after that have failed.
#[test]
fn a_file_found_empty_after_two_failed_loads_of_a_new_folder_may_be_in_the_middle_of_a_save() {
    let scene = Scene::new();
    let service = Service::start(scene.options());
    let tokens = service.source.follow(scene.tokens());
    let what = || format!("{:?}", service.source.status());
    let failing = |at: &str| fail(&scene, Call::List, Path::new(at), Fails::UntilHealed).0;

    let notes = failing("root/plain/notes");
    fs::rename(scene.path.join("root/plain"), scene.path.join("old")).unwrap();
    scene.write("new/skills/group/beta/SKILL.md", &skill_text("beta", 2));
    scene.write("new/skills/group/beta/notes/extra.txt", "Bundled anew.\n");
    scene.write("new/notes/2026-01-03.md", "Another note.\n");
    fs::rename(scene.path.join("new"), scene.path.join("root/plain")).unwrap();
    let anew = sha256(b"Bundled anew.\n");
    service.wait("plain", "the new folder", |state| has(state, &anew));
    assert!(is_reported(&service, &tokens), "{}", what());
    drop(notes);

    let bundled = failing(Path::new(BUNDLED).parent().unwrap().to_str().unwrap());
    scene.write("root/plain/AGENTS.md", "More rules.\n");
    let more = sha256(b"More rules.\n");
    service.wait("plain", "the edit", |state| has(state, &more));
    assert!(is_reported(&service, &tokens), "{}", what());
    let emptied = Instant::now();
    scene.write(BUNDLED, "");
    drop(bundled);
    wait_for_empty(&service, emptied);
}

/// Whichever call fails in the middle of a save, the file that is empty then is not believed.
#[test]
fn no_failed_call_lets_an_empty_file_be_believed_early() {
    const AT_ONCE: usize = 24;
    let calls = {
        let scene = Scene::new();
        let service = Service::start(scene.options());
        let (faults, count) = fail_nth(&scene, usize::MAX);
        let emptied = Instant::now();
        scene.write(BUNDLED, "");
        wait_for_empty(&service, emptied);
        drop(faults);
        count.load(Relaxed)
    };
    assert!(calls > 100, "{calls}");
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                let scene = Scene::new();
                let service = Service::start(scene.options());
                let bundled = sha256(b"Bundled.\n");
                loop {
                    let nth = next.fetch_add(1, Relaxed);
                    if nth >= calls {
                        return;
                    }
                    let (faults, _) = fail_nth(&scene, nth);
                    let emptied = Instant::now();
                    scene.write(BUNDLED, "");
                    wait_for_empty(&service, emptied);
                    drop(faults);
                    scene.write(BUNDLED, "Bundled.\n");
                    service.wait("plain", "the file", |state| has(state, &bundled));
                }
            });
        }
    });
}

const BUNDLED: &str = "root/plain/skills/group/beta/notes/extra.txt";

/// Waits until an empty file is served, which must not be before it has been empty for a second.
fn wait_for_empty(service: &Service, emptied: Instant) {
    const LOSS_BELIEVED_AFTER: Duration = Duration::from_secs(1);
    const TICK: Duration = Duration::from_millis(10);
    let empty = sha256(b"");
    service.wait("plain", "the empty file", |state| has(state, &empty));
    // A file's own time is that of the kernel's last tick.
    let since = emptied.elapsed() + TICK;
    assert!(since >= LOSS_BELIEVED_AFTER, "{since:?}");
}

/// Whether a file with these contents is served.
fn has(state: &State, contents: &str) -> bool {
    site::served(state).is_some_and(|inputs| inputs.values().any(|hash| **hash == *contents))
}

/// Lets one call below the scene fail, the `nth` from now; gives how many there were.
fn fail_nth(scene: &Scene, nth: usize) -> (Faults, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let faults = Faults::below(&scene.path, move |_, _| {
        (counted.fetch_add(1, Relaxed) == nth).then(|| io::Error::from_raw_os_error(EMFILE))
    });
    (faults, count)
}
