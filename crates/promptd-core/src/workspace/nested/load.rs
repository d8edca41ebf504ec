//! Reading the nested context files that a search found.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Nested, below,
    search::{MAX_NESTED_FOLDERS, Search, search},
};
use crate::{
    finding::{Code, Finding, Place, Severity},
    workspace::{
        Load, MANIFEST, Manifest,
        collector::{Audience, Collector},
        files::{CONTEXT_FILES, HEARTBEAT_FILE},
        load::load_document,
        tree::ReadAs,
    },
};

/// How many nested context files are taken, the highest first.
pub const MAX_NESTED_FILES: usize = 1_000;
/// How many bytes their texts have together.
pub const MAX_NESTED_BYTES: usize = 16 << 20;

/// The nested context files; those of before where nothing of them has changed, so that revisions share them.
pub(in crate::workspace) fn load(input: &Load<'_>, manifest: &Manifest, collector: &mut Collector) -> Arc<Nested> {
    let names = &manifest.context.nested;
    if names.is_empty() {
        return Arc::default();
    }
    let previous = input.previous.map(|previous| &previous.nested);
    let mut search = search(input.tree, names);
    if let Some(previous) = previous {
        keep_last_good(&mut search, previous);
    }
    report(&search, collector);
    let shown: BTreeSet<&str> = CONTEXT_FILES
        .into_iter()
        .chain([HEARTBEAT_FILE])
        .chain(manifest.context.files.iter().map(|file| file.path.as_str()))
        .collect();
    let mut nested =
        Nested { names: names.clone(), folders: search.folders, is_partial: search.is_partial, ..Nested::default() };
    let mut bytes = 0;
    let files = search.files.iter().filter(|path| !shown.contains(path.as_str()));
    for (index, path) in files.enumerate() {
        if index == MAX_NESTED_FILES {
            collector.report(
                limited(path, &format!("more than {MAX_NESTED_FILES} nested context files")),
                Audience::Callers,
            );
            break;
        }
        let good = previous.and_then(|previous| previous.documents.get(path.as_str()));
        match load_document(input, path, good, collector) {
            Some(Ok(document)) => {
                bytes += document.text.len();
                if bytes > MAX_NESTED_BYTES {
                    let what = format!("more than {} MiB of nested context files", MAX_NESTED_BYTES >> 20);
                    collector.report(limited(path, &what), Audience::Callers);
                    break;
                }
                nested.documents.insert(Arc::clone(&document.path), document);
            }
            Some(Err(reason)) => drop(nested.unusable.insert(path.as_str().into(), reason)),
            None => {}
        }
    }
    match previous {
        Some(previous) if **previous == nested => Arc::clone(previous),
        _ => Arc::new(nested),
    }
}

/// What was known below a folder that cannot be listed now stays: its files are read as long as they can be.
fn keep_last_good(search: &mut Search, previous: &Nested) {
    for (folder, _) in search.unlisted.iter().filter(|(_, error)| error.keeps_last_good()) {
        let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        search.files.extend(below(&previous.documents, &folder).map(|(path, _)| path.to_string()));
        search.folders.extend(below(&previous.folders, &folder).map(|(path, reason)| (path.clone(), *reason)));
    }
}

fn report(search: &Search, collector: &mut Collector) {
    for finding in &search.near_misses {
        collector.report(finding.clone(), Audience::Callers);
    }
    // A folder that only another account may list, such as a database's, concerns the turns that work there.
    for (folder, error) in &search.unlisted {
        let finding = error.into_finding(if folder.is_empty() { "." } else { folder }, ReadAs::Folder);
        collector.report(Finding { severity: Severity::Warning, ..finding }, Audience::Operators);
    }
    if search.is_partial {
        let message = format!(
            "the workspace has more than {MAX_NESTED_FOLDERS} folders; the rest is not searched for the files of `context.nested`"
        );
        collector.report(Finding::new(Code::NestedSearchLimited, Place::file(MANIFEST), message), Audience::Callers);
    }
}

fn limited(path: &str, what: &str) -> Finding {
    let message = format!("the workspace has {what}; this one and the rest are left out");
    Finding::new(Code::NestedSearchLimited, Place::file(path), message)
}
