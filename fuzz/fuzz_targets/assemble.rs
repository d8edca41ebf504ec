#![no_main]
//! A whole prompt: any files, any turn as it comes over the wire, every profile, every format.

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use promptd_contract::{decode, proto};
use promptd_core::{
    settings::{Settings, SkillLimits},
    workspace::MemoryTree,
};
use prost::Message as _;

mod common;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    files: Vec<(common::Name, &'a [u8])>,
    per_file: u16,
    total: u16,
    skills: (u8, u8, u16),
    heartbeat: bool,
    texts: [&'a str; 8],
    knowledge: Vec<(&'a str, &'a str)>,
    /// A `Turn` as bytes, laid over the fields above.
    wire: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let manifest = format!(
        "context: {{max_chars_per_file: {}, max_chars_total: {}, files: [{{path: docs/more.md}}]}}",
        input.per_file, input.total
    );
    let tree = input
        .files
        .iter()
        .fold(MemoryTree::new().file("workspace.yaml", manifest), |tree, (name, bytes)| tree.file(name.path(), *bytes));
    let (description, shown, block) = input.skills;
    let skills = SkillLimits {
        max_description_chars: description.into(),
        max_shown: shown.into(),
        max_block_chars: block.into(),
    };
    let snapshot = common::snapshot(&tree, Settings { skills, ..Settings::default() }).expect("a good workspace.yaml");
    let [user, agent, channel, persona, summary, ephemeral, source, zone] = input.texts.map(ToOwned::to_owned);
    let snippet = |(content, title): &(&str, &str)| proto::KnowledgeSnippet {
        content: (*content).to_owned(),
        title: (*title).to_owned(),
        source: source.clone(),
    };
    let mut turn = proto::Turn {
        user: Some(proto::User { name: user, ..Default::default() }),
        agent: Some(proto::Agent { name: agent, ..Default::default() }),
        channel: Some(proto::Channel { name: channel, ..Default::default() }),
        persona: Some(persona),
        conversation_summary: summary,
        ephemeral_system_prompt: Some(ephemeral),
        knowledge: input.knowledge.iter().map(snippet).collect(),
        heartbeat: input.heartbeat,
        ..Default::default()
    };
    if turn.merge(input.wire).is_err() {
        turn.time_zone = zone;
    }
    let now = "2026-03-01T02:30:00Z".parse().expect("a time");
    if let Ok(turn) = decode::turn(turn, &decode::Limits::default(), now) {
        common::assemble_all(&snapshot, &turn);
    }
});
