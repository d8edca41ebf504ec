//! Workspaces that are not folders: whole states, published somewhere else.

use std::{collections::BTreeMap, sync::Arc};

use promptd_core::{
    canary::Canary,
    finding::Finding,
    id::Id,
    workspace::{Snapshot, Tree},
};

/// Where workspaces come from besides folders. That some have changed is told to [`Source::changed`](crate::Source::changed).
pub trait External: Send + Sync {
    /// The workspaces that there are, in order.
    fn ids(&self) -> Vec<Id>;

    /// A workspace as it is now; `None`: it does not exist.
    fn workspace(&self, id: &Id) -> Option<ExternalWorkspace>;

    /// These workspaces, and with them all that have changed since the last call, as they are at one moment; `None`: it does not
    /// exist. What was published together is so served together. Where nothing ever changes, this is each by itself.
    fn read(&self, ids: &[Id]) -> BTreeMap<Id, Option<ExternalWorkspace>> {
        ids.iter().map(|id| (id.clone(), self.workspace(id))).collect()
    }
}

/// A workspace that is not a folder.
#[derive(Clone)]
pub struct ExternalWorkspace {
    /// Its newest state that can be used, which never changes; `None`: it has had none.
    pub tree: Option<Arc<dyn Tree + Send + Sync>>,
    /// What some turns get instead of it, and which.
    pub candidate: Option<(Canary, Arc<dyn Tree + Send + Sync>)>,
    /// Why a newer one, or a candidate, cannot be used.
    pub fault: Option<Finding>,
}

/// What a snapshot has as the path of a workspace that is not a folder: none.
pub(crate) const NO_ROOT: &str = "";

/// Whether a snapshot is of a folder.
#[must_use]
pub fn is_folder(snapshot: &Snapshot) -> bool {
    *snapshot.root != *NO_ROOT
}
