#![no_main]
//! Any template is a fault of its profile, or runs or fails in bounded time, memory and depth.

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use promptd_core::{
    id::Id,
    profile, prompt,
    settings::Settings,
    turn::Turn,
    workspace::{Load, MemoryTree, load},
};

const HEAD: &str = "inputs:\n  on: bool\n  count: int\n  list: { type: list, of: { name: string, n: int } }\nmessages:\n  - name: m\n    sections:\n      - { id: a, keep_empty: true, template: ";

fuzz_target!(|template: &str| {
    // Of YAML's quoted texts, these escapes are enough.
    let quoted: String = template
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                format!("\\U{:08x}", u32::from(c))
            }
            c => c.to_string(),
        })
        .collect();
    let yaml = format!("{HEAD}\"{quoted}\" }}\n");
    let (profiles, _) = profile::load(&[("any.yaml".to_owned(), yaml.into_bytes())], None);
    let id = Id::parse("ws").expect("a good id");
    let loaded = load(&Load {
        id: &id,
        root: "/srv/ws",
        tree: &MemoryTree::new(),
        shared_skills: &[],
        profiles: Arc::new(profiles),
        settings: Arc::new(Settings::default()),
        previous: None,
    });
    let snapshot = prompt::Prepared::from(loaded.expect("without a workspace.yaml it loads"));
    if let Some(profile) = snapshot.profiles.get("any") {
        let _ = prompt::assemble(&snapshot, profile, &Turn::at("2026-03-01T02:30:00Z".parse().expect("a time")));
    }
});
