//! The recording as a whole, on real folders.

mod damage;
mod faults;
mod privacy;
mod removal;
mod repeat;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use promptd_contract::{decode, proto};
use promptd_core::{
    globs::SkillFilter,
    id::Id,
    profile::ProfileSet,
    prompt::{self, Prepared},
    settings::Settings,
    workspace::{Capturing, Load, MemoryTree, Origin, load},
};
use tempfile::TempDir;

use crate::{
    Answered, Bounds, Copy, Folder, Options, Recorded, Recorder, Redaction, Share,
    disk::{Disk, Faults},
    recorder::Room,
};

/// Longer than any of these tests waits for what must come.
const PATIENCE: Duration = Duration::from_secs(60);
/// Less than the service has, so that it is full soon.
const ROOM: Room = Room { calls: 100, bytes: 100_000 };
/// 2026-02-28T17:30:00Z.
const NOW: i64 = 1_772_299_800;

const TIDES: &str = "---\nname: tides\ndescription: Tells the tides.\n---\nLook it up.\n";

/// A revision of the workspace `harbor`.
struct Revision {
    origin: Arc<Origin>,
    prepared: Prepared,
}

fn revision(tree: &MemoryTree) -> Revision {
    revision_with(tree, Settings::default())
}

fn revision_with(tree: &MemoryTree, settings: Settings) -> Revision {
    revision_of(tree, settings, ProfileSet::built_in())
}

fn revision_of(tree: &MemoryTree, settings: Settings, profiles: ProfileSet) -> Revision {
    let (profiles, settings) = (Arc::new(profiles), Arc::new(settings));
    let capturing = Capturing::new(tree, None);
    let snapshot = load(&Load {
        id: &Id::parse("harbor").unwrap(),
        root: "/srv/harbor",
        tree: &capturing,
        shared_skills: &[],
        profiles: Arc::clone(&profiles),
        settings: Arc::clone(&settings),
        previous: None,
    })
    .unwrap();
    let (id, root) = (snapshot.id.clone(), Arc::clone(&snapshot.root));
    let (tree, shared_skills) = (capturing.finish().unwrap(), Vec::new());
    let origin = Origin { id, root, tree, shared_skills, profiles, settings, previous: None, layers: Vec::new() };
    Revision { origin: Arc::new(origin), prepared: snapshot.into() }
}

fn harbor() -> MemoryTree {
    MemoryTree::new()
        .file("AGENTS.md", "Answer in one sentence.")
        .file("workspace.yaml", "agent: {name: Harbor, time_zone: Europe/Berlin}\n")
        .file("skills/tides/SKILL.md", TIDES)
        .file("skills/tides/table.csv", "0,1\n")
}

/// A turn of a user.
fn turn(user: &str) -> proto::Turn {
    let user = proto::User { id: user.to_owned(), name: format!("Name of {user}") };
    proto::Turn { user: Some(user), ..Default::default() }
}

/// A recording into a temporary folder.
struct Site {
    home: TempDir,
    recorder: Recorder,
}

impl Site {
    fn new() -> Self {
        Self::with(&[], None)
    }

    fn with(redact: &[&str], faults: Option<Faults>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let recorder = Recorder::start_on(options(home.path(), redact), Disk { faults }, ROOM).unwrap();
        Self { home, recorder }
    }

    fn dir(&self) -> PathBuf {
        dir(self.home.path())
    }

    /// Answers a call as the service does, and records it.
    fn call(&self, revision: &Revision, turn: proto::Turn) {
        call(&self.recorder, revision, turn, None, NOW);
    }

    /// Waits for the thread; every request that is in the folder.
    fn recorded(&self) -> Vec<Recorded> {
        assert!(self.recorder.flush(PATIENCE));
        recorded(&self.dir())
    }
}

fn dir(home: &Path) -> PathBuf {
    home.join("made/records")
}

fn options(home: &Path, redact: &[&str]) -> Options {
    Options {
        dir: dir(home),
        sample: Share::ALL,
        bounds: Bounds { max_bytes: 1 << 30, max_age: Duration::from_secs(1_000_000_000) },
        redaction: Redaction::new(redact.iter().map(|name| Redaction::parse(name).unwrap()).collect()),
    }
}

fn call(recorder: &Recorder, revision: &Revision, turn: proto::Turn, skills: Option<SkillFilter>, at: i64) {
    let at = Timestamp::from_second(at).unwrap();
    let mut request =
        proto::AssemblePromptRequest { workspace_id: "harbor".into(), turn: Some(turn), ..Default::default() };
    let before = request.clone();
    let copy = Copy::of(&mut request, at);
    assert_eq!(request, before, "the call has all of it");
    let decoded = decode::turn(request.turn.unwrap(), &decode::Limits::default(), at).unwrap();
    let decoded = promptd_core::turn::Turn { skill_access: skills.clone(), ..decoded };
    let name = &revision.prepared.manifest.profile;
    let profile = revision.prepared.profiles.get(name.as_str()).unwrap();
    let digest = prompt::assemble(&revision.prepared, profile, &decoded).unwrap().digest;
    let answered = Answered {
        revision: revision.prepared.revision.to_string(),
        profile: name.to_string(),
        token_skills: skills,
        digest,
        at,
    };
    recorder.record(copy, answered, Some(&revision.origin));
}

fn recorded(dir: &Path) -> Vec<Recorded> {
    let folder = Folder::open(dir).unwrap();
    folder.requests().unwrap().iter().map(|file| folder.request(file).unwrap()).collect()
}

/// How many requests give the recorded prompt again.
fn repeat(dir: &Path) -> usize {
    let folder = Folder::open(dir).unwrap();
    let files = folder.requests().unwrap();
    let mut loaded: BTreeMap<_, Prepared> = BTreeMap::new();
    let same = files.iter().filter(|file| {
        let prepared = loaded.entry(file.revision).or_insert_with(|| {
            let revision = folder.revision(file.revision).unwrap();
            assert!(revision.has_same_prompts);
            revision.origin.load().unwrap().into()
        });
        let recorded = folder.request(file).unwrap();
        recorded.assemble(prepared).unwrap().digest == recorded.digest
    });
    same.count()
}

/// Every file below a folder, with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let bytes = fs::read(&path).unwrap();
            found.insert(path, bytes);
        }
    }
    found
}

/// The files below one of its folders: `blobs`, `revisions`, `requests`.
fn files_of(dir: &Path, part: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let part = dir.join(part);
    if part.exists() { files(&part) } else { BTreeMap::new() }
}
