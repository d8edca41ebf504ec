#![no_main]
//! A SKILL.md of any bytes: never a panic, and never the loss of the skill beside it.

use libfuzzer_sys::fuzz_target;
use promptd_core::{settings::Settings, workspace::MemoryTree};

mod common;

fuzz_target!(|bytes: &[u8]| {
    let good = "---\nname: good\ndescription: Good.\n---\n";
    let tree = MemoryTree::new().file("skills/any/SKILL.md", bytes).file("skills/Good/SKILL.md", good);
    let snapshot = common::snapshot(&tree, Settings::default()).expect("there is no workspace.yaml to be wrong");
    assert!(snapshot.skills.iter().any(|skill| &*skill.name == "good"));
    assert!(snapshot.skills.len() == 2 || !snapshot.findings.is_empty());
});
