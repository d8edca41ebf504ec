//! What a workspace sets for its files holds under every profile, also one that a caller picks.

use promptd_core::{
    finding::Code,
    prompt::{Outcome, Prepared, Prompt},
    turn::{Turn, WorkingDirectory},
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
            assert_eq!(losses.count(), 0, "{profile}: what was not asked for is not a loss");
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

/// The limits that a prompt's reports name, by the ends of the sections' ids.
fn reported<'w>(workspace: &'w Prepared, profile: &str, ids: &[&'w str]) -> Vec<Option<u64>> {
    let turn = turn();
    let prompt = prompt(workspace, profile, &turn);
    let limit = |id: &&str| prompt.sections.iter().find(|section| section.id.ends_with(id)).unwrap().max_chars;
    ids.iter().map(limit).collect()
}

#[test]
fn a_report_names_the_limit_of_its_own_section() {
    let ids = ["/AGENTS.md", "/SOUL.md", "/docs/RUNBOOK.md", "workspace_context", "runtime_facts"];
    let none = [None, None];
    for (settings, limits) in [
        ("", [4_000, 4_000, 4_000]),
        // What the files share is not a limit of one of them.
        ("max_chars_total: 700, ", [4_000, 4_000, 4_000]),
        ("max_chars_per_file: 90, ", [90, 90, 90]),
        ("max_chars_per_file: 5, ", [5, 5, 5]),
    ] {
        let workspace = harbor(&format!("context: {{ {settings}{RUNBOOK} }}\n"));
        let expected: Vec<_> = limits.map(Some).into_iter().chain(none).collect();
        assert_eq!(reported(&workspace, "five-layer", &ids), expected, "{settings}");
    }
    let one = harbor("context: { files: [{ path: SOUL.md, max_chars: 80 }] }\n");
    assert_eq!(reported(&one, "five-layer", &["/AGENTS.md", "/SOUL.md"]), [Some(4_000), Some(80)]);
}

#[test]
fn a_limit_is_counted_as_its_report_counts_what_is_included() {
    let own = "name: own\nmessages:\n  - name: m\n    sections:\n      \
               - { id: k, file: KNOWLEDGE.md, template: '<{{ file.text }}>' }\n";
    let limit = |context: &str| {
        let manifest = format!("context: {{ {context} }}\n");
        let workspace = workspace(&[("KNOWLEDGE.md", &"k".repeat(100)), ("workspace.yaml", &manifest)], own);
        let turn = turn();
        let section = &prompt(&workspace, "own", &turn).sections[0];
        (section.included.chars, section.max_chars)
    };
    assert_eq!(limit(""), (102, None));
    // Whole, a section's text is counted with its template; of a cut one, what is left of the file.
    assert_eq!(limit("max_chars_per_file: 150"), (102, Some(152)));
    assert_eq!(limit("max_chars_per_file: 90").1, Some(90));
    assert_eq!(limit("max_chars_per_file: 5"), (0, Some(5)));

    let workspace = built_in(&[("skills/git/SKILL.md", "---\nname: git\ndescription: Uses git.\n---\n")]);
    let turn = turn();
    let prompt = prompt(&workspace, "five-layer", &turn);
    let skills = prompt.sections.iter().find(|section| section.id == "skills").unwrap();
    let text = prompt.section_text(skills).unwrap();
    let block = &text[text.find("<available_skills>\n").unwrap()..];
    let block = &block[..block.find("</available_skills>").unwrap() + "</available_skills>".len()];
    let around = (text.len() - block.len()) as u64;
    assert!(around > 100 && skills.max_chars == Some(18_000 + around), "{skills:?}");
}

/// Files that the profile shows elsewhere keep their share, so that it does not depend on where a turn works.
#[test]
fn nested_files_share_what_files_shown_elsewhere_leave() {
    let own = "name: own\nmessages:\n  - name: m\n    sections:\n      \
               - { id: k, file: KNOWLEDGE.md, template: '{{ file.text }}' }\n      \
               - { id: c, kind: context_files, template: x, entry: '{{ text }}', files: [{ path: AGENTS.md, purpose: '' }] }\n";
    let (knowledge, rules, nested) = ("k".repeat(400), "r".repeat(200), "n".repeat(900));
    let shown = |total: usize, directory: &str| {
        let manifest = format!("context: {{ nested: [AGENTS.md], max_chars_total: {total} }}\n");
        let files = [
            ("KNOWLEDGE.md", &*knowledge),
            ("AGENTS.md", &*rules),
            ("a/AGENTS.md", &*nested),
            ("workspace.yaml", &*manifest),
        ];
        let workspace = workspace(&files, own);
        let turn = Turn { working_directory: WorkingDirectory::parse(directory).unwrap(), ..turn() };
        let prompt = prompt(&workspace, "own", &turn);
        let chars = |id: &str| {
            let section = prompt.sections.iter().find(|section| section.id == id);
            section.and_then(|section| prompt.section_text(section)).map_or(0, |text| text.chars().count())
        };
        [chars("k"), chars("c/AGENTS.md"), chars("c/a/AGENTS.md")]
    };
    assert_eq!(shown(1_000, "."), [400, 200, 0]);
    assert_eq!(shown(1_000, "a"), [400, 150, 450], "half of an equal share, and the rest");
    assert_eq!(shown(2_000, "a"), [400, 200, 900]);
    assert_eq!(shown(500, "a")[0], shown(500, ".")[0]);
    for total in (0..1_500).step_by(50) {
        assert!(shown(total, "a").iter().sum::<usize>() <= total, "{total}");
    }
}
