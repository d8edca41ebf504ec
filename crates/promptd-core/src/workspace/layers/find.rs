//! Which layers a workspace has, and in which order.

use std::sync::Arc;

use super::Layer;
use crate::{
    finding::{Code, Finding},
    id::Id,
    workspace::Snapshot,
};

/// How many layers a workspace may have, those of its layers included.
pub const MAX_LAYERS: usize = 32;
/// How many layers may extend one another in a row.
pub const MAX_LAYER_DEPTH: usize = 8;

/// Gives the workspace of an id as a layer; `None`: there is none, or it was never valid.
pub(super) type Find<'a> = &'a dyn Fn(&Id) -> Option<Arc<Layer>>;

/// The layers of a workspace, each once, from far to near: a layer is farther than all that extend it.
///
/// # Errors
///
/// A finding for each entry of `extends` that does not lead to layers. None says more of another workspace than that it cannot
/// be extended: whether it exists is not for whoever edits this one.
pub(super) fn layers(own: &Snapshot, find: Find<'_>) -> Result<Vec<Arc<Layer>>, Vec<Finding>> {
    let mut search = Search { find, way: vec![own.id.clone()], found: Vec::new() };
    let mut faults = Vec::new();
    for (index, id) in own.manifest.extends.iter().enumerate() {
        if let Err(fault) = search.visit(own, id) {
            let place = own.marks.own_place(&format!("extends[{index}]"));
            faults.push(Finding::new(fault.code(), place, fault.message(search.way.len() > 1)));
            search.way.truncate(1);
        }
    }
    if faults.is_empty() { Ok(search.found) } else { Err(faults) }
}

/// The layers of before, each as it is now if it may still be extended by all that extended it.
pub(super) fn newest(before: &Snapshot, find: Find<'_>) -> Vec<Arc<Layer>> {
    // Of a workspace with layers, `extends` is what it has them by, whatever its file says since.
    let levels = || before.layers.iter().map(|layer| &**layer.own()).chain([before]);
    let newest = |layer: &Arc<Layer>| {
        let id = layer.id();
        let mut heirs = levels().filter(|heir| heir.manifest.extends.contains(id));
        find(id).filter(|now| heirs.all(|heir| admits(now, heir))).unwrap_or_else(|| Arc::clone(layer))
    };
    before.layers.iter().map(newest).collect()
}

fn admits(layer: &Layer, heir: &Snapshot) -> bool {
    layer.own.manifest.extendable_by.matches(heir.id.as_str())
}

struct Search<'a> {
    find: Find<'a>,
    /// From the workspace to the layer that is looked at.
    way: Vec<Id>,
    found: Vec<Arc<Layer>>,
}

enum Fault {
    Unavailable,
    Cycle,
    TooDeep,
    TooMany,
}

impl Search<'_> {
    /// On an error the way stays where it was met.
    fn visit(&mut self, heir: &Snapshot, id: &Id) -> Result<(), Fault> {
        if self.way.contains(id) {
            return Err(Fault::Cycle);
        }
        let layer = (self.find)(id).filter(|layer| admits(layer, heir)).ok_or(Fault::Unavailable)?;
        if self.found.iter().any(|known| known.id() == id) {
            return Ok(());
        }
        if self.way.len() > MAX_LAYER_DEPTH {
            return Err(Fault::TooDeep);
        }
        self.way.push(id.clone());
        for below in &layer.own.manifest.extends {
            self.visit(&layer.own, below)?;
        }
        self.way.pop();
        if self.found.len() == MAX_LAYERS {
            return Err(Fault::TooMany);
        }
        self.found.push(layer);
        Ok(())
    }
}

impl Fault {
    fn code(&self) -> Code {
        match self {
            Self::Unavailable => Code::LayerUnavailable,
            Self::Cycle => Code::LayerCycle,
            Self::TooDeep | Self::TooMany => Code::LayersLimited,
        }
    }

    /// `behind`: it was met behind the workspace that the entry names.
    fn message(&self, behind: bool) -> String {
        match (self, behind) {
            (Self::Unavailable, false) => {
                "this one cannot extend the workspace named here: it is not there, its `extendable_by` does not name this one, \
                 or it was never valid"
                    .to_owned()
            }
            (Self::Unavailable, true) => {
                "the workspace named here extends one that it cannot extend, or no longer".to_owned()
            }
            (Self::Cycle, _) => "the workspace named here leads back to this one, or to itself".to_owned(),
            (Self::TooDeep, _) => format!("more than {MAX_LAYER_DEPTH} workspaces extend one another in a row"),
            (Self::TooMany, _) => format!("more than {MAX_LAYERS} layers, those of layers included"),
        }
    }
}
