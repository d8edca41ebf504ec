//! What `AdminService` publishes with: the etcd that workspaces are read from, and the check that every publish passes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, OnceLock},
};

use promptd::grpc::Publisher;
use promptd_core::{
    finding::{Finding, Place, Severity},
    id::Id,
    profile::ProfileSet,
    workspace::{MemoryTree, in_layer},
};
use promptd_etcd::publish::Publication;
use promptd_source::{External, ExternalWorkspace, Options, Source, load_external_once};

use super::{
    etcd::{Fleet, reader},
    reload::CurrentConfig,
};

/// Publishes to the fleet's etcd what loads without errors here.
pub(super) fn of(fleet: &Arc<Fleet>, current: &CurrentConfig, source: &Arc<OnceLock<Source>>) -> Publisher {
    let config = fleet.config().clone();
    let (fleet, current, source) = (Arc::clone(fleet), current.clone(), Arc::clone(source));
    let check = move |publications: &[Publication]| {
        let (options, profiles) = (current.source(), source.get().map(Source::profiles).unwrap_or_default());
        let proposed = Proposed { trees: publications.iter().map(tree).collect(), others: &fleet };
        let with_errors = publications.iter().find_map(|one| {
            let errors = errors(&one.id, &proposed, &options, &profiles);
            (!errors.is_empty()).then(|| (one.id.clone(), errors))
        });
        with_errors.map_or(Ok(()), Err)
    };
    let publisher =
        Publisher::new(config.options, reader(config.credentials), Arc::new(check), config.require_approval);
    publisher.keeping_back(config.files.map(|files| files.id))
}

fn tree(Publication { id, files, .. }: &Publication) -> (Id, Arc<MemoryTree>) {
    let tree: MemoryTree = files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
    (id.clone(), Arc::new(tree))
}

/// The errors that `promptd check` reports of a workspace. Those of a layer's files are for who publishes the layer.
fn errors(id: &Id, external: &dyn External, options: &Options, profiles: &Arc<ProfileSet>) -> Vec<Finding> {
    let loaded = match load_external_once(id, external, options, profiles) {
        Ok(loaded) => loaded,
        Err(faults) => return faults,
    };
    let found: BTreeSet<Finding> = loaded.findings.iter().cloned().chain(loaded.forecast().iter().cloned()).collect();
    let is_own = |place: &Place| !matches!(place, Place::File { path, .. } if in_layer(path).is_some());
    found.into_iter().filter(|one| one.severity == Severity::Error && is_own(&one.place)).collect()
}

/// The workspaces as they will be once these are published.
struct Proposed<'f> {
    trees: BTreeMap<Id, Arc<MemoryTree>>,
    others: &'f Fleet,
}

impl External for Proposed<'_> {
    fn ids(&self) -> Vec<Id> {
        let ids: BTreeSet<Id> = self.trees.keys().cloned().chain(self.others.ids()).collect();
        ids.into_iter().collect()
    }

    fn workspace(&self, id: &Id) -> Option<ExternalWorkspace> {
        match self.trees.get(id) {
            Some(tree) => Some(ExternalWorkspace { tree: Some(Arc::clone(tree) as _), candidate: None, fault: None }),
            None => self.others.workspace(id),
        }
    }
}
