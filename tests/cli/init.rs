use std::fs;

use super::support::{folder, run};

#[test]
fn a_new_workspace_passes_check_and_renders() {
    let home = folder(&[]);
    assert_eq!(run(home.path(), &["init", "agents/ada"]).code, 0);
    let checked = run(home.path(), &["check", "--deny-warnings", "agents/ada"]);
    assert_eq!((checked.code, checked.out.as_str()), (0, "nothing to report\n"));
    let rendered = run(home.path(), &["render", "agents/ada", "--heartbeat"]);
    assert_eq!((rendered.code, rendered.err.as_str()), (0, ""));
    for text in
        ["- Agent name: ada\n", "## AGENTS.md\n", "## SOUL.md\n", "## IDENTITY.md\n", "hand-over", "Standing checks"]
    {
        assert!(rendered.out.contains(text), "{text} is not in\n{}", rendered.out);
    }
}

#[test]
fn the_schemas_lie_beside_and_are_no_part_of_the_workspace() {
    let home = folder(&[]);
    assert_eq!(run(home.path(), &["init", "ada"]).code, 0);
    let workspace = home.path().join("ada");
    let text = fs::read_to_string(workspace.join("workspace.yaml")).unwrap();
    let named = text.lines().next().unwrap().strip_prefix("# yaml-language-server: $schema=").unwrap();
    let schema = fs::read_to_string(workspace.join(named)).unwrap();
    assert_eq!(schema, run(home.path(), &["schema", "workspace"]).out);
    let revision = || {
        let rendered = run(home.path(), &["render", "ada", "--format", "json", "--now", "2026-03-01T00:00:00Z"]).out;
        let answer: serde_json::Value = serde_json::from_str(&rendered).unwrap();
        answer["revision"].as_str().unwrap().to_owned()
    };
    let before = revision();
    fs::remove_dir_all(workspace.join(".promptd")).unwrap();
    assert_eq!(revision(), before);
}

#[test]
fn no_file_is_overwritten() {
    let home = folder(&[("ws/SOUL.md", "Mine.")]);
    let ran = run(home.path(), &["init", "ws"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert_eq!(ran.err, "error: nothing was written: ws already has SOUL.md\n");
    assert_eq!(fs::read_to_string(home.path().join("ws/SOUL.md")).unwrap(), "Mine.");
    assert_eq!(fs::read_dir(home.path().join("ws")).unwrap().count(), 1);
}
