use std::{fs, path::Path, process::Command};

use super::support::{Ran, folder, repository, run, write};

const FILES: &[(&str, &str)] = &[
    ("ws/AGENTS.md", "Answer in one sentence.\n"),
    ("ws/.promptd/turns/hello.yaml", "user: {name: Ada}\n"),
    ("ws/.promptd/turns/beat.yaml", "heartbeat: true\nnow: 2026-02-28T17:30:00Z\n"),
];

fn check(home: &Path, more: &[&str]) -> Ran {
    run(home, &[&["check", "--snapshots", "ws"], more].concat())
}

fn kept(home: &Path) -> String {
    fs::read_to_string(home.join("ws/.promptd/turns/hello.prompt")).unwrap()
}

#[test]
fn a_snapshot_is_written_once_and_is_what_is_checked() {
    let home = folder(FILES);
    let missing = check(home.path(), &[]);
    assert_eq!(missing.code, 1);
    assert_eq!(missing.out.matches("SNAPSHOT_MISSING").count(), 2, "{}", missing.out);
    let ran = run(home.path(), &["snapshot", "ws"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out, "wrote ws/.promptd/turns/beat.prompt\nwrote ws/.promptd/turns/hello.prompt\n");
    let text = kept(home.path());
    for line in
        ["| Answer in one sentence.", "== sections", "included workspace_context/AGENTS.md", "profile five-layer"]
    {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
    assert_eq!(check(home.path(), &[]).code, 0);
    assert!(run(home.path(), &["snapshot", "ws"]).out.starts_with("unchanged "));
}

#[test]
fn turns_are_taken_in_every_form_that_render_takes() {
    let home = folder(FILES);
    let turns = home.path().join("ws/.promptd/turns");
    write(&turns.join("short.yml"), "user: {name: Bo}\n");
    write(&turns.join("sent.json"), "{\"user\": {\"name\": \"Cy\"}}\n");
    assert_eq!(check(home.path(), &[]).out.matches("SNAPSHOT_MISSING").count(), 4);
    let ran = run(home.path(), &["snapshot", "ws"]);
    assert_eq!((ran.code, ran.out.matches("wrote ").count()), (0, 4), "{ran:?}");
    for (snapshot, name) in [("short", "Bo"), ("sent", "Cy")] {
        let text = fs::read_to_string(turns.join(snapshot).with_extension("prompt")).unwrap();
        assert!(text.contains(name), "{name} in {text}");
    }
    assert_eq!(check(home.path(), &[]).code, 0);
    write(&home.path().join("ws/AGENTS.md"), "Answer in two sentences.\n");
    let out = check(home.path(), &[]).out;
    assert!(out.contains("the prompt of .promptd/turns/sent.json is not the expected one"), "{out}");
    let diff = run(home.path(), &["diff", "ws", "ws"]);
    assert_eq!(diff.out.matches("turn ws/.promptd/turns/").count(), 4, "{}", diff.out);
}

#[test]
fn two_turns_of_one_snapshot_are_a_fault() {
    let home = folder(FILES);
    write(&home.path().join("ws/.promptd/turns/hello.json"), "{}");
    for ran in [run(home.path(), &["snapshot", "ws"]), check(home.path(), &[])] {
        assert_eq!(ran.code, 1, "{ran:?}");
        let said = [ran.out, ran.err].concat();
        assert!(said.contains("ws/.promptd/turns/hello.yaml"), "{said}");
        assert!(
            said.contains(
                "its snapshot would be .promptd/turns/hello.prompt, which is that of .promptd/turns/hello.json"
            ),
            "{said}"
        );
    }
}

#[test]
fn a_snapshot_is_the_same_in_another_folder_and_at_another_time() {
    let (home, other) = (folder(FILES), folder(FILES));
    for home in [&home, &other] {
        assert_eq!(run(home.path(), &["snapshot", "ws"]).code, 0);
    }
    assert_eq!(kept(home.path()), kept(other.path()));
    assert!(!kept(home.path()).contains(home.path().to_str().unwrap()));
}

#[test]
fn an_edit_is_a_finding_with_its_line_and_its_words() {
    let home = folder(FILES);
    run(home.path(), &["snapshot", "ws"]);
    write(&home.path().join("ws/AGENTS.md"), "Answer in two sentences.\n");
    let ran = check(home.path(), &[]);
    assert_eq!(ran.code, 1);
    for output in [
        "SNAPSHOT_DIFFERS",
        "ws/.promptd/turns/hello.prompt:3:1",
        "-| Answer in [-one-] [-sentence-].",
        "+| Answer in {+two+} {+sentences+}.",
    ] {
        assert!(ran.out.contains(output), "{output} in {}", ran.out);
    }
    let github = check(home.path(), &["--format", "github"]);
    assert!(github.out.contains("::error file=ws/.promptd/turns/hello.prompt,line=3"), "{}", github.out);
    assert!(github.err.contains("{+two+}") && !github.out.contains("{+two+}"), "{}", github.err);
    assert_eq!(run(home.path(), &["check", "ws"]).code, 0, "snapshots are compared if asked for");
}

#[test]
fn text_that_reads_the_same_is_another_prompt() {
    let home = folder(FILES);
    write(&home.path().join("ws/AGENTS.md"), "Be \u{202e}kind.\n");
    run(home.path(), &["snapshot", "ws"]);
    write(&home.path().join("ws/AGENTS.md"), "Be \\u{202e}kind.\n");
    assert_eq!(check(home.path(), &[]).code, 1);
}

#[test]
fn what_cannot_be_a_snapshot_is_reported_and_the_others_are_written() {
    let home = folder(FILES);
    let turns = home.path().join("ws/.promptd/turns");
    write(&turns.join("bad.yaml"), "user: {nmae: Ada}\n");
    write(&turns.join("refused.yaml"), "inputs: {nothing: 1}\n");
    write(&turns.join("notes.prompt"), "not written by promptd\n");
    let ran = run(home.path(), &["snapshot", "ws"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("hello.prompt") && ran.err.contains(".promptd/turns/bad.yaml:1:8"), "{}", ran.err);
    assert!(ran.err.contains(".promptd/turns/refused.yaml"), "{}", ran.err);
    fs::remove_file(turns.join("beat.yaml")).unwrap();
    let unused = check(home.path(), &[]);
    assert_eq!(unused.out.matches("SNAPSHOT_UNUSED").count(), 1, "{}", unused.out);
    assert!(run(home.path(), &["snapshot", "ws"]).out.contains("removed ws/.promptd/turns/beat.prompt"));
    assert!(turns.join("notes.prompt").exists(), "a file of another kind stays");
    write(&home.path().join("empty/AGENTS.md"), "x\n");
    let none = run(home.path(), &["snapshot", "empty"]);
    assert_eq!(none.code, 2);
    assert!(none.err.contains("empty has no turns"), "{}", none.err);
}

/// The commands of the workflow that docs/debugging.md tells people to copy.
#[test]
fn the_workflow_of_the_examples_runs() {
    let text = fs::read_to_string(repository().join("examples/ci/prompts.yml")).unwrap();
    let workflow: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
    let steps = workflow["jobs"]["prompts"]["steps"].as_sequence().unwrap();
    let scripts: Vec<_> =
        steps.iter().filter_map(|step| step["run"].as_str()).filter(|run| run.contains("promptd ")).collect();
    let home = folder(FILES);
    run(home.path(), &["snapshot", "ws"]);
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
        assert!(
            Command::new("git").args(identity).args(arguments).current_dir(home.path()).status().unwrap().success()
        );
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "base"]);
    write(&home.path().join("ws/AGENTS.md"), "Answer in two sentences.\n");
    let binary = Path::new(env!("CARGO_BIN_EXE_promptd")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let mut codes = Vec::new();
    for script in scripts.iter().filter(|script| !script.starts_with("cargo ")) {
        let mut sh = Command::new("bash");
        sh.args(["-e", "-o", "pipefail", "-c", script]).current_dir(home.path()).env("PATH", &path);
        sh.env("WORKSPACE", "ws").env("BASE", "HEAD").env("GITHUB_STEP_SUMMARY", home.path().join("summary.md"));
        codes.push(sh.output().unwrap().status.code());
    }
    assert_eq!(codes, [Some(1), Some(0)], "the snapshot differs, and that is not a failure of comparing");
    let summary = fs::read_to_string(home.path().join("summary.md")).unwrap();
    assert!(summary.contains("{+two+}") && summary.starts_with("### Prompts of"), "{summary}");
}
