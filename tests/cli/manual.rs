//! docs/profiles.md shows what commands print. `UPDATE_DOCS=1 cargo test --test cli manual` updates it.

use std::{env, fs};

use super::support::{repository, run};

const OPEN: &str = "<!-- $ promptd ";
const CLOSE: &str = " -->\n";
const END: &str = "<!-- end -->";

#[test]
fn the_manual_of_profiles_shows_what_is_printed() {
    let path = repository().join("docs/profiles.md");
    let manual = fs::read_to_string(&path).unwrap();
    let mut fresh = String::new();
    let mut rest = manual.as_str();
    let mut count = 0;
    while let Some(found) = rest.find(OPEN) {
        let begin = found + rest[found..].find(CLOSE).unwrap() + CLOSE.len();
        let end = begin + rest[begin..].find(END).unwrap();
        let line = &rest[found + OPEN.len()..begin - CLOSE.len()];
        fresh.push_str(&rest[..begin]);
        fresh.push_str(&printed(line));
        rest = &rest[end..];
        count += 1;
    }
    fresh.push_str(rest);
    assert!(count > 10, "{count}");
    if fresh != manual {
        assert!(env::var_os("UPDATE_DOCS").is_some(), "docs/profiles.md is not current: run with UPDATE_DOCS=1");
        fs::write(&path, fresh).unwrap();
    }
}

/// A table as it is; everything else as a terminal shows it.
fn printed(line: &str) -> String {
    let arguments: Vec<_> = line.split(' ').collect();
    let ran = run(&repository(), &arguments);
    assert!(ran.code == 0 || line.contains("broken"), "{line}: {}", ran.err);
    if arguments[..2] == ["profile", "docs"] {
        return format!("\n{}\n", ran.out);
    }
    format!("\n````console\n$ promptd {line}\n{}\n````\n\n", ran.out.trim_end())
}
