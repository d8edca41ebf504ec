//! docs/profiles.md and docs/debugging.md show what commands print, and the commands of docs/moving.md run.
//! `UPDATE_DOCS=1 cargo test --all-features --test cli manual` updates the former.

use std::{env, fs, path::Path, process::Command};

use super::support::{repository, run};

const OPEN: &str = "<!-- $ promptd ";
const CLOSE: &str = " -->\n";
const END: &str = "<!-- end -->";

#[test]
fn the_manual_of_profiles_shows_what_is_printed() {
    assert!(check("docs/profiles.md", &repository()) > 10);
}

/// Its commands run beside copies of what they name, on which the edit that it shows was made.
#[test]
fn the_manual_of_debugging_shows_what_is_printed() {
    let manual = fs::read_to_string(repository().join("docs/debugging.md")).unwrap();
    let edit = manual.split_once("<!-- edit -->\n```sh\n").unwrap().1.split_once("```").unwrap().0;
    let home = tempfile::tempdir().unwrap();
    let sh = |script: &str| Command::new("sh").args(["-ec", script]).current_dir(home.path()).status().unwrap();
    let copy = format!("cp -r '{0}/workspace-example' '{0}/examples' .", repository().display());
    assert!(sh(&copy).success() && sh(edit).success(), "{edit}");
    assert_eq!(check("docs/debugging.md", home.path()), 1);
}

/// Compares what a document shows with what is printed in a folder, and counts the commands.
fn check(document: &str, folder: &Path) -> usize {
    let path = repository().join(document);
    let manual = fs::read_to_string(&path).unwrap();
    let mut fresh = String::new();
    let mut rest = manual.as_str();
    let mut count = 0;
    while let Some(found) = rest.find(OPEN) {
        let begin = found + rest[found..].find(CLOSE).unwrap() + CLOSE.len();
        let end = begin + rest[begin..].find(END).unwrap();
        let line = &rest[found + OPEN.len()..begin - CLOSE.len()];
        fresh.push_str(&rest[..begin]);
        fresh.push_str(&printed(line, folder));
        rest = &rest[end..];
        count += 1;
    }
    fresh.push_str(rest);
    if fresh != manual {
        assert!(env::var_os("UPDATE_DOCS").is_some(), "{document} is not current: run with UPDATE_DOCS=1");
        fs::write(&path, fresh).unwrap();
    }
    count
}

/// A table as it is; everything else as a terminal shows it.
fn printed(line: &str, folder: &Path) -> String {
    let arguments: Vec<_> = line.split(' ').collect();
    let ran = run(folder, &arguments);
    let may_fail = line.contains("broken") || (arguments[0] == "diff" && ran.code == 1);
    assert!(ran.code == 0 || may_fail, "{line}: {}", ran.err);
    if arguments[..2] == ["profile", "docs"] {
        return format!("\n{}\n", ran.out);
    }
    format!("\n````console\n$ promptd {line}\n{}\n````\n\n", ran.out.trim_end())
}

#[test]
fn the_commands_of_the_manual_of_moving_run_as_printed() {
    let manual = fs::read_to_string(repository().join("docs/moving.md")).unwrap();
    let mut count = 0;
    for block in manual.split("```sh\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            let arguments: Vec<_> = line.strip_prefix("promptd ").unwrap().split(' ').collect();
            let ran = run(&repository(), &arguments);
            assert!(ran.code == 0 && !ran.out.trim().is_empty(), "{line}: {}", ran.err);
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}
