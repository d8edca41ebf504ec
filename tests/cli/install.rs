//! What is installed beside the binary: completions, manual pages, the version.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt as _,
};

use super::support::{command, folder, ran, repository, run};

/// The commands that the help lists.
fn commands() -> BTreeSet<String> {
    let help = run(&repository(), &["--help"]).out;
    let list = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let name = |line: &str| line.strip_prefix("  ").and_then(|line| line.split(' ').next()).map(str::to_owned);
    list.lines().filter_map(name).filter(|name| !name.is_empty() && name != "help").collect()
}

#[test]
fn every_command_has_a_page_that_names_its_flags() {
    let home = folder(&[]);
    assert_eq!(run(home.path(), &["man", "--dir", "."]).code, 0);
    let pages: BTreeSet<_> = fs::read_dir(home.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(commands().len() > 8);
    for command in commands() {
        let page = OsString::from(format!("promptd-{command}.1"));
        assert!(pages.contains(&page), "{command}: {pages:?}");
    }
    let page = |name: &str| fs::read_to_string(home.path().join(name)).unwrap();
    assert!(page("promptd.1").contains(r"promptd\-serve(1)"));
    assert!(page("promptd-serve.1").contains(r"\-\-workspaces"));
    assert_eq!(page("promptd-profile-show.1"), run(home.path(), &["man", "profile", "show"]).out);
}

#[test]
fn help_is_given_beside_an_argument_that_is_not_utf_8() {
    let latin = OsStr::from_bytes(b"caf\xe9");
    let helped = ran(command(&repository(), &["check", "--help"]).arg(latin));
    assert!(helped.code == 0 && helped.out.contains("Usage: promptd check"), "{helped:?}");
    let refused = ran(command(&repository(), &["check", "--colour"]).arg(latin));
    assert!(refused.code == 2 && refused.err.contains("--colour"), "{refused:?}");
}

#[test]
fn a_page_that_is_not_there_names_those_that_are() {
    let ran = run(&repository(), &["man", "profile", "shw"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("`shw`") && ran.err.contains("list, show, check, docs"), "{}", ran.err);
    let ran = run(&repository(), &["man", "--dir", "no/such/folder"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("no/such/folder"), "{}", ran.err);
}

#[test]
fn each_shell_completes_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&repository(), &["completions", shell]).out;
        for command in commands() {
            assert!(script.contains(&command), "{shell}: {command}");
        }
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let printed = run(&repository(), &["--version"]).out;
    let version = env!("CARGO_PKG_VERSION");
    // Release builds from a checkout add the commit and its day.
    let commit = printed.trim_end().strip_prefix(&format!("promptd {version}")).unwrap();
    assert!(commit.is_empty() || commit.starts_with(" (") && commit.ends_with(')'), "{printed}");
}
