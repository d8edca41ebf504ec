//! What the tests of this module share.

use std::sync::Arc;

use super::{Load, MemoryTree, Snapshot, Tree, load};
use crate::{finding::Finding, id::Id, settings::Settings};

/// Where the tests' workspaces lie.
pub(super) const ROOT: &str = "/srv/ws";

pub(crate) fn load_tree(tree: &MemoryTree) -> Result<Snapshot, Vec<Finding>> {
    load_with(tree, &[], Settings::default(), None)
}

pub(super) fn reload(tree: &MemoryTree, previous: &Snapshot) -> Result<Snapshot, Vec<Finding>> {
    load_over(tree, Some(previous))
}

pub(super) fn load_over(tree: &dyn Tree, previous: Option<&Snapshot>) -> Result<Snapshot, Vec<Finding>> {
    load_with(tree, &[], Settings::default(), previous)
}

pub(super) fn load_with(
    tree: &dyn Tree,
    shared: &[(&str, &dyn Tree)],
    settings: Settings,
    previous: Option<&Snapshot>,
) -> Result<Snapshot, Vec<Finding>> {
    load(&Load {
        id: &Id::parse("ws").unwrap(),
        root: ROOT,
        tree,
        shared_skills: shared,
        profiles: Arc::default(),
        settings: Arc::new(settings),
        previous,
    })
}

pub(super) fn codes(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.code.as_str()).collect()
}
