//! What share of a session's prompts providers find in their caches: `cargo bench --bench cache`. `-- --record` writes the table of
//! `docs/performance.md`, which a test holds to be current.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, clippy::cast_precision_loss, reason = "a benchmark")]

#[path = "common/cache_session.rs"]
mod cache_session;

use std::{fs, path::Path, sync::Arc};

use promptd_core::{id::Id, profile::ProfileSet};
use promptd_source::Options;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let profiles = Arc::new(ProfileSet::built_in());
    let id = Id::parse("example").unwrap();
    let workspace =
        promptd_source::load_once(&id, &root.join("workspace-example"), &Options::default(), &profiles).unwrap();
    let shares = cache_session::shares(&workspace);
    let table = cache_session::table(&shares);
    println!("{} turns\n\n{table}", cache_session::TURNS);
    if std::env::args().any(|argument| argument == "--record") {
        let path = root.join("docs/performance.md");
        let document = fs::read_to_string(&path).unwrap();
        fs::write(&path, cache_session::with_table(&document, &table).unwrap()).unwrap();
    }
}
