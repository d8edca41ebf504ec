//! What changed from one revision of a workspace to the next.

use std::sync::Arc;

use promptd_contract::{
    encode::{self, SkillAccess},
    proto,
};
use promptd_core::{
    canary::Side,
    workspace::{LAYERS_FOLDER, Snapshot},
};
use promptd_source::store::{Loaded, changed_paths};

/// The revisions, each with what differs from the next one; the newest is first. A canary's candidate is behind what it was
/// made from, `newest`, and has what differs from that.
pub(super) fn list_revisions(
    newest: &Loaded,
    revisions: &[Arc<Loaded>],
    access: SkillAccess<'_>,
) -> proto::ListRevisionsResponse {
    let is_candidate = |loaded: &Arc<Loaded>| side_of(newest, loaded) == Some(Side::Candidate);
    let older = revisions.iter().enumerate().map(|(at, loaded)| {
        if is_candidate(loaded) {
            revisions.first()
        } else {
            revisions[at + 1..].iter().find(|older| !is_candidate(older))
        }
    });
    let revision = |(new, old): (&Arc<Loaded>, Option<&Arc<Loaded>>)| {
        let changed = old.map(|old| visible_changes(&old.snapshot, &new.snapshot, access)).unwrap_or_default();
        encode::revision(&new.snapshot, new.at, changed, side_of(newest, new), access)
    };
    proto::ListRevisionsResponse { revisions: revisions.iter().zip(older).map(revision).collect() }
}

/// The candidate of a workspace's canary, if this is its revision, else the newest.
pub(super) fn candidate_or_newest(newest: Arc<Loaded>, revision: &str) -> (Arc<Loaded>, Side) {
    let candidate = newest.candidate.as_ref().map(|candidate| &candidate.loaded);
    match candidate.filter(|candidate| candidate.snapshot.revision.as_str() == revision) {
        Some(candidate) => (Arc::clone(candidate), Side::Candidate),
        None => (newest, Side::Stable),
    }
}

/// Which side of the canary of a workspace a revision of it is; `None`: none runs, or it is neither.
pub(super) fn side_of(newest: &Loaded, revision: &Loaded) -> Option<Side> {
    let candidate = &newest.candidate.as_ref()?.loaded;
    if revision.snapshot.revision == newest.snapshot.revision {
        Some(Side::Stable)
    } else {
        (revision.snapshot.revision == candidate.snapshot.revision).then_some(Side::Candidate)
    }
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
