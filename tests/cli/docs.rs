//! docs/reference has the pages that the binary prints. `UPDATE_DOCS=1 cargo test --test cli docs` writes them.

use std::{env, fs};

use promptd::config;
use promptd_core::finding;

use super::support::{command, repository, run};

fn check_page(name: &str, table: &str) {
    let printed = run(&repository(), &["docs", name]).out;
    assert!(printed.ends_with(table), "{printed}");
    let path = repository().join(format!("docs/reference/{name}.md"));
    if fs::read_to_string(&path).unwrap_or_default() == printed {
        return;
    }
    assert!(env::var_os("UPDATE_DOCS").is_some(), "docs/reference/{name}.md is not current: run with UPDATE_DOCS=1");
    fs::write(&path, printed).unwrap();
}

#[test]
fn the_reference_of_settings_is_current() {
    check_page("settings", &config::markdown());
}

#[test]
fn the_reference_of_findings_is_current() {
    check_page("findings", &finding::markdown());
}

#[test]
fn a_reader_that_closes_early_is_not_an_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    for arguments in [
        &["docs", "settings"][..],
        &["profile", "list"],
        &["profile", "show", "kern"],
        &["profile", "docs"],
        &["check", "workspace-example"],
        &["render", "workspace-example"],
        &["render", "workspace-example", "--format", "json"],
    ] {
        let mut command = command(&repository(), arguments);
        let ran = command.stdout(writer.try_clone().unwrap()).stderr(std::process::Stdio::piped()).output().unwrap();
        assert_eq!(ran.status.code(), Some(0), "{arguments:?}");
        let output = String::from_utf8(ran.stderr).unwrap();
        assert!(!output.contains("panicked") && !output.contains("Broken pipe"), "{arguments:?}: {output}");
    }
}
