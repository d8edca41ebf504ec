//! Large parts, each in several sizes: twice as much may take twice as long, and no more.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use promptd_contract::{
    decode::{self, Limits},
    encode::{Answer, Shape},
    proto::{Conversation, ConversationMessage, KnowledgeSnippet, Role, Turn},
};
use promptd_core::{
    id::Id,
    profile::ProfileSet,
    prompt::{self, Prepared},
    settings::Settings,
    workspace::{Load, MemoryTree, load},
};
use prost::Message as _;
use serde::{Deserialize, Serialize};

/// Twice the size may take so many times as long: twice, and something for what the clock and the caches do.
const DOUBLING: f64 = 2.6;
/// How often the size doubles.
const DOUBLINGS: u32 = 5;
/// A sample is made of so many runs that it takes at least that long.
const SAMPLE: Duration = Duration::from_micros(300);

/// One part's times by size.
#[derive(Debug, Serialize, Deserialize)]
pub struct Growth {
    pub part: String,
    pub does: String,
    pub points: Vec<Point>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Point {
    pub size: usize,
    /// The least of many runs: what else the machine does only adds.
    pub microseconds: f64,
}

/// What grows, to which size, and what is done with it: given a size, the thing to be timed.
struct Part {
    name: &'static str,
    does: &'static str,
    largest: usize,
    prepare: fn(usize) -> Box<dyn FnMut()>,
}

const PARTS: [Part; 5] = [
    Part { name: "bytes of context file", does: "load, and cut to its limit", largest: 1 << 20, prepare: context_file },
    Part { name: "skills", does: "load", largest: 150, prepare: skills },
    Part { name: "knowledge snippets", does: "assemble", largest: 1_000, prepare: knowledge },
    Part { name: "history messages, the newest 12", does: "assemble", largest: 10_000, prepare: window },
    Part { name: "history messages, all (kern)", does: "assemble", largest: 10_000, prepare: history },
];

pub fn measure(samples: usize) -> Vec<Growth> {
    PARTS.iter().map(|part| grow(part, samples)).collect()
}

/// How often the samples are taken again while a doubling takes too long: more of them can only take noise away.
const ATTEMPTS: usize = 5;

fn grow(part: &Part, samples: usize) -> Growth {
    let sizes = (0..=DOUBLINGS).rev().map(|halvings| part.largest.div_ceil(1 << halvings));
    let mut runs: Vec<_> = sizes.clone().map(part.prepare).collect();
    let points = sizes.map(|size| Point { size, microseconds: f64::INFINITY }).collect();
    let mut growth = Growth { part: part.name.into(), does: part.does.into(), points };
    for _ in 0..ATTEMPTS {
        // All sizes in turn, so that a slow minute of the machine meets them all.
        for _ in 0..samples {
            for (run, point) in runs.iter_mut().zip(&mut growth.points) {
                point.microseconds = point.microseconds.min(sample(run));
            }
        }
        if growth.faults().is_empty() {
            break;
        }
    }
    growth
}

/// Microseconds a run.
fn sample(run: &mut dyn FnMut()) -> f64 {
    let (began, mut runs) = (Instant::now(), 0);
    while runs == 0 || began.elapsed() < SAMPLE {
        run();
        runs += 1;
    }
    began.elapsed().as_secs_f64() * 1e6 / f64::from(runs)
}

impl Growth {
    /// Where twice the size took too much longer.
    pub fn faults(&self) -> Vec<String> {
        let fault = |pair: &[Point]| {
            let times = pair[1].microseconds / pair[0].microseconds;
            let what = || format!("{}: {} take {times:.2} times as long as {}", self.part, pair[1].size, pair[0].size);
            (times > DOUBLING).then(what)
        };
        self.points.windows(2).filter_map(fault).collect()
    }
}

fn context_file(bytes: usize) -> Box<dyn FnMut()> {
    loading(MemoryTree::new().file("AGENTS.md", "One rule, and the reason why it is one.\n".repeat(bytes / 40)))
}

fn skills(count: usize) -> Box<dyn FnMut()> {
    let tree = (0..count).fold(MemoryTree::new(), |tree, n| {
        let text =
            format!("---\nname: skill-{n:03}\ndescription: Looks up tides for case {n}.\n---\n\nRead the table.\n");
        tree.file(&format!("skills/skill-{n:03}/SKILL.md"), text)
    });
    loading(tree)
}

fn knowledge(count: usize) -> Box<dyn FnMut()> {
    let snippet = |n| KnowledgeSnippet {
        content: format!("Berth {n} is closed until the crane has been inspected; pilots are told by radio."),
        source: format!("log-{n}"),
        title: "Berth plan".into(),
    };
    assembling("five-layer", &Turn { knowledge: (0..count).map(snippet).collect(), ..Turn::default() })
}

fn window(count: usize) -> Box<dyn FnMut()> {
    assembling("five-layer", &conversation(count))
}

fn history(count: usize) -> Box<dyn FnMut()> {
    assembling("kern", &conversation(count))
}

fn conversation(count: usize) -> Turn {
    let message = |n: usize| ConversationMessage {
        role: if n.is_multiple_of(2) { Role::User } else { Role::Assistant }.into(),
        content: format!("{n}"),
        id: format!("message-{n}"),
        ..ConversationMessage::default()
    };
    let messages = (0..count).map(message).collect();
    Turn { conversation: Some(Conversation { messages, ..Conversation::default() }), ..Turn::default() }
}

fn loading(tree: MemoryTree) -> Box<dyn FnMut()> {
    let (id, profiles, settings) = (Id::parse("ws").unwrap(), Arc::new(ProfileSet::built_in()), Arc::default());
    Box::new(move || _ = snapshot(&id, &tree, &profiles, &settings))
}

/// From the turn's bytes to the answer's, as a call does.
fn assembling(profile: &str, turn: &Turn) -> Box<dyn FnMut()> {
    let tree = MemoryTree::new().file("AGENTS.md", "Be brief.");
    let profiles = Arc::new(ProfileSet::built_in());
    let snapshot = snapshot(&Id::parse("ws").unwrap(), &tree, &profiles, &Arc::default());
    let (profile, bytes) = (Arc::clone(profiles.get(profile).unwrap()), turn.encode_to_vec());
    Box::new(move || {
        let turn = decode::turn(Turn::decode(&*bytes).unwrap(), &Limits::default(), Timestamp::UNIX_EPOCH).unwrap();
        let prompt = prompt::assemble(&snapshot, &profile, &turn).unwrap();
        let shape = Shape::default();
        let revision = snapshot.revision.as_str();
        let answer = Answer {
            prompt: &prompt,
            revision,
            profile: "",
            rendered: "",
            session_position: None,
            recalled: &[],
            side: None,
            shape: &shape,
        };
        std::hint::black_box(answer.encode());
    })
}

fn snapshot(id: &Id, tree: &MemoryTree, profiles: &Arc<ProfileSet>, settings: &Arc<Settings>) -> Prepared {
    let (profiles, settings) = (Arc::clone(profiles), Arc::clone(settings));
    load(&Load { id, root: "/srv/ws", tree, shared_skills: &[], profiles, settings, previous: None }).unwrap().into()
}
