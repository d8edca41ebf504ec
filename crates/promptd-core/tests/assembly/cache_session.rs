//! The session of `benches/cache.rs`: what share of its prompts providers find in their caches.

#[path = "../../../../benches/common/cache_session.rs"]
mod session;

use std::{env, fs, path::PathBuf};

use promptd_core::render::RenderFormat;

use crate::support::built_in;

/// The least share of `cache-first`, in percent.
const LEAST: f64 = 95.0;
/// The greatest of the smallest prefixes for which it holds: a model that keeps none below 4,096 tokens finds nothing in the first turns,
/// whose prompts are shorter.
const SMALLEST: usize = 2048;
/// The least share where it does not.
const LEAST_AT_4096: f64 = 92.0;

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The example workspace, as the bench reads it.
fn files() -> Vec<(String, String)> {
    let root = repository().join("workspace-example");
    let mut folders = vec![root.clone()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match fs::read_to_string(&path) {
                Ok(text) => files.push((path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned(), text)),
                Err(_) if path.is_dir() => folders.push(path),
                Err(error) => panic!("{}: {error}", path.display()),
            }
        }
    }
    files
}

#[test]
fn providers_find_nearly_all_of_a_cache_first_session_and_the_table_is_current() {
    let files = files();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let workspace = built_in(&files);
    let shares = session::shares(&workspace);
    let table = session::table(&shares);
    for format in RenderFormat::ALL.into_iter().filter(|format| *format != RenderFormat::Text) {
        assert!(shares.iter().any(|share| share.format == format && share.minimum <= SMALLEST), "{format:?}");
    }
    for share in &shares {
        assert!(share.kept <= share.sent, "{table}");
        let least = if share.minimum <= SMALLEST { LEAST } else { LEAST_AT_4096 };
        assert!(share.profile != "cache-first" || share.percent() >= least, "{}:\n{table}", share.model);
    }
    let path = repository().join("docs/performance.md");
    let document = fs::read_to_string(&path).unwrap();
    let current = session::with_table(&document, &table).unwrap();
    if document != current {
        assert!(
            env::var_os("UPDATE_DOCS").is_some(),
            "docs/performance.md is not current: run with UPDATE_DOCS=1\n{table}"
        );
        fs::write(&path, current).unwrap();
    }
}
