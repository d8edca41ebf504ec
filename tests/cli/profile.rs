use super::support::{folder, repository, run};

#[test]
fn profiles_are_listed_and_shown() {
    let listed = run(&repository(), &["profile", "list"]);
    assert!(listed.out.starts_with("five-layer") || listed.out.contains("\nfive-layer"), "{}", listed.out);
    let shown = run(&repository(), &["profile", "show", "five-layer"]);
    assert!(shown.out.contains("name: five-layer"), "{}", shown.out);
    let missing = run(&repository(), &["profile", "show", "five-layers"]);
    assert_eq!(missing.code, 1);
    assert_eq!(missing.err, "error: unknown profile `five-layers`; did you mean `five-layer`?\n");
}

#[test]
fn a_fault_of_a_profile_is_reported_with_its_line() {
    let home = folder(&[
        ("config/promptd.yaml", "workspaces: {root: ../ws}\n"),
        ("config/profiles/mine.yaml", "name: mine\nextends: five-layer\nmesages: []\n"),
    ]);
    let ran = run(home.path(), &["profile", "check"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("config/profiles/mine.yaml:3:1") && ran.err.contains("`messages`"), "{}", ran.err);
}

#[test]
fn files_are_checked_with_line_and_excerpt() {
    let home = folder(&[
        ("config/profiles/base.yaml", "extends: kai-local\ninputs: {berth: string}\n"),
        (
            "new/good.yaml",
            "extends: base\nmessages:\n  - name: system\n    sections:\n      - {id: b, template: '{{ berth }}'}\n",
        ),
        (
            "new/bad.yaml",
            "extends: base\nmessages:\n  - name: system\n    sections:\n      - id: b\n        template: |\n          At\n          {{ bert }}.\n",
        ),
    ]);
    let good = run(home.path(), &["profile", "check", "new/good.yaml"]);
    assert_eq!((good.code, good.out.as_str()), (0, "nothing to report\n"), "{}", good.err);
    let bad = run(home.path(), &["profile", "check", "new/good.yaml", "new/bad.yaml"]);
    assert_eq!(bad.code, 1, "{}", bad.err);
    for part in ["new/bad.yaml:8", "{{ bert }}.", "`bert` is not known; did you mean `berth`?", "1 error\n"] {
        assert!(bad.out.contains(part), "{part}: {}", bad.out);
    }
    let missing = run(home.path(), &["profile", "check", "new/none.yaml"]);
    assert_eq!(missing.code, 2, "{}", missing.out);
    assert!(missing.err.starts_with("error: the profile new/none.yaml "), "{}", missing.err);
}

#[test]
fn docs_are_tables_by_extension_tree() {
    let one = run(&repository(), &["profile", "docs", "kai-local"]);
    assert!(one.out.starts_with("| Message | Section | kai-remote | kai-local | Gating input |\n"), "{}", one.out);
    let row = "| `system` | `your_memories` | when the list is not empty | when the list is not empty, within the budget \
               `memory` | `general_memories` |\n";
    assert!(one.out.contains(row), "{}", one.out);
    assert!(
        one.out.contains("| `system` | `automation` | when `scheduling_enabled` | never | `scheduling_enabled` |\n")
    );
    let several = run(&repository(), &["profile", "docs", "lucidpal", "five-layer"]);
    assert!(several.out.starts_with("| Message | Section | lucidpal | five-layer | Gating input |\n"));
    let all = run(&repository(), &["profile", "docs"]);
    assert!(all.out.contains("### kai-remote, kai-local\n") && !all.out.contains("### kai-local"), "{}", all.out);
    let inputs = run(&repository(), &["profile", "docs", "--inputs", "kai-local"]);
    assert!(inputs.out.contains("| `memory_budget` | int, 0 or more | `2000` |"), "{}", inputs.out);
}

#[test]
fn a_workspaces_inputs_are_checked_against_its_profile() {
    let manifest =
        "profile: kai-local\ninputs:\n  memory_budgt: 500\n  general_memories: [{ key: a, hit_count: many }]\n";
    let home = folder(&[("ws/workspace.yaml", manifest)]);
    let ran = run(home.path(), &["check", "ws"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    for part in [
        "ws/workspace.yaml:3:3",
        "`inputs.memory_budgt` is not known; did you mean `memory_budget`? (profile `kai-local`)",
        "ws/workspace.yaml:4:43",
        "`inputs.general_memories[0].hit_count` must be a whole number, not a string",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
}
