//! What a workspace sets for its files holds under every profile, also one that a caller picks.

use promptd_core::{
    finding::Code,
    prompt::{Outcome, Prepared, Prompt},
    turn::Turn,
};

use crate::support::{built_in, prompt, turn, workspace};

const TEXTS: [(&str, &str); 8] = [
    ("AGENTS.md", "AGENTS-TEXT "),
    ("SOUL.md", "SOUL-TEXT "),
    ("IDENTITY.md", "IDENTITY-TEXT "),
    ("KNOWLEDGE.md", "KNOWLEDGE-TEXT "),
    ("USERS.md", "USERS-TEXT "),
    ("KERN.md", "KERN-TEXT "),
    ("docs/RUNBOOK.md", "RUNBOOK-TEXT "),
    ("notes/2026-02-27.md", "NOTES-TEXT "),
];
const RUNBOOK: &str = "files: [{ path: docs/RUNBOOK.md, purpose: operations }]";
const LARGE: usize = 100;

/// The texts, each `LARGE` times, and a `workspace.yaml`.
fn harbor(manifest: &str) -> Prepared {
    built_in(&files(manifest).iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>())
}

fn files(manifest: &str) -> Vec<(String, String)> {
    let texts = TEXTS.iter().map(|(path, text)| ((*path).to_owned(), text.repeat(LARGE)));
    texts.chain([("workspace.yaml".to_owned(), manifest.to_owned())]).collect()
}

/// How many characters of the files a prompt has, markers not counted.
fn shown(prompt: &Prompt<'_>, text: &str) -> usize {
    let word = text.trim_end();
    prompt.messages.iter().map(|message| message.content.matches(word).count() * text.len()).sum()
}

fn profiles(workspace: &Prepared) -> Vec<String> {
    workspace.profiles.iter().map(|profile| profile.name.to_string()).collect()
}

#[test]
fn skipped_context_files_are_in_no_prompt_under_any_profile() {
    let by_workspace = harbor(&format!("agent: {{ skip_context_files: true }}\ncontext: {{ {RUNBOOK} }}\n"));
    let by_turn = harbor(&format!("context: {{ {RUNBOOK} }}\n"));
    for (workspace, turn) in [(&by_workspace, turn()), (&by_turn, Turn { skip_context_files: true, ..turn() })] {
        for profile in profiles(workspace) {
            let prompt = prompt(workspace, &profile, &turn);
            for (path, text) in TEXTS.iter().filter(|(path, _)| !path.starts_with("notes") && path.len() > 6) {
                let is_context_file = matches!(*path, "AGENTS.md" | "SOUL.md" | "IDENTITY.md" | "docs/RUNBOOK.md");
                assert!(!is_context_file || shown(&prompt, text) == 0, "{profile}: {path}");
            }
            let losses = prompt.sections.iter().filter(|section| section.outcome.is_loss());
            assert_eq!(losses.count(), 0, "{profile}: what was not asked for is no loss");
        }
    }
    // Without the setting, kai shows SOUL.md and kern AGENTS.md: the loop above would hold for any prompt otherwise.
    let turn = turn();
    assert!(shown(&prompt(&by_turn, "kai-local", &turn), "SOUL-TEXT ") > 0);
    assert!(shown(&prompt(&by_turn, "kern", &turn), "AGENTS-TEXT ") > 0);
}

#[test]
fn a_limit_that_the_workspace_sets_holds_under_every_profile() {
    for (limit, setting) in [(0, "max_chars_per_file: 0"), (120, "max_chars_per_file: 120"), (0, "max_chars_total: 0")]
    {
        let workspace = harbor(&format!("context: {{ {setting} }}\n"));
        for profile in profiles(&workspace) {
            let turn = turn();
            let prompt = prompt(&workspace, &profile, &turn);
            for (path, text) in TEXTS {
                assert!(shown(&prompt, text) <= limit, "{profile}, {setting}: {path}");
            }
            let reads_files = workspace.profiles.get(&profile).unwrap().files().next().is_some();
            let lost = prompt.sections.iter().any(|section| section.outcome.is_loss());
            let reported = prompt
                .findings
                .iter()
                .any(|finding| matches!(finding.code, Code::ContextFileTruncated | Code::ContextFileDropped));
            assert_eq!((lost, reported), (reads_files, reads_files), "{profile}, {setting}: {:?}", prompt.findings);
        }
    }
}

#[test]
fn a_total_that_the_workspace_sets_is_shared_under_every_profile() {
    let workspace = harbor("context: { max_chars_total: 1000 }\n");
    for profile in ["five-layer", "kern", "airi", "kai-local"] {
        let turn = turn();
        let prompt = prompt(&workspace, profile, &turn);
        let all: usize = TEXTS.iter().map(|(_, text)| shown(&prompt, text)).sum();
        assert!((400..=1000).contains(&all), "{profile}: {all}");
    }
}

#[test]
fn a_total_counts_context_files_and_other_files_together() {
    let own = "name: own\nmessages:\n  - name: m\n    sections:\n      - id: c\n        kind: context_files\n        \
               template: Files\n        entry: '{{ text }}'\n        files: [{ path: AGENTS.md, purpose: '' }]\n      \
               - { id: k, file: KNOWLEDGE.md, template: '{{ file.text }}' }\n";
    let files = files("context: { max_chars_total: 1500 }\n");
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let workspace = workspace(&files, own);
    let turn = turn();
    let prompt = prompt(&workspace, "own", &turn);
    assert_eq!(shown(&prompt, "AGENTS-TEXT "), 1200);
    assert!((1..=300).contains(&shown(&prompt, "KNOWLEDGE-TEXT ")));
    let section = prompt.sections.iter().find(|section| section.id == "k").unwrap();
    assert_eq!(section.outcome, Outcome::Truncated);
}

#[test]
fn the_defaults_hold_only_where_a_section_asks_for_them() {
    let long = "x".repeat(5_000);
    let workspace = built_in(&[("AGENTS.md", &long), ("SOUL.md", &long)]);
    for (profile, at_most) in [("five-layer", 4_000), ("kern", 5_000), ("kai-local", 5_000)] {
        let turn = turn();
        let prompt = prompt(&workspace, profile, &turn);
        let longest =
            prompt.messages.iter().flat_map(|message| message.content.split(|c| c != 'x')).map(str::len).max();
        assert!(longest.is_some_and(|longest| longest <= at_most && longest > 3_900), "{profile}: {longest:?}");
    }
}
