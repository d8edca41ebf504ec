//! How long recording and replaying take: `cargo bench --bench replay`. It fails where 10,000 requests take longer than
//! `docs/recording.md` promises.
//!
//! Each request is another: 1,000 users, conversations and knowledge of their own, a clock that goes on, two profiles; and
//! the workspace is edited 19 times meanwhile. `-- --record` writes the table of `docs/recording.md`.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used, clippy::panic, reason = "a benchmark")]

#[path = "common/machine.rs"]
mod machine;
#[path = "common/site.rs"]
mod site;

use std::{
    fs,
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Parser;
use jiff::Timestamp;
use promptd_contract::{decode, proto};
use promptd_core::{
    id::Id,
    profile::ProfileSet,
    prompt::{self, Prepared},
    settings::Settings,
    workspace::{Capturing, Load, Origin, load},
};
use promptd_record::{Answered, Bounds, Copy, Options, Recorder, Redaction, Share};

const REQUESTS: u32 = 10_000;
const REVISIONS: u32 = 20;
/// What replaying may take.
const PROMISE: Duration = Duration::from_secs(20);
/// 2026-03-01T02:30:00Z.
const NOW: i64 = 1_772_332_200;
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recording.md");

#[derive(Parser)]
struct Arguments {
    /// Writes the table into the manual.
    #[arg(long)]
    record: bool,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let arguments = Arguments::parse();
    let home = tempfile::tempdir().unwrap();
    let (workspace, records) = (home.path().join("harbor"), home.path().join("records"));
    site::typical(&workspace);
    let recording = record(&workspace, &records);
    let bytes: u64 = size(&records);
    edit(&workspace, "AGENTS.md", "- Be brief.");
    let run = |arguments: &[&str]| {
        let began = Instant::now();
        let ran = Command::new(env!("CARGO_BIN_EXE_promptd")).arg("replay").arg(&records).args(arguments).output();
        (began.elapsed(), String::from_utf8(ran.unwrap().stdout).unwrap())
    };
    let mut rows = Vec::new();
    for jobs in ["1", "2"] {
        let (again, out) = run(&["--jobs", jobs]);
        assert!(out.contains("10,000 the same, 0 differ, 0 could not be replayed"), "{out}");
        let (against, out) = run(&["--jobs", jobs, "--against", workspace.to_str().unwrap()]);
        assert!(out.contains("10,000 of 10,000 requests change (100 %)"), "{out}");
        assert!(jobs == "1" || again.max(against) < PROMISE, "{again:?} {against:?}");
        rows.push((again, against));
    }
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f64());
    let table = format!(
        "10,000 requests of {REVISIONS} revisions, {} MB:\n\n\
         | | 1 thread | 2 threads |\n|---|---|---|\n\
         | recording, assembling each once more included | {} | |\n\
         | `promptd replay` | {} | {} |\n\
         | `promptd replay --against`, where every prompt changes | {} | {} |\n\n{}\n",
        bytes >> 20,
        seconds(recording),
        seconds(rows[0].0),
        seconds(rows[1].0),
        seconds(rows[0].1),
        seconds(rows[1].1),
        machine::describe().replace("; client and servers on the same machine", ""),
    );
    print!("{table}");
    if arguments.record {
        let text = fs::read_to_string(DOCUMENT).unwrap();
        let (before, rest) = text.split_once("<!-- replay:begin -->\n").unwrap();
        let (_, after) = rest.split_once("<!-- replay:end -->").unwrap();
        fs::write(DOCUMENT, format!("{before}<!-- replay:begin -->\n\n{table}\n<!-- replay:end -->{after}")).unwrap();
    }
}

/// What the files below a folder hold.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| if entry.path().is_dir() { size(&entry.path()) } else { entry.metadata().unwrap().len() }).sum()
}

fn edit(workspace: &Path, file: &str, line: &str) {
    let text = fs::read_to_string(workspace.join(file)).unwrap();
    fs::write(workspace.join(file), format!("{line}\n{text}")).unwrap();
}

/// Records the requests; the time from the first to the last that is written.
fn record(workspace: &Path, records: &Path) -> Duration {
    let bounds = Bounds { max_bytes: 4 << 30, max_age: Duration::from_secs(1_000_000_000) };
    let (dir, redaction) = (records.to_owned(), Redaction::default());
    let recorder = Recorder::start(Options { dir, sample: Share::ALL, bounds, redaction }).unwrap();
    let began = Instant::now();
    for version in 0..REVISIONS {
        edit(workspace, "AGENTS.md", &format!("- Version {version}."));
        let (origin, prepared) = revision(workspace);
        for number in (0..REQUESTS).filter(|number| number * REVISIONS / REQUESTS == version) {
            call(&recorder, &origin, &prepared, number);
        }
        assert!(recorder.flush(Duration::from_secs(600)));
    }
    assert_eq!(recorder.status().written.get(), u64::from(REQUESTS));
    began.elapsed()
}

fn revision(workspace: &Path) -> (Arc<Origin>, Prepared) {
    let tree = promptd_source::open_tree(workspace, &[]).unwrap();
    let tree = Capturing::new(&tree, None);
    let (profiles, settings) = (Arc::new(ProfileSet::built_in()), Arc::new(Settings::default()));
    let snapshot = load(&Load {
        id: &Id::parse("harbor").unwrap(),
        root: "/srv/harbor",
        tree: &tree,
        shared_skills: &[],
        profiles: Arc::clone(&profiles),
        settings: Arc::clone(&settings),
        previous: None,
    })
    .unwrap();
    let (id, root, tree) = (snapshot.id.clone(), Arc::clone(&snapshot.root), tree.finish().unwrap());
    let origin =
        Origin { id, root, tree, shared_skills: Vec::new(), profiles, settings, previous: None, layers: Vec::new() };
    (Arc::new(origin), snapshot.into())
}

fn call(recorder: &Recorder, origin: &Arc<Origin>, revision: &Prepared, number: u32) {
    let at = Timestamp::new(NOW + i64::from(number), 0).unwrap();
    let profile = if number.is_multiple_of(2) { "five-layer" } else { "kern" };
    let turn = turn(number, at);
    let decoded = decode::turn(turn.clone(), &decode::Limits::default(), at).unwrap();
    let digest = prompt::assemble(revision, revision.profiles.get(profile).unwrap(), &decoded).unwrap().digest;
    let mut request = proto::AssemblePromptRequest {
        workspace_id: "harbor".into(),
        turn: Some(turn),
        profile: profile.into(),
        ..Default::default()
    };
    let copy = Copy::of(&mut request, at);
    let answered =
        Answered { revision: revision.revision.to_string(), profile: profile.into(), token_skills: None, digest, at };
    recorder.record(copy, answered, Some(origin));
}

/// About 4 KB.
fn turn(number: u32, at: Timestamp) -> proto::Turn {
    let role = |index: u32| if index.is_multiple_of(2) { proto::Role::User } else { proto::Role::Assistant };
    let message = |index: u32| proto::ConversationMessage {
        role: role(index).into(),
        content: format!("Message {index} of conversation {number}: which berth is free at high tide? ").repeat(3),
        ..Default::default()
    };
    let snippet = |index: u32| proto::KnowledgeSnippet {
        content: format!("Snippet {index} for request {number}: the pilot boards at the outer buoy. ").repeat(4),
        source: format!("manual-{index}.md"),
        ..Default::default()
    };
    proto::Turn {
        user: Some(proto::User { id: format!("u-{}", number % 1_000), name: format!("User {}", number % 1_000) }),
        now: Some(prost_types::Timestamp { seconds: at.as_second(), nanos: 0 }),
        conversation: Some(proto::Conversation { messages: (0..9).map(message).collect(), ..Default::default() }),
        knowledge: (0..4).map(snippet).collect(),
        ..Default::default()
    }
}
