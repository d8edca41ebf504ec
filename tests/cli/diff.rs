use std::{fs, path::Path, process::Command};

use serde_json::Value;

use super::support::{Ran, folder, run, write};

const TURN: &str = "now: 2026-02-28T17:30:00Z\nuser: {name: Ada}\n";
const SKILL: &str = "---\nname: tides\ndescription: Tells the tides.\n---\nLook it up.\n";

/// The path of a temporary folder has another number of tokens each time.
const NO_PATHS: &str = "expose_paths: false\n";

const BEFORE: &[(&str, &str)] = &[
    ("one/AGENTS.md", "# Rules\n\nAnswer in one sentence.\nBe kind.\n"),
    ("one/SOUL.md", "Calm.\n"),
    ("one/workspace.yaml", NO_PATHS),
    ("two/workspace.yaml", NO_PATHS),
    ("two/AGENTS.md", "# Rules\n\nAnswer in two sentences.\nBe kind.\n\u{202e}edih\u{202c}\n"),
    ("two/skills/tides/SKILL.md", SKILL),
    ("turn.yaml", TURN),
];

/// What was printed, without what differs from one temporary folder to another.
fn shown(ran: &Ran, home: &Path) -> String {
    ran.out.replace(home.to_str().unwrap(), "HOME")
}

#[test]
fn folders_are_compared_by_section_word_finding_and_cache() {
    let home = folder(BEFORE);
    let ran = run(home.path(), &["diff", "one", "two", "--turn", "turn.yaml"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    insta::assert_snapshot!(shown(&ran, home.path()));
    let coloured = run(home.path(), &["--color", "always", "diff", "one", "two", "--turn", "turn.yaml"]);
    assert!(coloured.out.contains("\u{1b}[32m+Answer in \u{1b}[7mtwo\u{1b}[27m "), "{}", coloured.out);
    assert!(!coloured.out.contains('\u{202e}'));
}

#[test]
fn the_same_folder_differs_in_nothing() {
    let home = folder(BEFORE);
    let ran = run(home.path(), &["diff", "one", "one"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("nothing differs: "), "{}", ran.out);
}

#[test]
fn versions_have_one_id_and_one_path() {
    let home = folder(BEFORE);
    write(&home.path().join("copy/AGENTS.md"), BEFORE[0].1);
    write(&home.path().join("copy/SOUL.md"), BEFORE[1].1);
    for one in ["one", "copy"] {
        write(&home.path().join(one).join("workspace.yaml"), "expose_paths: true\n");
    }
    let ran = run(home.path(), &["diff", "one", "copy"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
}

#[test]
fn an_annotation_is_as_severe_as_its_finding() {
    let home = folder(&[
        ("one/AGENTS.md", "Be kind.\n"),
        ("two/workspace.yaml", "profile: airi\ninputs: {window: 1}\n"),
        ("two/AGENTS.md", "\u{202e}edih\n"),
        ("two/skills/tides/SKILL.md", "no front matter\n"),
        ("turn.yaml", "conversation: {messages: [{role: ROLE_USER, content: a}, {role: ROLE_USER, content: b}]}\n"),
    ]);
    let ran = run(home.path(), &["diff", "one", "two", "--turn", "turn.yaml", "--format", "github"]);
    for annotation in [
        "::notice title=LIMITED_BY_DESIGN::",
        "::warning file=two/AGENTS.md,title=HIDDEN_CHARACTERS::",
        "::error file=two/skills/tides/SKILL.md,title=SKILL_INVALID::",
    ] {
        assert!(ran.out.contains(annotation), "{annotation}\n{}", ran.out);
    }
}

#[test]
fn every_format_reports_the_same_sections() {
    let home = folder(BEFORE);
    let of = |format: &str| {
        let ran = run(home.path(), &["diff", "one", "two", "--turn", "turn.yaml", "--format", format]);
        assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{format}");
        ran
    };
    let json: Value = serde_json::from_str(&of("json").out).unwrap();
    assert_eq!((&json["same"], &json["turns"][0]["turn"]), (&Value::Bool(false), &Value::from("turn.yaml")));
    let sections = json["turns"][0]["diff"]["sections"].as_array().unwrap();
    let ids: Vec<_> = sections.iter().map(|section| section["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["skills", "workspace_context/AGENTS.md", "workspace_context/SOUL.md"]);
    let github = of("github");
    assert_eq!(github.out.matches("::notice file=two/AGENTS.md,title=prompt::changed").count(), 1, "{}", github.out);
    insta::assert_snapshot!("every_format_markdown", shown(&of("markdown"), home.path()));
    for output in [&github.out, &of("markdown").out] {
        assert!(!output.contains('\u{202e}'), "{output}");
    }
}

#[test]
fn one_turn_that_is_the_same_is_one() {
    let home = folder(BEFORE);
    let ran = run(home.path(), &["diff", "one", "one", "--format", "markdown"]);
    assert!(ran.code == 0 && ran.out.ends_with("\nNothing differs in 1 turn.\n"), "{ran:?}");
}

#[test]
fn nothing_in_a_workspace_is_markup_in_a_comment() {
    let text = "```\n</details>\n@everyone <b>x</b> | y\n";
    let home = folder(&[("one/AGENTS.md", "a\n"), ("two/AGENTS.md", text), ("t@x|<b>.yaml", "heartbeat: false\n")]);
    let ran = run(home.path(), &["diff", "one", "two", "--format", "markdown", "--turn", "t@x|<b>.yaml"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let fence = ran.out.find("\n````diff\n").unwrap();
    let end = fence + ran.out[fence..].find("\n````\n").unwrap();
    let outside = format!("{}{}", &ran.out[..fence], &ran.out[end..]);
    assert!(!outside.contains("@x") && !outside.contains("<b>") && !outside.contains("everyone"), "{outside}");
    assert_eq!(outside.matches("</details>").count(), 1);
}

#[test]
fn a_comment_is_never_longer_than_github_takes() {
    let line = |word: &str, i: u32| [word.to_owned(), i.to_string(), " is a line of the house rules\n".to_owned()];
    let lines = |word: &str| (0..12_000).flat_map(|i| line(word, i)).collect::<String>();
    let limit = "context: {max_chars_per_file: 900000, max_chars_total: 900000}\n";
    let home = folder(&[
        ("one/AGENTS.md", &lines("a")),
        ("one/workspace.yaml", limit),
        ("two/AGENTS.md", &lines("b")),
        ("two/workspace.yaml", limit),
    ]);
    let ran = run(home.path(), &["diff", "one", "two", "--format", "markdown"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.len() < 65_536 && ran.out.contains("Too long to be shown here: 1 turn;"), "{}", ran.out.len());
    let human = run(home.path(), &["diff", "one", "two"]);
    assert!(human.out.contains("too much differs to be compared in full"), "it says so");
    assert!(human.out.contains("more lines differ"), "{}", human.out.len());
}

#[test]
fn the_turns_of_the_second_version_are_used_where_none_is_given() {
    let home = folder(BEFORE);
    for name in ["b.yaml", "a.yaml", "notes.txt"] {
        write(&home.path().join("two/.promptd/turns").join(name), TURN);
    }
    let ran = run(home.path(), &["diff", "one", "two", "--format", "json"]);
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    let turns: Vec<_> = json["turns"].as_array().unwrap().iter().map(|turn| turn["turn"].as_str().unwrap()).collect();
    assert_eq!(turns, ["two/.promptd/turns/a.yaml", "two/.promptd/turns/b.yaml"]);
}

#[test]
fn a_prompt_that_cannot_be_assembled_is_no_difference() {
    let home = folder(BEFORE);
    write(&home.path().join("bad/workspace.yaml"), "agent: {naem: x}\n");
    write(&home.path().join("wrong.yaml"), "user: {nmae: x}\n");
    write(&home.path().join("inputs.yaml"), "inputs: {nothing: x}\n");
    for (arguments, message) in [
        (&["one", "missing"][..], "folder not found: missing"),
        (&["bad", "one"], "bad/workspace.yaml:1:9"),
        (&["one", "bad"], "bad has no prompt"),
        (&["one", "two", "--turn", "wrong.yaml"], "did you mean `name`?"),
        (&["one", "two", "--turn", "inputs.yaml"], "in inputs.yaml"),
        (&["one", "two", "--turn", "no.yaml"], "cannot read the turn no.yaml"),
        (&["one", "two", "--profile", "five"], "unknown profile `five`"),
        (&["one@main", "two"], "one is not in a git repository"),
    ] {
        let ran = run(home.path(), &[&["diff"], arguments].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.err.contains(message), "{arguments:?}: {}", ran.err);
    }
}

/// A repository whose folder `agents/harbor` had two versions before that of the work tree.
fn repository() -> tempfile::TempDir {
    let home = folder(&[("agents/harbor/AGENTS.md", "Answer in one sentence.\n"), ("other.txt", "x\n")]);
    git(home.path(), &["init", "--quiet", "--initial-branch", "main"]);
    commit(home.path(), "first");
    write(&home.path().join("agents/harbor/AGENTS.md"), "Answer in two sentences.\n");
    write(&home.path().join("agents/harbor/skills/tides/SKILL.md"), SKILL);
    commit(home.path(), "second");
    write(&home.path().join("agents/harbor/AGENTS.md"), "Answer in three sentences.\n");
    home
}

fn commit(home: &Path, message: &str) {
    git(home, &["add", "."]);
    git(home, &["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "-m", message]);
}

fn git(home: &Path, arguments: &[&str]) {
    assert!(Command::new("git").args(arguments).current_dir(home).status().unwrap().success(), "{arguments:?}");
}

#[test]
fn a_folder_at_a_git_revision_is_compared_and_left_as_it_is() {
    let home = repository();
    let status =
        || Command::new("git").args(["status", "--porcelain"]).current_dir(home.path()).output().unwrap().stdout;
    let before = status();
    for (from, to, removed, added) in [
        ("agents/harbor@HEAD", "agents/harbor", "two", "three"),
        ("agents/harbor@main~1", "agents/harbor@main", "[-one-]", "{+two+}"),
        ("agents/harbor@HEAD@{0}", "agents/harbor", "two", "three"),
    ] {
        let ran = run(home.path(), &["diff", from, to]);
        assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{from} {to}");
        assert!(ran.out.contains(removed) && ran.out.contains(added), "{from}: {}", ran.out);
    }
    let ran = run(&home.path().join("agents/harbor"), &["diff", ".@HEAD", ".@HEAD"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let ran = run(home.path(), &["diff", "agents/harbor@HEAD", "agents/harbor", "--format", "github"]);
    assert!(ran.out.contains("::notice file=agents/harbor/AGENTS.md"), "{}", ran.out);
    assert_eq!(status(), before, "neither the index nor the work tree has changed");
}

#[test]
fn a_git_revision_that_cannot_be_read_is_named_with_what_to_do() {
    let home = repository();
    fs::create_dir(home.path().join("new")).unwrap();
    for (from, message) in [
        ("agents/harbor@v9", "the git repository of agents/harbor has no revision `v9`\n  `git log"),
        ("agents/harbor@--help", "has no revision `--help`"),
        ("agents/harbor@HEAD:other.txt", "has no revision `HEAD:other.txt`"),
        ("new@HEAD", "the folder new does not exist at the git revision `HEAD`"),
        ("missing@HEAD", "folder not found: missing"),
    ] {
        let ran = run(home.path(), &["diff", from, "agents/harbor"]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{from}");
        assert!(ran.err.contains(message), "{from}: {}", ran.err);
    }
    let mut command = super::support::command(home.path(), &["diff", "agents/harbor@HEAD", "agents/harbor"]);
    let ran = super::support::ran(command.env("PATH", "/nothing"));
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("cannot run the program `git`"), "{}", ran.err);
}
