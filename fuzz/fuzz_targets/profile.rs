#![no_main]
//! A profile of any bytes is good or has faults; a good one assembles.

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use promptd_core::{
    finding::Finding,
    id::Id,
    profile,
    prompt::{self},
    settings::Settings,
    turn::Turn,
    workspace::{Load, MemoryTree, load},
};

fuzz_target!(|bytes: &[u8]| {
    let (profiles, findings) = profile::load(&[("any.yaml".to_owned(), bytes.to_vec())], None);
    if findings.iter().any(Finding::is_error) {
        return;
    }
    let tree = MemoryTree::new().file("AGENTS.md", "Rules.").file("a.md", "A.");
    let id = Id::parse("ws").expect("a good id");
    let loaded = load(&Load {
        id: &id,
        root: "/srv/ws",
        tree: &tree,
        shared_skills: &[],
        profiles: Arc::new(profiles),
        settings: Arc::new(Settings::default()),
        previous: None,
    });
    let snapshot = prompt::Prepared::from(loaded.expect("there is no workspace.yaml to be wrong"));
    let turn = Turn::at("2026-03-01T02:30:00Z".parse().expect("a time"));
    for profile in snapshot.profiles.iter() {
        let _ = prompt::assemble(&snapshot, profile, &turn);
    }
});
