//! What changed from one revision of a workspace to the next.

use std::sync::Arc;

use promptd_contract::{
    encode::{self, SkillAccess},
    proto,
};
use promptd_core::workspace::{LAYERS_FOLDER, Snapshot};
use promptd_source::store::{Loaded, changed_paths};

/// The revisions, each with what differs from the next one; the newest is first.
pub(super) fn list_revisions(revisions: &[Arc<Loaded>], access: SkillAccess<'_>) -> proto::ListRevisionsResponse {
    let older = revisions.iter().skip(1).map(Some).chain([None]);
    let revision = |(new, old): (&Arc<Loaded>, Option<&Arc<Loaded>>)| {
        let changed = old.map(|old| visible_changes(&old.snapshot, &new.snapshot, access)).unwrap_or_default();
        encode::revision(&new.snapshot, new.at, changed, access)
    };
    proto::ListRevisionsResponse { revisions: revisions.iter().zip(older).map(revision).collect() }
}

/// The paths that differ, of those that the caller may see in either; of a hidden layer only that something does.
pub(super) fn visible_changes(old: &Snapshot, new: &Snapshot, access: SkillAccess<'_>) -> Vec<String> {
    let visible = |path: &Arc<str>| access.sees_path(new, path) || access.sees_path(old, path);
    let hidden = [access.hidden_layers(new), access.hidden_layers(old)];
    let shown = |path: &Arc<str>| match hidden.iter().find_map(|hidden| hidden.number(path)) {
        Some(number) => format!("{LAYERS_FOLDER}/{number}"),
        None => path.to_string(),
    };
    let mut paths: Vec<String> = changed_paths(old, new).iter().filter(|path| visible(path)).map(shown).collect();
    paths.dedup();
    paths
}
