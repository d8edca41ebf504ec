use super::support::{folder, repository, run};

/// A workspace with a fault in each of its parts.
const BROKEN: &[(&str, &str)] = &[
    (
        "ws/workspace.yaml",
        "agent:\n  naem: Harbor\n  time_zone: Europe/Berln\nskip_context_files: true\ncontext:\n  max_chars_per_file: lots\nskills:\n  blocklist: [\"a[b\"]\nagent: {}\n",
    ),
    ("ws/AGENTS.md", "Rules."),
];

const ODD: &[(&str, &str)] = &[
    ("ws/workspace.yaml", "context:\n  max_chars_per_file: 100\n"),
    (
        "ws/AGENTS.md",
        "0123456789 123456789 123456789\n0123456789 123456789 123456789\n0123456789 123456789 123456789\n0123456789 123456789 123456789\n",
    ),
    ("ws/SOUL.md", "Calm.\nHidden \u{202e}txet\u{202c} here.\n"),
    ("ws/agents.md", "near miss"),
    ("ws/skills/nothing/SKILL.md", "---\nname: nothing\n---\nNo description.\n"),
    ("ws/skills/fine/SKILL.md", "---\nname: fine\ndescription: Works.\n---\nFine.\n"),
];

#[test]
fn the_example_has_no_errors() {
    let ran = run(&repository(), &["check", "workspace-example"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("CONTEXT_FILE_TRUNCATED") && ran.out.ends_with("1 warning\n"), "{}", ran.out);
    assert_eq!(ran.err, "");
    assert_eq!(run(&repository(), &["check", "--deny-warnings", "workspace-example"]).code, 1);
}

#[test]
fn every_fault_of_a_workspace_is_reported_with_its_line() {
    let home = folder(BROKEN);
    let ran = run(home.path(), &["check", "ws"]);
    assert_eq!(ran.code, 1);
    insta::assert_snapshot!(ran.out);
}

#[test]
fn a_fault_of_workspace_yaml_does_not_hide_those_of_other_files() {
    let home = folder(&[
        ("ws/workspace.yaml", "skills:\n  blocklist: [a]\nskills: {}\n"),
        ("ws/agents.md", "near miss"),
        ("ws/skills/nothing/SKILL.md", "---\nname: nothing\n---\nNo description.\n"),
    ]);
    let ran = run(home.path(), &["check", "ws"]);
    assert_eq!(ran.code, 1);
    for output in ["DUPLICATE_KEY", "ws/workspace.yaml:3:1", "SKILL_INVALID", "FILE_NAME_CASE", "2 errors, 1 warning"] {
        assert!(ran.out.contains(output), "{output}: {}", ran.out);
    }
}

#[test]
fn a_fault_of_the_syntax_hides_no_other_of_the_file() {
    let home = folder(&[
        ("ws/workspace.yaml", "agent:\n  naem: Harbor\nskills:\n  blocklist: [secret\nprofile: nope\n"),
        ("ws/skills/s/SKILL.md", "---\nname: [x\ndescription: 'it's'\n---\n"),
    ]);
    let ran = run(home.path(), &["check", "ws"]);
    assert_eq!(ran.code, 1);
    for output in [
        "ws/workspace.yaml:2:3",
        "ws/workspace.yaml:4:14",
        "`[` has no closing `]`",
        "ws/workspace.yaml:5:10",
        "ws/skills/s/SKILL.md:2:7",
        "ws/skills/s/SKILL.md:3:18",
        "5 errors",
    ] {
        assert!(ran.out.contains(output), "{output}: {}", ran.out);
    }
}

#[test]
fn invalid_values_are_reported_all_at_once() {
    let (path, text) = BROKEN[0];
    let home = folder(&[(path, text.strip_suffix("agent: {}\n").unwrap())]);
    let ran = run(home.path(), &["check", "ws"]);
    assert_eq!(ran.code, 1);
    insta::assert_snapshot!(ran.out);
}

#[test]
fn losses_and_hidden_characters_are_reported() {
    let home = folder(ODD);
    let ran = run(home.path(), &["check", "ws"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("\\u{202e}") && !ran.out.contains('\u{202e}'), "{}", ran.out);
    insta::assert_snapshot!(ran.out);
}

#[test]
fn every_format_names_the_same_findings() {
    let home = folder(ODD);
    let of = |format: &str| {
        let ran = run(home.path(), &["check", "ws", "--format", format]);
        assert_eq!((ran.code, ran.err.as_str()), (1, ""));
        ran.out
    };
    let json: serde_json::Value = serde_json::from_str(&of("json")).unwrap();
    let sarif: serde_json::Value = serde_json::from_str(&of("sarif")).unwrap();
    let findings = json["findings"].as_array().unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let github = of("github");
    assert_eq!((findings.len(), github.lines().count()), (results.len(), findings.len()));
    for ((finding, result), line) in findings.iter().zip(results).zip(github.lines()) {
        assert_eq!(finding["code"], result["ruleId"]);
        assert!(line.contains(finding["code"].as_str().unwrap()), "{line}");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], finding["file"]);
        assert_eq!(place["region"]["startLine"].as_u64(), finding["line"].as_u64());
    }
    assert_eq!(json["errors"], 1);
}

#[test]
fn many_workspaces_are_checked_even_if_one_is_missing() {
    let home = folder(&[("a/AGENTS.md", "A."), ("b/workspace.yaml", "nope: 1\n")]);
    let ran = run(home.path(), &["check", "a", "missing", "b"]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.contains("b/workspace.yaml:1:1"), "{}", ran.out);
    assert_eq!(ran.err, "error: folder not found: missing\n");
    let ran = run(home.path(), &["check", "missing", "lost"]);
    assert_eq!(
        (ran.out.as_str(), ran.err.as_str()),
        ("", "error: folder not found: missing\nerror: folder not found: lost\n")
    );
}

#[test]
fn wrong_arguments_exit_with_2() {
    let home = folder(&[]);
    assert_eq!(run(home.path(), &["check"]).code, 2);
    assert_eq!(run(home.path(), &["check", ".", "--format", "xml"]).code, 2);
    assert_eq!(run(home.path(), &["nonsense"]).code, 2);
}

#[test]
fn a_folder_without_a_workspace_is_noted() {
    let home = folder(&[("empty/notes.txt", ""), ("all/one/AGENTS.md", "One.")]);
    for command in ["check", "render"] {
        let output = run(home.path(), &[command, "empty"]);
        assert_eq!(output.code, 0, "{}", output.err);
        assert!(output.err.contains("note: empty has no files of a workspace: AGENTS.md, SOUL.md"), "{}", output.err);
        assert!(output.err.contains("`promptd init empty`"), "{}", output.err);
        let output = run(home.path(), &[command, "all"]);
        assert!(output.err.contains("but its folders `one` have: give one of them"), "{}", output.err);
        assert!(!run(home.path(), &[command, "all/one"]).err.contains("note:"));
    }
}
