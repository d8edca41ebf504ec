//! Workspaces that extend others, offline: their layers are beside them, or where the config says.

use super::support::{Service, folder, run, write};

const SITE: &[(&str, &str)] = &[
    (
        "all/org/workspace.yaml",
        "extendable_by: ['*']\nlocked: [persona]\ncontext: {files: [{path: docs/POLICY.md, purpose: what holds for all}]}\n",
    ),
    ("all/org/AGENTS.md", "Never promise a refund.\n"),
    ("all/org/docs/POLICY.md", "Keep the records.\n"),
    ("all/org/skills/bad/SKILL.md", "---\nname: bad\n---\n"),
    ("all/agent/workspace.yaml", "extends: [org]\nagent: {persona: Loud.}\ncontext: {append: [AGENTS.md]}\n"),
    ("all/agent/AGENTS.md", "The harbour opens at six.\n"),
];

#[test]
fn findings_name_the_files_of_layers() {
    let home = folder(SITE);
    let ran = run(home.path(), &["check", "all/agent"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    for part in ["all/org/skills/bad/SKILL.md:1", "SKILL_INVALID", "all/agent/workspace.yaml:2:18", "LAYER_OVERRULES"] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
}

#[test]
fn prompts_say_which_layer_each_text_is_of() {
    let home = folder(SITE);
    let ran = run(home.path(), &["render", "all/agent"]);
    assert!(ran.out.contains("Never promise a refund.\n\nThe harbour opens at six."), "{ran:?}");
    for (text, place) in [
        ("Never promise", "all/org/AGENTS.md:1:1"),
        ("opens at six", "all/agent/AGENTS.md:1:13"),
        ("what holds for all", "all/org/workspace.yaml `context.files[0].purpose`"),
    ] {
        let ran = run(home.path(), &["render", "all/agent", "--explain", "--find", text]);
        assert!((ran.out + &ran.err).contains(place), "{text}: {place}");
    }
}

#[test]
fn a_layer_is_beside_the_workspace_or_where_the_config_says_or_nowhere() {
    let mut files = SITE.to_vec();
    files.push(("elsewhere/agent/workspace.yaml", "# an agent\nextends: [org]\n"));
    files.push(("server.yaml", "workspaces: {single: [all/org]}\n"));
    let home = folder(&files);
    let ran = run(home.path(), &["check", "elsewhere/agent"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.out.contains("LAYER_UNAVAILABLE") && ran.out.contains("elsewhere/agent/workspace.yaml:2:11"),
        "{}",
        ran.out
    );
    assert_eq!(run(home.path(), &["render", "elsewhere/agent"]).code, 1);
    for with in ["all/org", "--config=server.yaml"] {
        let ran = run(home.path(), &["check", "elsewhere/agent", with]);
        assert!(ran.out.contains("SKILL_INVALID") && !ran.out.contains("LAYER_UNAVAILABLE"), "{with}: {}", ran.out);
    }
}

#[test]
fn a_difference_is_between_prompts_of_all_layers() {
    let mut files = SITE.to_vec();
    files.push(("all/edited/workspace.yaml", "extends: [org]\n"));
    files.push(("all/edited/AGENTS.md", "The harbour opens at six.\n"));
    let home = folder(&files);
    let ran = run(home.path(), &["diff", "all/agent", "all/edited"]);
    assert!(ran.out.contains("Never promise a refund."), "{ran:?}");
    assert!(!ran.out.contains("LAYER_UNAVAILABLE"), "{ran:?}");
}

#[test]
fn what_an_edit_of_a_layer_has_cut_of_its_heirs_is_logged_once_for_each() {
    let home = folder(&[
        ("all/org/workspace.yaml", "extendable_by: ['*']\n"),
        ("all/org/AGENTS.md", "Be kind.\n"),
        ("all/agent/workspace.yaml", "extends: [org]\ncontext: {max_chars_total: 300}\n"),
        ("all/agent/SOUL.md", &"The harbour opens at six. ".repeat(10)),
    ]);
    let arguments = ["serve", "--workspaces", "all", "--listen", "127.0.0.1:0"];
    let mut service = Service::start(home.path(), &arguments);
    let log = service.wait_for_log("serving");
    assert!(!log.contains("CONTEXT_FILE_TRUNCATED"), "{log}");
    write(&home.path().join("all/org/AGENTS.md"), &"Be kind. ".repeat(20));
    let log = service.wait_for_log("have the new version of their layers");
    let cut = log.lines().filter(|line| line.contains("CONTEXT_FILE_TRUNCATED"));
    let cut: Vec<_> = cut.filter(|line| line.contains("WARN") && line.contains("workspace=agent")).collect();
    assert!(matches!(cut[..], [a, b] if a.contains("AGENTS.md cut") && b.contains("SOUL.md cut")), "{log}");
    service.stop();
}
