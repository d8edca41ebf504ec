//! Cold starts: a config at fault ends with one report, and never serves on a silent default.

use super::support::{command, folder, ran, run};

#[test]
fn every_fault_of_the_config_is_in_one_report() {
    let home = folder(&[(
        "config/promptd.yaml",
        "listen: 0.0.0.0:0\nworkspaces:\n  root: ws\n  rot: ws\nlimits: {max_in_flight: many}\nrisks: ignore\n",
    )]);
    let ran = run(home.path(), &["serve"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    insta::assert_snapshot!(ran.err);
}

#[test]
fn broken_yaml_is_told_with_its_line() {
    let home = folder(&[("config/promptd.yaml", "workspaces:\n  single: [a\n")]);
    let ran = run(home.path(), &["serve"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("error[YAML_SYNTAX]") && ran.err.contains("config/promptd.yaml:2:"), "{}", ran.err);
}

#[test]
fn without_a_config_and_without_flags_it_says_what_to_give() {
    let home = folder(&[]);
    let ran = run(home.path(), &["serve"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("there is no config/promptd.yaml") && ran.err.contains("--workspaces"), "{}", ran.err);
}

#[test]
fn a_config_that_is_named_and_missing_is_an_error_for_every_command() {
    let home = folder(&[("ws/AGENTS.md", "A.")]);
    for arguments in [&["serve"][..], &["check", "ws"], &["render", "ws"]] {
        let told = ran(command(home.path(), arguments).env("PROMPTD_CONFIG", "nowhere.yaml"));
        assert_eq!(told.code, 2, "{arguments:?}");
        assert!(told.err.contains("cannot read the config nowhere.yaml"), "{}", told.err);
    }
}

#[test]
fn tokens_are_never_shown_in_a_report() {
    let home = folder(&[
        ("config/promptd.yaml", "workspaces: {single: [../ws]}\nauth: {tokens_file: tokens.yaml}\n"),
        ("config/tokens.yaml", "tokens:\n  - name: a\n    tokn: s3cret-s3cret-s3cret\n"),
        ("ws/AGENTS.md", "A."),
    ]);
    let ran = run(home.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(
        ran.err.contains("tokn") && ran.err.contains("tokens.yaml:3") && !ran.err.contains("s3cret"),
        "{}",
        ran.err
    );
}

#[test]
fn a_log_level_that_is_none_is_a_usage_error() {
    let home = folder(&[("ws/AGENTS.md", "A.")]);
    let told = ran(command(home.path(), &["serve", "--workspace", "ws"]).env("PROMPTD_LOG", "loud=="));
    assert_eq!(told.code, 2);
    assert!(told.err.contains("`info`"), "{}", told.err);
}
