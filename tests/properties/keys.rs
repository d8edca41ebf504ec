//! Every key of `workspace.yaml` does what it says: with it, the prompt is another.

use promptd_contract::proto;
use promptd_core::{prompt, settings::Settings};

use crate::arbitrary::{Files, checked, snapshot};

const PROFILE: &str = "name: greeting\ndescription: With an input.\ninputs:\n  word: {type: string, default: hello}\nmessages:\n  - name: m\n    role: system\n    sections:\n      - {id: s, template: \"{{ word }}\"}\n";

fn files(manifest: &str) -> Files {
    [
        ("workspace.yaml", manifest),
        ("AGENTS.md", "Rules, which are longer than the smallest limit that leaves room for a marker."),
        ("SOUL.md", "Calm, which is also longer than the smallest limit that leaves room for a marker."),
        ("docs/RUNBOOK.md", "Restart it."),
        ("NOTES.md", "Take care."),
        ("docs/NOTES.md", "Take more care."),
        ("skills/git/SKILL.md", "---\nname: git\ndescription: Knows git.\n---\n"),
        ("skills/tides/SKILL.md", "---\nname: tides\ndescription: Knows tides.\n---\n"),
    ]
    .into_iter()
    .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
    .collect()
}

fn text(manifest: &str) -> String {
    let snapshot = snapshot(&files(manifest), &Settings::default()).unwrap_or_else(|| panic!("{manifest} is invalid"));
    let turn = checked(proto::Turn { heartbeat: true, ..Default::default() }).unwrap();
    let profile = snapshot.profiles.get(snapshot.manifest.profile.as_str()).unwrap();
    let prompt = prompt::assemble(&snapshot, profile, &turn).unwrap();
    prompt.messages.iter().map(|message| &*message.content).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn every_key_acts() {
    let plain = text("");
    for (manifest, gains, loses) in [
        ("agent: {id: h1}", "Agent ID: h1", "Agent ID: harbour"),
        ("agent: {name: Harbor}", "Agent name: Harbor", "Agent name: harbour"),
        ("agent: {persona: Warm.}", "## Persona\n\nWarm.", ""),
        ("agent: {time_zone: Asia/Kolkata}", "08:00:00+05:30", "02:30:00+00:00"),
        ("agent: {skip_context_files: true}", "", "# Workspace Context"),
        ("agent: {ephemeral_system_prompt: Count.}", "Count.", ""),
        ("context: {max_chars_per_file: 60}", "[AGENTS.md cut: ", "room for a marker."),
        ("context: {max_chars_total: 120}", "[SOUL.md cut: ", "room for a marker."),
        (
            "context: {files: [{path: docs/RUNBOOK.md, purpose: operate}]}",
            "## docs/RUNBOOK.md\n- Purpose: operate\n\nRestart it.",
            "",
        ),
        ("context: {nested: [NOTES.md]}", "## NOTES.md\n\nTake care.", ""),
        ("skills: {enabled: false}", "", "## Skills"),
        ("skills: {allowlist: [git]}", "", "<name>tides</name>"),
        ("skills: {blocklist: [git]}", "", "<name>git</name>"),
        ("heartbeat: {protocol: Look around.}", "## Heartbeat\n\nLook around.", "started by a timer"),
        ("expose_paths: false", "Workspace: harbour", "/srv/harbour"),
    ] {
        let changed = text(manifest);
        assert!(changed.contains(gains) && (gains.is_empty() || !plain.contains(gains)), "{manifest}: {changed}");
        assert!(loses.is_empty() || (plain.contains(loses) && !changed.contains(loses)), "{manifest}: {changed}");
    }
}

#[test]
fn what_says_the_default_changes_nothing() {
    let plain = text("");
    for manifest in [
        "agent: {skip_context_files: false, ephemeral_system_prompt: \"\", persona: \" \"}",
        "profile: five-layer",
        "context: {max_chars_per_file: 4000, max_chars_total: 12000, files: []}",
        "skills: {enabled: true, allowlist: [\"*\"], blocklist: []}",
        "heartbeat: {protocol: null}",
        "expose_paths: true\nlocked: []\ninputs: {}",
    ] {
        assert_eq!(text(manifest), plain, "{manifest}");
    }
}

#[test]
fn profile_and_inputs_act_together() {
    let (profiles, findings) = promptd_core::profile::load(&[("greeting.yaml".to_owned(), PROFILE.into())], None);
    assert!(findings.is_empty(), "{findings:?}");
    let profiles = std::sync::Arc::new(profiles);
    let said = |manifest: &str| {
        let tree: promptd_core::workspace::MemoryTree = files(manifest).into_iter().collect();
        let snapshot = promptd_core::workspace::load(&promptd_core::workspace::Load {
            id: &promptd_core::id::Id::parse("harbour").unwrap(),
            root: "/srv/harbour",
            tree: &tree,
            shared_skills: &[],
            profiles: std::sync::Arc::clone(&profiles),
            settings: std::sync::Arc::new(Settings::default()),
            previous: None,
        });
        let snapshot = match snapshot {
            Ok(snapshot) => prompt::Prepared::from(snapshot),
            Err(findings) => return findings[0].message.clone(),
        };
        let profile = snapshot.profiles.get(snapshot.manifest.profile.as_str()).unwrap();
        let turn = checked(proto::Turn::default()).unwrap();
        let prompt = prompt::assemble(&snapshot, profile, &turn).unwrap();
        prompt.messages[0].content.to_string()
    };
    assert_eq!(said("profile: greeting"), "hello");
    assert_eq!(said("profile: greeting\ninputs: {word: ahoy}"), "ahoy");
    assert!(said("inputs: {word: ahoy}").starts_with("`inputs.word` is not known"));
    assert!(said("profile: greeting\ninputs: {word: [1]}").starts_with("`inputs.word` must be"));
    assert!(
        said("profile: greeting\ninputs: {wrod: x}").starts_with("`inputs.wrod` is not known; did you mean `word`?")
    );
}
