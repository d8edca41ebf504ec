//! Readers during saves see whole states only, and no read waits or fails.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::Write,
    os::unix::fs::symlink,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, sleep},
    time::{Duration, Instant},
};

use promptd_core::workspace::Snapshot;
use promptd_source::{
    Options, WatchMode,
    store::{State, Store},
};

use crate::service::{Service, Sets, options};

const SKILL_A: &str = "---\nname: a\ndescription: For state A.\n---\n";
const SKILL_B: &str = "---\nname: b\ndescription: For state B.\n---\n";

/// Reads again and again while `work` goes on; `check` sees every snapshot.
fn watching(store: &Store, id: &str, check: impl Fn(&Snapshot) + Sync, work: impl FnOnce()) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let is_done = Sets(&done);
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut reads = 0_u64;
                    while !done.load(Relaxed) {
                        match store.get(id).as_deref() {
                            Some(State::Ready(loaded)) => check(&loaded.snapshot),
                            other => panic!("a read found {other:?}"),
                        }
                        reads += 1;
                        // Readers that only yield leave the writer no core.
                        sleep(Duration::from_micros(100));
                    }
                    reads
                })
            })
            .collect();
        work();
        drop(is_done);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
}

fn text(snapshot: &Snapshot, file: &str) -> String {
    snapshot.documents.get(file).map(|document| document.text.to_string()).unwrap_or_default()
}

#[test]
fn a_half_written_file_is_never_served_and_the_final_write_wins() {
    let folder = tempfile::tempdir().unwrap();
    let ws = folder.path().join("ws");
    fs::create_dir(&ws).unwrap();
    let agents = |v: usize| format!("Begin {v}.\n{}\nEnd {v}.", "x".repeat(3_000));
    let manifest = |v: usize| format!("agent:\n  name: Agent {v}\n  persona: Version {v}\nskills:\n  blocklist: [x]\n");
    fs::write(ws.join("AGENTS.md"), agents(0)).unwrap();
    fs::write(ws.join("workspace.yaml"), manifest(0)).unwrap();
    let service = Service::of_root(folder.path());
    let check = |snapshot: &Snapshot| {
        let agents = text(snapshot, "AGENTS.md");
        assert!(agents.starts_with("Begin ") && agents.ends_with('.'), "half: {} bytes", agents.len());
        let agent = &snapshot.manifest.agent;
        let version = agent.name.strip_prefix("Agent ").expect("never the default");
        assert_eq!(agent.persona.as_deref(), Some(format!("Version {version}").as_str()));
        assert_eq!(snapshot.findings, [], "never half a config");
    };
    watching(&service.store, "ws", check, || {
        for v in 1..=12 {
            let pause = Duration::from_millis(20 + v as u64 * 9);
            let mut agents_file = File::create(ws.join("AGENTS.md")).unwrap();
            sleep(pause);
            agents_file.write_all(agents(v).as_bytes()).unwrap();
            // Cut in the middle of a key, so that the head parses by itself as something else.
            let text = manifest(v);
            let mut manifest_file = File::create(ws.join("workspace.yaml")).unwrap();
            sleep(pause);
            manifest_file.write_all(&text.as_bytes()[..text.len() / 2]).unwrap();
            sleep(Duration::from_millis(15));
            manifest_file.write_all(&text.as_bytes()[text.len() / 2..]).unwrap();
        }
        service.wait("ws", "the last write", |state| {
            matches!(state, State::Ready(loaded)
                if text(&loaded.snapshot, "AGENTS.md").ends_with("End 12.") && loaded.snapshot.manifest.agent.name == "Agent 12")
        });
    });
}

#[test]
fn a_writer_that_pauses_with_the_file_open_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let ws = folder.path().join("ws");
    fs::create_dir(&ws).unwrap();
    fs::write(ws.join("AGENTS.md"), "Begin 0. End.").unwrap();
    let service = Service::of_root(folder.path());
    let check = |snapshot: &Snapshot| {
        assert!(text(snapshot, "AGENTS.md").ends_with("End."), "{snapshot:?}");
        let soul = snapshot.documents.get("SOUL.md");
        assert!(soul.is_none_or(|soul| &*soul.text == "A soul."), "served while it was made: {soul:?}");
    };
    watching(&service.store, "ws", check, || {
        for v in 1..=4 {
            let mut soul = File::create(ws.join("SOUL.md")).unwrap();
            let mut file = File::create(ws.join("AGENTS.md")).unwrap();
            file.write_all(format!("Begin {v}.").as_bytes()).unwrap();
            sleep(Duration::from_millis(200));
            file.write_all(b" End.").unwrap();
            drop(file);
            soul.write_all(b"A soul.").unwrap();
            drop(soul);
            let whole = format!("Begin {v}. End.");
            service.wait(
                "ws",
                "the whole of it",
                |state| matches!(state, State::Ready(loaded) if text(&loaded.snapshot, "AGENTS.md") == whole),
            );
        }
    });
}

/// A file that is created empty is about to be written: it is not served before.
#[test]
fn a_file_that_is_created_is_served_once_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let ws = folder.path().join("ws");
    fs::create_dir(&ws).unwrap();
    fs::write(ws.join("AGENTS.md"), "Rules.").unwrap();
    let service = Service::of_root(folder.path());
    let check = |snapshot: &Snapshot| {
        let soul = snapshot.documents.get("SOUL.md");
        assert!(soul.is_none_or(|soul| &*soul.text == "A soul."), "served while it was created: {soul:?}");
    };
    watching(&service.store, "ws", check, || {
        let mut soul = File::create(ws.join("SOUL.md")).unwrap();
        // Longer than events must pause and a file must rest.
        sleep(Duration::from_millis(200));
        soul.write_all(b"A soul.").unwrap();
        drop(soul);
        service.wait(
            "ws",
            "the file once written",
            |state| matches!(state, State::Ready(loaded) if text(&loaded.snapshot, "SOUL.md") == "A soul."),
        );
    });
}

/// Without events nothing says that a file is open: the rest of files, and the doubt about lost ones, must do.
#[test]
fn polling_serves_no_torn_write() {
    let folder = tempfile::tempdir().unwrap();
    let ws = folder.path().join("ws");
    fs::create_dir(&ws).unwrap();
    fs::write(ws.join("AGENTS.md"), "Begin 0. End.").unwrap();
    let poll = Options { watch: WatchMode::Poll, poll_interval: Duration::from_millis(5), ..options(folder.path()) };
    let service = Service::start(poll);
    let torn = Mutex::new(BTreeSet::new());
    let check = |snapshot: &Snapshot| {
        let agents = text(snapshot, "AGENTS.md");
        if !agents.starts_with("Begin ") || !agents.ends_with("End.") {
            torn.lock().unwrap().insert(agents);
        }
    };
    let mut stalled = Vec::new();
    watching(&service.store, "ws", check, || {
        let mut whole = String::new();
        for (v, how) in
            ["truncated", "appended to", "removed", "appended to", "truncated", "appended to"].iter().enumerate()
        {
            let path = ws.join("AGENTS.md");
            if *how == "removed" {
                fs::remove_file(&path).unwrap();
                sleep(Duration::from_millis(200));
            }
            let appends = *how == "appended to";
            let mut file =
                File::options().create(true).write(true).append(appends).truncate(!appends).open(&path).unwrap();
            if !appends {
                whole.clear();
                sleep(Duration::from_millis(100 * v as u64));
            }
            // Each part is written before the one before has rested, unless the machine stalls.
            let begin = format!("Begin {v}.");
            for part in [begin.clone(), " More. ".repeat(20), " End.".to_owned()] {
                let written = Instant::now();
                file.write_all(part.as_bytes()).unwrap();
                whole.push_str(&part);
                sleep(Duration::from_millis(15));
                stalled.extend((written.elapsed() > Duration::from_millis(40)).then(|| begin.clone()));
            }
            drop(file);
            service.wait(
                "ws",
                "the whole of it",
                |state| matches!(state, State::Ready(loaded) if text(&loaded.snapshot, "AGENTS.md") == whole),
            );
        }
    });
    let mut torn = torn.into_inner().unwrap();
    torn.retain(|text| !stalled.iter().any(|begin| text.contains(begin)));
    assert!(torn.is_empty() && stalled.len() < 18, "{torn:?} {stalled:?}");
}

/// The state that a snapshot is in, if it is one.
fn state_of(snapshot: &Snapshot) -> Option<&'static str> {
    let texts = ["AGENTS.md", "SOUL.md", "IDENTITY.md"].map(|file| text(snapshot, file));
    let shown: Vec<&str> = snapshot.skills.iter().map(|skill| &*skill.name).collect();
    ["A", "B"].into_iter().find(|state| {
        texts.iter().all(|text| text == state)
            && snapshot.manifest.agent.name == *state
            && shown == [if *state == "A" { "a" } else { "b" }]
    })
}

fn states() -> BTreeMap<&'static str, Vec<(&'static str, String)>> {
    let state = |name: &str, skill: &'static str, text: &str| {
        vec![
            ("AGENTS.md", name.to_owned()),
            ("SOUL.md", name.to_owned()),
            ("IDENTITY.md", name.to_owned()),
            ("workspace.yaml", format!("agent:\n  name: {name}\nskills:\n  blocklist: [blocked-{name}]\n")),
            (skill, text.to_owned()),
        ]
    };
    BTreeMap::from([("A", state("A", "skills/a/SKILL.md", SKILL_A)), ("B", state("B", "skills/b/SKILL.md", SKILL_B))])
}

fn write_state(folder: &Path, state: &str) {
    for (path, text) in &states()[state] {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn swing(link: &Path, target: &Path) {
    let next = link.with_file_name("..next");
    symlink(target, &next).unwrap();
    fs::rename(next, link).unwrap();
}

fn assert_one_state(snapshot: &Snapshot) {
    assert!(state_of(snapshot).is_some(), "mixed: {snapshot:?}");
}

fn flip(service: &Service, id: &str, flip: impl Fn(&str)) {
    watching(&service.store, id, assert_one_state, || {
        for state in ["B", "A"].into_iter().cycle().take(60) {
            flip(state);
            sleep(Duration::from_millis(15));
        }
        flip("B");
        service.wait(
            id,
            "the last flip",
            |state| matches!(state, State::Ready(loaded) if state_of(&loaded.snapshot) == Some("B")),
        );
    });
}

#[test]
fn a_swapped_config_map_is_all_old_or_all_new() {
    let folder = tempfile::tempdir().unwrap();
    let ws = folder.path().join("ws");
    for state in ["A", "B"] {
        write_state(&ws.join(format!("..{state}")), state);
    }
    symlink("..A", ws.join("..data")).unwrap();
    for name in ["AGENTS.md", "SOUL.md", "IDENTITY.md", "workspace.yaml", "skills"] {
        symlink(format!("..data/{name}"), ws.join(name)).unwrap();
    }
    let service = Service::of_root(folder.path());
    flip(&service, "ws", |state| swing(&ws.join("..data"), Path::new(&format!("..{state}"))));
}

#[test]
fn a_retargeted_workspace_is_all_old_or_all_new() {
    let folder = tempfile::tempdir().unwrap();
    let (root, aside) = (folder.path().join("root"), folder.path().join("aside"));
    fs::create_dir(&root).unwrap();
    for state in ["A", "B"] {
        write_state(&aside.join(state), state);
    }
    symlink(aside.join("A"), root.join("ws")).unwrap();
    let service = Service::of_root(&root);
    flip(&service, "ws", |state| swing(&root.join("ws"), &aside.join(state)));
}

#[test]
fn loose_files_renamed_in_a_burst_are_served_together() {
    // Between two files that are further apart than a file must rest, the burst has paused: then what is mixed is right.
    const ATTEMPTS: usize = 10;
    let is_whole = (0..ATTEMPTS).any(|_| {
        let (mixed, longest) = renamed_in_bursts();
        let has_paused = longest > Duration::from_millis(40);
        assert!(mixed.is_none() || has_paused, "mixed: {mixed:?}");
        !has_paused
    });
    assert!(is_whole, "the machine stalled in each of {ATTEMPTS} attempts");
}

/// A snapshot that was in neither state, and the longest that one file came after another.
fn renamed_in_bursts() -> (Option<String>, Duration) {
    let (mixed, mut longest) = (Mutex::new(None), Duration::ZERO);
    let check = |snapshot: &Snapshot| {
        if state_of(snapshot).is_none() {
            mixed.lock().unwrap().get_or_insert_with(|| format!("{snapshot:?}"));
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let ws = folder.path().join("ws");
    write_state(&ws, "A");
    let service = Service::of_root(folder.path());
    watching(&service.store, "ws", check, || {
        for state in ["B", "A", "B", "A", "B"] {
            let other = if state == "A" { "b" } else { "a" };
            let mut last = Instant::now();
            let mut saved = || longest = longest.max(std::mem::replace(&mut last, Instant::now()).elapsed());
            for (path, text) in &states()[state] {
                fs::create_dir_all(ws.join(path).parent().unwrap()).unwrap();
                fs::write(ws.join("incoming.tmp"), text).unwrap();
                fs::rename(ws.join("incoming.tmp"), ws.join(path)).unwrap();
                saved();
                sleep(Duration::from_millis(3));
            }
            fs::remove_dir_all(ws.join("skills").join(other)).unwrap();
            saved();
            service.wait(
                "ws",
                "the burst",
                |now| matches!(now, State::Ready(loaded) if state_of(&loaded.snapshot) == Some(state)),
            );
        }
    });
    (mixed.into_inner().unwrap(), longest)
}

#[test]
fn noise_beside_the_inputs_holds_nothing_up() {
    let folder = tempfile::tempdir().unwrap();
    let ws = folder.path().join("ws");
    fs::create_dir(&ws).unwrap();
    fs::write(ws.join("AGENTS.md"), "V1").unwrap();
    let service = Service::of_root(folder.path());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let is_done = Sets(&done);
        scope.spawn(|| {
            let mut log = File::create(ws.join("log.txt")).unwrap();
            while !done.load(Relaxed) {
                log.write_all(b"one more line\n").unwrap();
                fs::write(ws.join(".noise"), "comes").unwrap();
                fs::remove_file(ws.join(".noise")).unwrap();
                sleep(Duration::from_millis(10));
            }
        });
        fs::write(ws.join("AGENTS.md"), "V2").unwrap();
        let (_, lag) = service.wait(
            "ws",
            "V2 during the noise",
            |state| matches!(state, State::Ready(loaded) if text(&loaded.snapshot, "AGENTS.md") == "V2"),
        );
        drop(is_done);
        assert!(lag < Duration::from_secs(3), "{lag:?}");
    });
}

#[test]
fn an_input_that_never_rests_is_served_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let ws = folder.path().join("ws");
    fs::create_dir(&ws).unwrap();
    fs::write(ws.join("AGENTS.md"), "V1\n").unwrap();
    let service = Service::of_root(folder.path());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let is_done = Sets(&done);
        scope.spawn(|| {
            let mut file = File::options().append(true).open(ws.join("AGENTS.md")).unwrap();
            while !done.load(Relaxed) {
                file.write_all(b"more\n").unwrap();
                sleep(Duration::from_millis(25));
            }
        });
        service.wait(
            "ws",
            "what is written all the time",
            |state| matches!(state, State::Ready(loaded) if text(&loaded.snapshot, "AGENTS.md").contains("more")),
        );
        drop(is_done);
    });
}
