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
fn no_file_is_overwritten() {
    let home = folder(&[("ws/SOUL.md", "Mine.")]);
    let ran = run(home.path(), &["init", "ws"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert_eq!(ran.err, "error: nothing was written: ws already has SOUL.md\n");
    assert_eq!(fs::read_to_string(home.path().join("ws/SOUL.md")).unwrap(), "Mine.");
    assert_eq!(fs::read_dir(home.path().join("ws")).unwrap().count(), 1);
}
