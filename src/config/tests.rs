use std::path::Path;

use super::*;

const SERVE: &str = "workspaces: {root: ws}\n";

fn read(text: &str) -> Result<Config, Vec<String>> {
    let told = |findings: Vec<Finding>| findings.iter().map(|f| format!("{} {}", f.place, f.message)).collect();
    Config::read(text, "promptd.yaml", Path::new("/etc/promptd"), &Overrides::default()).map_err(told)
}

#[test]
fn the_defaults_are_those_of_the_types() {
    let config = read(SERVE).unwrap();
    assert_eq!(config.settings, Settings::default());
    assert_eq!(config.workspaces.root.as_deref(), Some(Path::new("/etc/promptd/ws")));
    assert_eq!(config.profiles, Path::new("/etc/promptd/profiles"));
    assert_eq!(config.grpc, grpc::Options::default());
    assert_eq!((config.tls, config.admin, config.tokens_file), (None, None, None));
}

#[test]
fn every_setting_of_the_table_is_read_and_none_besides() {
    // A wrong type makes each setting tell its own name: one that is not read would be told as unknown.
    for setting in TABLE {
        let parts: Vec<_> = setting.key.split('.').collect();
        let text = format!("{}: {{wrong: 1}}{}", parts.join(": {"), "}".repeat(parts.len() - 1));
        let told = read(&text).unwrap_err();
        assert!(
            told.iter().any(|fault| fault.contains(&format!("`{}`", setting.key)) && fault.contains("must be")),
            "{}: {told:?}",
            setting.key
        );
    }
}

#[test]
fn every_fault_is_told_at_once_with_its_place() {
    let text = "listen: 50051\nworkspaces:\n  root: ~/ws\n  single: [\"bad id=x\", a=1, a=2]\nrisks: ignore\n\
                limits:\n  max_in_flight: 0\n  max_knowlege: 5\ndrain: {limit: 10}\ntls: {cert: x.pem}\n";
    insta::assert_snapshot!(read(text).unwrap_err().join("\n"), @r#"
    promptd.yaml:1:9 `listen` must be text; write "50051" to mean the text, not a number
    promptd.yaml:3:9 `workspaces.root` must be a path without `~`, since `home` is not set
    promptd.yaml:4:12 `workspaces.single` needs `ID=DIR` with an id, since `bad id` is none: an id must be 1 to 64 of A-Z a-z 0-9 . _ -, and begin with a letter or digit
    promptd.yaml:4:29 the workspace id `a` stands twice; write `ID=DIR` to tell them apart
    promptd.yaml:5:8 `risks` must be one of `report`, `strip`, `refuse`
    promptd.yaml:7:18 `limits.max_in_flight` must be at least 1
    promptd.yaml:8:3 unknown key `limits.max_knowlege`; did you mean `max_knowledge`?
    promptd.yaml:9:16 `drain.limit` needs a unit, such as `10s`
    promptd.yaml:10:6 `tls.cert` and `tls.key` must both be set, and with `tls.client_ca` too
    "#);
}

#[test]
fn a_public_address_needs_callers_that_are_known() {
    let public = format!("listen: 0.0.0.0:50051\n{SERVE}");
    assert!(read(&public).unwrap_err()[0].contains("promptd.yaml:1:9 0.0.0.0:50051 is reachable"));
    assert!(read(&format!("{public}insecure: true\n")).is_ok());
    assert!(read(&format!("{public}auth: {{tokens_file: t}}\n")).is_ok());
    assert!(read(&format!("{public}tls: {{cert: c, key: k, client_ca: a}}\n")).is_ok());
    assert!(read(&format!("{public}tls: {{cert: c, key: k}}\n")).is_err());
}

#[test]
fn flags_win() {
    let base = Base { folder: Path::new("/cwd"), home: None };
    let overrides = Overrides {
        listen: Some(([127, 0, 0, 1], 0).into()),
        admin: Some(([127, 0, 0, 1], 9).into()),
        root: Some("/flags".into()),
        single: vec![SingleWorkspace::parse("a=mine", &base).unwrap()],
        ..Overrides::default()
    };
    let text = "listen: 127.0.0.1:1\nworkspaces: {root: ws, single: [a=file, b]}\nadmin: {listen: '127.0.0.1:1'}\n";
    let config = Config::read(text, "c", Path::new("/etc"), &overrides).unwrap();
    assert_eq!((config.grpc.listen.port(), config.admin.unwrap().port()), (0, 9));
    assert_eq!(config.workspaces.root.as_deref(), Some(Path::new("/flags")));
    assert_eq!(config.effective["workspaces.root"], "/flags");
    let single: Vec<_> = config.workspaces.single.iter().map(|w| (w.id.as_str(), w.folder.to_str().unwrap())).collect();
    assert_eq!(single, [("b", "/etc/b"), ("a", "/cwd/mine")]);
}

#[test]
fn flags_alone_are_a_config() {
    let overrides = Overrides {
        listen: Some(([127, 0, 0, 1], 0).into()),
        admin: Some(([127, 0, 0, 1], 0).into()),
        root: Some("/flags".into()),
        ..Overrides::default()
    };
    assert!(Config::read("", "c", Path::new("/etc"), &overrides).is_ok());
}

#[test]
fn a_reload_tells_what_changed() {
    let before = read(SERVE).unwrap();
    let after = read(&format!("{SERVE}listen: 127.0.0.1:9\nlog: {{level: debug}}\n")).unwrap();
    let told: Vec<_> = before.changes(&after).into_iter().map(|s| (s.key, s.reloads)).collect();
    assert_eq!(told, [("listen", false), ("log.level", true)]);
}
