//! Workspaces for the store's tests.

use std::sync::Arc;

use jiff::Timestamp;
use promptd_core::{
    id::Id,
    settings::Settings,
    workspace::{Load, MemoryTree, load},
};

use super::{Loaded, Pinned, Store};

pub(crate) fn loaded(files: &[(&str, &str)]) -> Arc<Loaded> {
    loaded_with(files, Settings::default())
}

pub(crate) fn loaded_with(files: &[(&str, &str)], settings: Settings) -> Arc<Loaded> {
    let tree = files.iter().fold(MemoryTree::new(), |tree, (path, text)| tree.file(path, text.as_bytes()));
    let snapshot = load(&Load {
        id: &id(),
        root: "/srv/ws",
        tree: &tree,
        shared_skills: &[],
        profiles: Arc::default(),
        settings: Arc::new(settings),
        previous: None,
    });
    Arc::new(Loaded { snapshot: snapshot.unwrap().into(), at: Timestamp::UNIX_EPOCH, origin: None, candidate: None })
}

pub(crate) fn id() -> Id {
    Id::parse("ws").unwrap()
}

pub(crate) fn agents(version: usize) -> Arc<Loaded> {
    loaded(&[("AGENTS.md", &format!("Version {version}."))])
}

pub(crate) fn is_held(store: &Store, loaded: &Loaded) -> bool {
    matches!(store.at("ws", loaded.snapshot.revision.as_str()), Some(Pinned::Held(_)))
}
