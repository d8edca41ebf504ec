//! README.md has the tables that the code gives. `UPDATE_DOCS=1 cargo test --test cli docs` writes them.

use std::{env, fs};

use promptd::config;
use promptd_core::finding;

use super::support::{command, repository, run};

fn holds(name: &str, table: &str) {
    let path = repository().join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {name}:begin -->\n"), format!("<!-- {name}:end -->"));
    let from = readme.find(&begin).expect(&begin) + begin.len();
    let to = from + readme[from..].find(&end).expect(&end);
    if readme[from..to].trim() == table.trim() {
        return;
    }
    assert!(env::var_os("UPDATE_DOCS").is_some(), "README.md's {name} are not the code's: run with UPDATE_DOCS=1");
    fs::write(&path, format!("{}\n{}\n\n{}", &readme[..from], table.trim(), &readme[to..])).unwrap();
}

/// One test for both: each rewrites the file.
#[test]
fn the_readme_has_every_setting_and_every_finding() {
    holds("settings", &config::markdown());
    holds("findings", &finding::markdown());
}

#[test]
fn the_tables_can_be_printed() {
    assert_eq!(run(&repository(), &["docs", "settings"]).out, config::markdown());
    assert_eq!(run(&repository(), &["docs", "findings"]).out, finding::markdown());
}

#[test]
fn a_reader_that_leaves_early_is_no_fault() {
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
        let told = String::from_utf8(ran.stderr).unwrap();
        assert!(!told.contains("panicked") && !told.contains("Broken pipe"), "{arguments:?}: {told}");
    }
}
