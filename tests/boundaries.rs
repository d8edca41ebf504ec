//! The walls between modules that no lint knows: which crates are named where.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A crate, and the only places in `src/` that may name it.
const WALLS: &[(&str, &[&str])] = &[
    ("tonic", &["grpc"]),
    ("tonic_prost", &["grpc"]),
    ("tonic_reflection", &["grpc"]),
    ("tonic_types", &["grpc"]),
    ("tonic_web", &["grpc"]),
    ("notify", &["source"]),
    ("cap_std", &["source"]),
    ("axum", &["admin"]),
    ("clap", &["cli", "main.rs"]),
    ("tiktoken_rs", &["tokens"]),
];

#[test]
fn crates_stay_behind_their_walls() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = rust_files(&src).unwrap();
    assert!(files.len() > 50, "found only {} files", files.len());
    let mut breaches = Vec::new();
    for file in files {
        let place = file.strip_prefix(&src).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            let code = line.split("//").next().unwrap_or_default();
            for (name, allowed) in WALLS {
                if names(code, name) && !allowed.iter().any(|dir| place.starts_with(dir)) {
                    breaches.push(format!("src/{}:{number}: names {name}: {line}", place.display()));
                }
            }
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

/// Whether `code` has a path that begins with the crate `name`.
fn names(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let starts = before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | ':' | '.' | '"' | '`'));
        starts && code[at + name.len()..].starts_with("::")
    })
}

fn rust_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}
