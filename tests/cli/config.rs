//! A config with a fault ends the start with one report of all faults.

#[cfg(feature = "record")]
use super::support::Service;
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
fn broken_yaml_is_reported_with_its_line() {
    let home = folder(&[(
        "config/promptd.yaml",
        "listen: 0.0.0.0:0\nworkspaces:\n  single: [a\nauth:\n  tokens_file: [x\nrisks: ignore\n",
    )]);
    let ran = run(home.path(), &["serve"]);
    assert_eq!(ran.code, 1);
    // That callers are not known is not a fault here: `auth` could not be read.
    for output in ["promptd.yaml:3:11", "promptd.yaml:5:16", "error[INVALID_VALUE]", "promptd.yaml:6:8", "3 errors"] {
        assert!(ran.err.contains(output), "{output}: {}", ran.err);
    }
}

#[test]
fn without_a_config_and_without_flags_it_names_the_flags() {
    let home = folder(&[]);
    let ran = run(home.path(), &["serve"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("there is no config/promptd.yaml") && ran.err.contains("--workspaces"), "{}", ran.err);
}

#[test]
fn a_missing_config_is_an_error_of_every_command() {
    let home = folder(&[("ws/AGENTS.md", "A.")]);
    for arguments in [&["serve"][..], &["check", "ws"], &["render", "ws"]] {
        let output = ran(command(home.path(), arguments).env("PROMPTD_CONFIG", "nowhere.yaml"));
        assert_eq!(output.code, 2, "{arguments:?}");
        assert!(output.err.contains("config not found: nowhere.yaml"), "{}", output.err);
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
fn an_invalid_log_level_is_a_usage_error() {
    let home = folder(&[("ws/AGENTS.md", "A.")]);
    let output = ran(command(home.path(), &["serve", "--workspace", "ws"]).env("PROMPTD_LOG", "loud=="));
    assert_eq!(output.code, 2);
    assert!(output.err.contains("`info`"), "{}", output.err);
}

#[test]
fn a_section_that_is_not_a_mapping_names_its_settings() {
    let home = folder(&[("promptd.yaml", "workspaces: ../ws\n")]);
    let output = run(home.path(), &["serve", "--config", "promptd.yaml"]);
    assert_eq!(output.code, 1);
    assert!(output.err.contains("`workspaces` must be a mapping of `root`, `single`, "), "{}", output.err);
    assert!(output.err.contains(", not text: write `root: ../ws`"), "{}", output.err);
    assert!(output.err.contains("promptd.yaml:1:13") && output.err.contains("`single: [../ws]`"), "{}", output.err);
}

#[test]
fn a_config_that_is_not_utf_8_is_reported_with_its_line() {
    let home = folder(&[]);
    std::fs::write(home.path().join("promptd.yaml"), b"listen: 127.0.0.1:0\n# \xff\n").unwrap();
    let output = run(home.path(), &["serve", "--config", "promptd.yaml"]);
    assert_eq!(
        (output.code, output.err.as_str()),
        (2, "error: cannot read the config promptd.yaml: line 2 is not UTF-8\n")
    );
}

#[cfg(feature = "record")]
#[test]
fn a_setting_without_effect_is_warned_of_by_check_and_at_the_start() {
    let text = "listen: 127.0.0.1:0\nworkspaces: {single: [ws]}\nrecord:\n  max_age: 1d\n";
    let home = folder(&[("promptd.yaml", text), ("ws/AGENTS.md", "A.")]);
    let said = "`record.max_age` has no effect: `record.dir` is not set";

    let checked = run(home.path(), &["check", "ws", "--config", "promptd.yaml"]);
    assert_eq!((checked.code, checked.err.as_str()), (0, ""));
    for part in [said, "warning[SETTING_UNUSED]", "promptd.yaml:4:3", "max_age: 1d", "1 warning"] {
        assert!(checked.out.contains(part), "{part}: {}", checked.out);
    }
    assert_eq!(run(home.path(), &["check", "ws", "--config", "promptd.yaml", "--deny-warnings"]).code, 1);

    let mut service = Service::start(home.path(), &["serve", "--config", "promptd.yaml"]);
    let log = service.wait_for_log("has no effect");
    assert!(log.contains("WARN") && log.contains(said) && log.contains("promptd.yaml:4:3"), "{log}");
    service.stop();
}
